// SPDX-License-Identifier: Apache-2.0 OR MIT
// The VCODE interpreter as a fuzz target calls it.
#ifndef HADAL_FUZZ_VCODE_HARNESS_H
#define HADAL_FUZZ_VCODE_HARNESS_H

#include <cstddef>

// Loads and runs a text, within bounds of memory and work; ends the process if two ways to run it differ.
extern "C" void hadal_fuzz_vcode(const char *text, size_t bytes);

#endif
