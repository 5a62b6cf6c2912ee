// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads: creation, ends, joins, places, names.
#include "parts.h"

#define FAR_NS 10000000000u

static void *twice(void *arg) { return number(2 * (long)arg); }

static void *exits(void *arg) { hrt_thread_exit(number((long)arg + 1)); }

// Through a pointer: compilers see that nobody returns from the last level, and warn.
static void deeper(long levels, void *arg);
static void (*volatile next_level)(long levels, void *arg) = deeper;

static void deeper(long levels, void *arg) {
    volatile char room[200];
    room[0] = (char)levels;
    if (levels == 0) {
        hrt_thread_exit(arg);
    }
    next_level(levels - 1, arg);
    CHECK_EQUAL(room[0], levels);
}

static void *exits_deep(void *arg) {
    deeper(50, arg);
    return NULL;
}

static void *uses_libc(void *arg) {
    char text[32];
    CHECK_EQUAL(errno, 0);
    errno = EDOM;
    char *block = malloc(1000 + (size_t)arg);
    CHECK(block != NULL);
    snprintf(text, sizeof text, "%g", 1.5 * (double)(long)arg);
    double back = strtod(text, NULL);
    free(block);
    return number((long)(2 * back));
}

static void *creates(void *arg) {
    hrt_thread_t child;
    if ((long)arg == 0) {
        return number(1);
    }
    CHECK_EQUAL(hrt_thread_create(&child, NULL, creates, number((long)arg - 1)), HRT_OK);
    return number(1 + joined(child));
}

static void *yields(void *arg) {
    for (int i = 0; i < 100; i++) {
        hrt_thread_yield();
        hrt_thread_yield_full();
    }
    return arg;
}

void threads(void) {
    hrt_thread_t thread, many[64];
    for (long round = 0; round < 20; round++) {
        CHECK_EQUAL(hrt_thread_create(&thread, NULL, twice, number(round)), HRT_OK);
        CHECK_EQUAL(joined(thread), 2 * round);
    }
    for (long i = 0; i < 64; i++) {
        CHECK_EQUAL(hrt_thread_create(&many[i], NULL, i % 2 ? uses_libc : yields, number(i)), HRT_OK);
    }
    for (long i = 0; i < 64; i++) {
        CHECK_EQUAL(joined(many[i]), i % 2 ? 3 * i : i);
    }
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, exits, number(5)), HRT_OK);
    CHECK_EQUAL(joined(thread), 6);
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, exits_deep, number(7)), HRT_OK);
    CHECK_EQUAL(joined(thread), 7);
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, creates, number(10)), HRT_OK);
    CHECK_EQUAL(joined(thread), 11);

    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    for (uint64_t bytes = HRT_STACK_MIN; bytes <= 1u << 20; bytes *= 4) {
        attr.stack_bytes = bytes;
        CHECK_EQUAL(hrt_thread_create(&thread, &attr, uses_libc, number(3)), HRT_OK);
        CHECK_EQUAL(joined(thread), 9);
    }
}

// Bare threads may not touch libc: this one does sums only.
static void *sums(void *arg) {
    volatile long sum = 0;
    for (long i = 1; i <= (long)arg; i++) {
        sum += i;
    }
    return number(sum);
}

static void *sums_and_exits(void *arg) { hrt_thread_exit(sums(arg)); }

// Waits until the word it gets is set.
static void *waits(void *arg) {
    uint32_t *gate = arg;
    while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE)) {
        hrt_wait(gate, 0, HRT_FOREVER, 0);
    }
    return number(4);
}

static void open_gate(uint32_t *gate) {
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    hrt_wake(gate, 1000, HRT_WAKE_KICK);
}

// Its turn comes between two attempts of the first thread's.
static void *joins_arg(void *arg) {
    int status;
    while ((status = hrt_thread_join(*(hrt_thread_t *)arg, NULL)) == HRT_EBUSY) {
        hrt_thread_yield();
    }
    return number(status);
}

static void *joins_self(void *arg) {
    (void)arg;
    return number(hrt_thread_join(hrt_thread_self(), NULL));
}

