/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What stands for interrupt context on Linux: a thread for each CPU, bound to it, that sleeps on a futex
 * until there is an event, a timer or a raw interrupt. Started when the first of these is asked for. */
#ifndef HRT_LINUX_SERVICE_H
#define HRT_LINUX_SERVICE_H

#include <pthread.h>
#include <sys/types.h>

#include "../timer_heap.h"
#include "linux.h"

struct hrt_service {
    _Alignas(128) uint32_t asleep;        /* futex: 1 while the thread sleeps, or is about to */
    uint64_t events[HRT_EVENTS_MAX / 64]; /* pending, one bit each */
    uint32_t running;                     /* slot of the event whose action runs, plus one */
    uint32_t ipis;                        /* pending, one bit each */
    uint32_t running_ipi;                 /* slot, plus one */
    uint64_t arrivals[HRT_EVENTS_MAX];    /* the lower halves are futexes for hrt_event_wait() */
    uint32_t waiters[HRT_EVENTS_MAX];     /* threads that sleep on them */
    uint32_t timers_lock;
    struct hrt_timer_heap timers;
    pthread_t thread;
    pid_t tid;
};

/* The signal that stands for raw interrupts. */
#define HRT_SERVICE_SIGNAL (SIGRTMIN + 6)

/* Starts the threads, once. HRT_EAGAIN: Linux gives no more threads. */
int hrt_service_start(void);
/* The service of a CPU that exists, after the start. */
struct hrt_service *hrt_service_of(uint32_t cpu);
/* The service that the calling thread is, in a handler that is; else NULL. */
struct hrt_service *hrt_service_of_caller(void);
/* Makes the thread look at what is pending, which was written before. */
void hrt_service_ring(struct hrt_service *service);

/* What the thread does when it is woken: event.c, timer.c. The latter returns when to look again. */
void hrt_service_run_events(struct hrt_service *service);
uint64_t hrt_service_run_timers(struct hrt_service *service);
/* In the signal handler: irq.c. */
void hrt_service_run_ipis(struct hrt_service *service);

#endif
