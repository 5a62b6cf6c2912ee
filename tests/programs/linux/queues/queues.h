// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Queues under names of their own, threads that wait at them, and signals that are caught.
#ifndef HADAL_TEST_QUEUES_H
#define HADAL_TEST_QUEUES_H

#include <mqueue.h>
#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include "../../common/check.h"

#define SOME_NS 20000000L

// Names that no other program has.
extern char name[64];
extern char other[64];

// A queue of a size, under `name`.
mqd_t make(int flags, long messages, long bytes);
// Closes it and removes the name.
void done(mqd_t queue);
void put(mqd_t queue, const char *text, unsigned priority);
void expect(mqd_t queue, const char *text, unsigned priority);
struct timespec after(long ns);
void pause_a_moment(void);
// Waits until a thread sleeps.
void until_asleep(pid_t thread);

// A thread that sends or receives one message.
struct task {
    pthread_t thread;
    mqd_t queue;
    char text[16];
    unsigned priority;
    long result;
    int error;
    volatile pid_t id;
};

void *receiver(void *argument);
void *sender(void *argument);
// Starts it and waits until it sleeps.
void start(struct task *task, mqd_t queue, void *(*body)(void *));

// What a signal has brought.
extern volatile int caught;
extern volatile int caught_code;
extern void *volatile caught_value;
extern volatile pid_t caught_pid;
void catch_signal(int number, int flags);

// The parts.
void names(void);
void attributes(void);
void messages(void);
void times(void);
void waiting(void);
void interrupted(void);
void notification(void);
void notification_of_processes(void);
void notification_by_thread(void);
void sockets(void);
void polling(void);
void files(void);
void limits(void);
void traffic(void);

#endif
