// SPDX-License-Identifier: Apache-2.0 OR MIT
// Ways to use up what the kernel keeps for a program. Each makes as much as it gets, checks that the refusal
// is one that Linux documents, gives all of it back, and returns how much it got.
#ifndef EXHAUST_H
#define EXHAUST_H

#include <stddef.h>

// Ends the program unless errno is one of these numbers (0 ends the list).
void expect_refusal(const char *what, const int *allowed);

// A kind of object, and the function that uses it up.
struct kind {
    const char *name;
    size_t (*use_up)(void);
};

// Descriptors and what is behind them (descriptors.c).
size_t use_up_dup(void);
size_t use_up_dup2(void);
size_t use_up_pipes(void);
size_t use_up_sockets(void);
size_t use_up_memfds(void);
size_t use_up_eventfds(void);
size_t use_up_poll(void);

// How many times as much as usual is used up where memory is not what runs out: 4 with --long.
extern size_t scale;

// Names and content of files in memory (names.c).
size_t use_up_files(void);
size_t use_up_directories(void);
size_t use_up_fifos(void);
size_t use_up_small_writes(void);

// Threads and those that wait (waiters.c).
size_t use_up_threads(void);
size_t use_up_readers(void);
size_t use_up_futexes(void);

// Threads at once, whose memory can be had again afterwards (stacks.c).
size_t use_up_stacks(void);

// Mappings, timers and signals (objects.c).
size_t use_up_mappings(void);
size_t use_up_holes(void);
size_t use_up_timers(void);
size_t use_up_signals(void);

// System V objects (sysv.c).
size_t use_up_segments(void);
size_t use_up_semaphores(void);
size_t use_up_messages(void);

// Processes (processes.c).
size_t use_up_processes(void);

#endif
