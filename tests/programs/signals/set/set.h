// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The parts of the signal set, and what they share.

#ifndef HADAL_TEST_SIGNALS_SET_H
#define HADAL_TEST_SIGNALS_SET_H

#include "../../common/check.h"

#include <signal.h>

// How often `count` ran for each signal, and in all.
extern volatile sig_atomic_t counts[65];
extern volatile sig_atomic_t handled_in_all;

// A handler that counts.
void count(int number);

// Installs a handler.
void handle(int number, void (*handler)(int), int flags);

// A set of two signals, which may be the same.
sigset_t set_of(int first, int second);

void part_kill(void);
void part_masks(void);
void part_nested(void);
void part_altstack(void);
void part_info(void);
void part_realtime(void);
void part_wait(void);
void part_alarm(void);
void part_restart(void);
void part_restarted(void);
void part_threads(void);
void part_jump(void);
void part_ignored(void);

#endif
