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

// The longer part of such a function. It stays apart where functions become part of programs, as a whole
// would be too long for that; elsewhere this would only be a jump more.
#ifdef HADAL_OMP_LINK_TIME
#define OMP_LONG_PART __attribute__((noinline))
#else
#define OMP_LONG_PART
#endif

// What a task goes through from the call that makes it to its end: such functions lie beside each other,
// whatever file they are in, and in one page as long as they fit (they take 3 KiB), for the same reason: the
// emulator does not chain blocks of different pages either. GNU ld sorts these sections by name. The function
// at place 0 begins the page: one that every program with tasks has, whichever compiler's calls it makes.
#define OMP_TASK_PATH(place) __attribute__((section(".text.sorted.omp_task." #place)))
#define OMP_TASK_PAGE __attribute__((aligned(4096))) OMP_TASK_PATH(0)

#endif