void joins(void) {
    hrt_thread_t thread, other;
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);

    CHECK_EQUAL(hrt_thread_create(&thread, NULL, twice, number(1)), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_detach(thread), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_join(0, NULL), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_join(UINT64_MAX, NULL), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_join(hrt_thread_self(), NULL), HRT_EDEADLK);
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, joins_self, NULL), HRT_OK);
    CHECK_EQUAL(joined(thread), HRT_EDEADLK);

    static uint32_t gates[4];
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, waits, &gates[0]), HRT_OK);
    CHECK_EQUAL(hrt_thread_join_until(thread, NULL, hrt_now_ns() + 1000000), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_thread_join_until(thread, NULL, 0), HRT_ETIMEDOUT);
    // A second joiner finds the first one.
    CHECK_EQUAL(hrt_thread_create(&other, NULL, joins_arg, &thread), HRT_OK);
    int status;
    while ((status = hrt_thread_join_until(thread, NULL, 0)) == HRT_ETIMEDOUT) {
        hrt_thread_sleep_until(hrt_now_ns() + 100000);
    }
    CHECK_EQUAL(status, HRT_EBUSY);
    open_gate(&gates[0]);
    CHECK_EQUAL(joined(other), HRT_OK);

    CHECK_EQUAL(hrt_thread_create(&thread, NULL, waits, &gates[1]), HRT_OK);
    CHECK_EQUAL(hrt_thread_detach(thread), HRT_OK);
    CHECK_EQUAL(hrt_thread_detach(thread), HRT_EINVAL);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_EINVAL);
    open_gate(&gates[1]);
    attr.flags = HRT_THREAD_DETACHED;
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, waits, &gates[2]), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_EINVAL);
    open_gate(&gates[2]);

    for (long i = 0; i < 10; i++) {
        CHECK_EQUAL(hrt_thread_create(&thread, NULL, yields, NULL), HRT_OK);
    }
    CHECK_EQUAL(hrt_thread_join_all(), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_join_all(), HRT_OK);

    attr.flags = HRT_THREAD_BARE;
    attr.stack_bytes = HRT_STACK_MIN;
    for (long i = 0; i < 20; i++) {
        CHECK_EQUAL(hrt_thread_create(&thread, &attr, i % 2 ? sums_and_exits : sums, number(i)), HRT_OK);
        CHECK_EQUAL(joined(thread), i * (i + 1) / 2);
    }
}

static void *where(void *arg) {
    (void)arg;
    return number((long)hrt_cpu_self());
}

static void *moves(void *arg) {
    hrt_thread_t self = hrt_thread_self();
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        CHECK_EQUAL(hrt_thread_bind(self, (int32_t)cpu), HRT_OK);
        CHECK_EQUAL(hrt_cpu_self(), cpu);
    }
    int32_t elsewhere = hrt_cpu_count() > 1 ? 0 : -7;
    CHECK_EQUAL(hrt_thread_migrate(self, elsewhere), hrt_cpu_count() > 1 ? HRT_EBUSY : HRT_EINVAL);
    CHECK_EQUAL(hrt_thread_bind(self, HRT_CPU_ANY), HRT_OK);
    CHECK_EQUAL(hrt_thread_migrate(self, 0), HRT_OK);
    CHECK_EQUAL(hrt_thread_bind(self, (int32_t)hrt_cpu_count()), HRT_EINVAL);
    CHECK_EQUAL(hrt_thread_bind(self, -2), HRT_EINVAL);
    CHECK_EQUAL(hrt_thread_migrate(self, (int32_t)hrt_cpu_count()), HRT_EINVAL);
    return arg;
}

static void *sleeps(void *arg) {
    uint64_t until = hrt_now_ns() + 2000000;
    CHECK_EQUAL(hrt_thread_sleep_until(until), HRT_OK);
    CHECK(hrt_now_ns() >= until);
    CHECK_EQUAL(hrt_thread_sleep_until(0), HRT_OK);
    return arg;
}

