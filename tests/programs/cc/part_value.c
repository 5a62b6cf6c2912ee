// SPDX-License-Identifier: Apache-2.0 OR MIT
// The second of two objects; the header must be found when only compiling.
#include <hadal/hrt.h>

int part_value(int of) { return of + (int)HRT_CALLS_VERSION; }
