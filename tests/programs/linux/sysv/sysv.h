// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// System V IPC: what the parts share.
#ifndef HADAL_TEST_SYSV_H
#define HADAL_TEST_SYSV_H

#include <signal.h>
#include <sys/ipc.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "../../common/check.h"

// A key that no other program has.
extern key_t key;

// Runs a function in a child, as another user if `uid` is not 0.
pid_t in_child(void (*run)(void), uid_t uid);
// Waits for a child that is to end well.
void expect_end(pid_t child);
// Waits until a process sleeps.
void until_asleep(pid_t process);
void pause_a_moment(void);

// What a signal has brought.
extern volatile sig_atomic_t caught;
void catch_signal(int number, int flags);

// The parts.
void segments(void);
void places(void);
void parts_of_segments(void);
void removal(void);
void segments_of_processes(void);
void segments_of_others(void);
void segment_limits(void);
void sets(void);
void operations(void);
void waiting_for_semaphores(void);
void undoing(void);
void semaphores_of_others(void);
void turns(void);
void message_queues(void);
void types(void);
void waiting_for_messages(void);
void messages_of_others(void);
void traffic(void);
void listings(void);

#endif