static void info(void) {
    hrt_thread_t thread, list[4];
    struct hrt_thread_attr attr;
    struct hrt_thread_info told;
    hrt_thread_attr_init(&attr);
    attr.name = "a name that is longer than thirty-one bytes";
    attr.cpu = 0;
    attr.priority = 3;
    static uint32_t gate;
    gate = 0;
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, waits, &gate), HRT_OK);
    CHECK_EQUAL(hrt_thread_info(thread, &told), HRT_OK);
    CHECK_EQUAL(told.thread, thread);
    CHECK_EQUAL(told.creator, hrt_thread_self());
    CHECK_EQUAL(told.bound_cpu, 0);
    CHECK_EQUAL(told.priority, 3);
    CHECK(told.state >= HRT_THREAD_RUNNING && told.state <= HRT_THREAD_WAITING);
    CHECK(strcmp(told.name, "a name that is longer than thir") == 0);
    CHECK_EQUAL(hrt_thread_set_name(thread, "short"), HRT_OK);
    CHECK_EQUAL(hrt_thread_info(thread, &told), HRT_OK);
    CHECK(strcmp(told.name, "short") == 0);
    CHECK(hrt_thread_list(list, 4) >= 2);
    CHECK(hrt_thread_list(NULL, 0) >= 2);
    open_gate(&gate);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
    CHECK_EQUAL(hrt_thread_info(thread, &told), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_set_name(thread, "gone"), HRT_ESRCH);
    CHECK_EQUAL(hrt_thread_bind(thread, 0), HRT_ESRCH);
}

void places(void) {
    hrt_thread_t thread;
    struct hrt_thread_attr attr, bad;
    hrt_thread_attr_init(&attr);
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        attr.cpu = (int32_t)cpu;
        CHECK_EQUAL(hrt_thread_create(&thread, &attr, where, NULL), HRT_OK);
        CHECK_EQUAL(joined(thread), cpu);
    }
    hrt_thread_attr_init(&attr);
    for (uint32_t zone = 0; zone < hrt_zone_count(); zone++) {
        struct hrt_cpu_info place;
        attr.zone = (int32_t)zone;
        CHECK_EQUAL(hrt_thread_create(&thread, &attr, where, NULL), HRT_OK);
        CHECK_EQUAL(hrt_cpu_info((uint32_t)joined(thread), &place), HRT_OK);
        CHECK_EQUAL(place.zone, zone);
    }
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, moves, number(1)), HRT_OK);
    CHECK_EQUAL(joined(thread), 1);
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, sleeps, number(1)), HRT_OK);
    CHECK_EQUAL(joined(thread), 1);
    info();

    hrt_thread_attr_init(&attr);
    bad = attr;
    bad.cpu = (int32_t)hrt_cpu_count();
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.cpu = -2;
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.zone = (int32_t)hrt_zone_count();
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.size = 4;
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.flags = 1u << 31;
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.priority = HRT_PRIORITIES;
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.policy = 77;
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
    bad = attr;
    bad.stack_bytes = UINT64_MAX / 2;
    CHECK_EQUAL(hrt_thread_create(&thread, &bad, where, NULL), HRT_EINVAL);
}

static uint64_t far_ns(void) { return hrt_now_ns() + FAR_NS; }

static void *wakes(void *arg) {
    uint32_t *word = arg;
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    while (hrt_wake(word, 1, HRT_WAKE_NO_KICK) == 0) {
        hrt_thread_yield();
    }
    return NULL;
}

void waiting(void) {
    uint32_t word = 0, target = 0;
    hrt_thread_t thread;
    CHECK_EQUAL(hrt_wait(&word, 1, HRT_FOREVER, 0), HRT_EAGAIN);
    CHECK_EQUAL(hrt_wait(&word, 0, 0, 0), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_wait(&word, 0, hrt_now_ns() + 1000000, 0), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_wake(&word, 1, 0), 0);
    CHECK_EQUAL(hrt_calls->requeue(&word, 1, 1, &target), HRT_EAGAIN);
    CHECK_EQUAL(hrt_calls->requeue(&word, 0, 1, &target), HRT_OK);
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, wakes, &word), HRT_OK);
    uint64_t until = far_ns();
    while (hrt_wait(&word, 1, until, 0) == HRT_EAGAIN) {
    }
    CHECK(hrt_now_ns() < until);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
}
