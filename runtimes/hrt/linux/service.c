// SPDX-License-Identifier: Apache-2.0 OR MIT
// A thread for each CPU that runs handlers.
#define _GNU_SOURCE
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static struct hrt_service *services;
static uint32_t service_count;

struct hrt_service *hrt_service_of(uint32_t cpu) {
    return &services[cpu];
}

struct hrt_service *hrt_service_of_caller(void) {
    struct hrt_service *all = __atomic_load_n(&services, __ATOMIC_ACQUIRE);
    for (uint32_t cpu = 0; all && cpu < service_count; cpu++) {
        if (pthread_equal(all[cpu].thread, pthread_self())) {
            return &all[cpu];
        }
    }
    return NULL;
}

void hrt_service_ring(struct hrt_service *service) {
    // In one order with the thread's last look before it sleeps.
    if (__atomic_exchange_n(&service->asleep, 0, __ATOMIC_SEQ_CST)) {
        hrt_linux_wake(&service->asleep, 1, 0);
    }
}

static bool is_quiet(const struct hrt_service *service) {
    for (uint32_t word = 0; word < HRT_EVENTS_MAX / 64; word++) {
        if (__atomic_load_n(&service->events[word], __ATOMIC_SEQ_CST)) {
            return false;
        }
    }
    return true;
}

static void on_signal(int number) {
    (void)number;
    int saved = errno;
    hrt_service_run_ipis(hrt_service_of_caller());
    errno = saved;
}

static void *serve(void *arg) {
    struct hrt_service *service = arg;
    uint32_t cpu = (uint32_t)(service - services);
    char name[16];
    hrt_linux_bind_caller((int32_t)cpu);
    snprintf(name, sizeof name, "hrt cpu %u", cpu);
    pthread_setname_np(pthread_self(), name);
    __atomic_store_n(&service->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    // The program's signals go to its own threads.
    sigset_t mask;
    sigfillset(&mask);
    sigdelset(&mask, HRT_SERVICE_SIGNAL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (;;) {
        hrt_service_run_events(service);
        __atomic_store_n(&service->asleep, 1, __ATOMIC_SEQ_CST);
        // A timer that is started after this look finds the thread asleep, too.
        uint64_t deadline_ns = hrt_service_run_timers(service);
        if (is_quiet(service)) {
            hrt_linux_wait(&service->asleep, 1, deadline_ns, 0);
        }
        __atomic_store_n(&service->asleep, 0, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static int start_all(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigfillset(&action.sa_mask);
    sigaction(HRT_SERVICE_SIGNAL, &action, NULL);
    service_count = hrt_linux_cpu_count();
    struct hrt_service *all = aligned_alloc(_Alignof(struct hrt_service), service_count * sizeof *all);
    if (!all) {
        return HRT_ENOMEM;
    }
    __builtin_memset(all, 0, service_count * sizeof *all);
    __atomic_store_n(&services, all, __ATOMIC_RELEASE);
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int status = HRT_OK;
    for (uint32_t cpu = 0; cpu < service_count && status == HRT_OK; cpu++) {
        status = hrt_libc_thread_create(&all[cpu].thread, NULL, serve, &all[cpu]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (uint32_t cpu = 0; cpu < service_count && status == HRT_OK; cpu++) {
        while (!__atomic_load_n(&all[cpu].tid, __ATOMIC_ACQUIRE)) {
            sched_yield();
        }
    }
    return status;
}

int hrt_service_start(void) {
    static bool started;
    static int result;
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE)) {
        return result;
    }
    pthread_mutex_lock(&starting);
    if (!started) {
        // A second attempt would find half of the threads: the first result stands.
        result = start_all();
        __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&starting);
    return result;
}
