// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tests ndpc.h from C: threads with results and parents, forks, joins, critical sections, a barrier. Prints
// "threads ok".
#include <stdio.h>
#include <stdlib.h>

#include "ndpc.h"

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define CHILDREN 20
#define ROUNDS 1000

static ndpc_thread_t first;
static int global_count, local_count;

static void *add_one(void *input) {
    CHECK(ndpc_thread_parent() == first);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(ndpc_enter_global() == HRT_OK);
        CHECK(ndpc_enter_global() == HRT_OK);
        global_count++;
        CHECK(ndpc_leave_global() == HRT_OK);
        CHECK(ndpc_leave_global() == HRT_OK);
        CHECK(ndpc_enter_local() == HRT_OK);
        __atomic_fetch_add(&local_count, 1, __ATOMIC_RELAXED);
        CHECK(ndpc_leave_local() == HRT_OK);
    }
    CHECK(ndpc_leave_local() == HRT_EPERM);
    return (char *)input + 1;
}

static void *set_result(void *input) {
    CHECK(ndpc_thread_set_result(input) == HRT_OK);
    ndpc_thread_yield();
    return NULL;
}

static void *come(void *input) {
    CHECK(ndpc_barrier() == HRT_OK);
    __atomic_fetch_add((int *)input, 1, __ATOMIC_RELAXED);
    return NULL;
}

// The child ends where this returns, with that result.
__attribute__((noinline)) static intptr_t fork_one(intptr_t number, ndpc_thread_t *child) {
    ndpc_thread_t thread = ndpc_fork();
    CHECK(thread != 0);
    if (thread == ndpc_thread_self()) {
        CHECK(ndpc_thread_parent() == first);
        return number * number;
    }
    *child = thread;
    return -1;
}

int main(void) {
    first = ndpc_thread_self();
    ndpc_thread_t threads[CHILDREN];
    char place[1];
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(ndpc_thread_create(&threads[i], add_one, place, HRT_CPU_ANY, 0) == HRT_OK);
    }
    for (int i = 0; i < CHILDREN; i++) {
        void *result = NULL;
        CHECK(ndpc_thread_join(threads[i], &result) == HRT_OK);
        CHECK(result == place + 1);
    }
    CHECK(global_count == CHILDREN * ROUNDS && local_count == CHILDREN * ROUNDS);

    void *result = NULL;
    CHECK(ndpc_thread_create(&threads[0], set_result, place, 0, 64 << 10) == HRT_OK);
    CHECK(ndpc_thread_join(threads[0], &result) == HRT_OK && result == place);
    CHECK(ndpc_thread_join(threads[0], NULL) != HRT_OK);

    for (int i = 0; i < CHILDREN; i++) {
        CHECK(fork_one(i, &threads[i]) == -1);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(ndpc_thread_join(threads[i], &result) == HRT_OK);
        CHECK((intptr_t)result == (intptr_t)i * i);
    }

    int come_count = 0;
    uint32_t cpus = hrt_cpu_count();
    for (uint32_t i = 1; i < cpus; i++) {
        CHECK(ndpc_thread_create(&threads[0], come, &come_count, HRT_CPU_ANY, 0) == HRT_OK);
    }
    CHECK(ndpc_barrier() == HRT_OK);
    CHECK(ndpc_thread_join_children() == HRT_OK);
    CHECK(come_count == (int)cpus - 1);
    puts("threads ok");
    return 0;
}
