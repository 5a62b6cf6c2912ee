// SPDX-License-Identifier: Apache-2.0 OR MIT
// How the entry points that compilers and programs call are declared.
#ifndef HADAL_OMP_ABI_H
#define HADAL_OMP_ABI_H

#define OMP_EXPORT extern "C" __attribute__((visibility("default")))

#endif
