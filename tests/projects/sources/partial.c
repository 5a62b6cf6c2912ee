// SPDX-License-Identifier: Apache-2.0 OR MIT

#include "harmonic.h"

int main(void) { return harmonic(2) != 1.5; }
