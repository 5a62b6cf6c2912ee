// SPDX-License-Identifier: Apache-2.0 OR MIT
// How the entry points that compilers and programs call are declared.
#ifndef HADAL_OMP_ABI_H
#define HADAL_OMP_ABI_H

// Stays a call also where program and run-time are optimised as one (`hadal cc -flto`): a tool learns where
// the program called from the return address.
#define OMP_EXPORT extern "C" __attribute__((visibility("default"), noinline))
// May become part of the program's code there: short functions that leave what is rare to others. Aligned so
// that none crosses a page: an emulator that translates code (QEMU's TCG) cannot chain blocks that do, which
// makes each call several times as long.
#define OMP_INLINED extern "C" __attribute__((visibility("default"), aligned(256)))

// What a task goes through from the call that makes it to its end: such functions lie beside each other,
// whatever file they are in, and in one page as long as they fit (they take 3 KiB), for the same reason: the
// emulator does not chain blocks of different pages either. GNU ld sorts these sections by name; place 0
// begins the page.
#define OMP_TASK_PATH(place) __attribute__((section(".text.sorted.omp_task." #place)))

#endif
