/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Threads: making, joining, detaching, names, places, keys, and every way to do it wrong. */
#include "../common/check.h"
#include "places.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

static struct hrt_thread_attr attr_with(uint32_t flags) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = flags;
    attr.stack_bytes = flags & HRT_THREAD_BARE ? HRT_STACK_MIN : 128 << 10;
    return attr;
}

static void *twice(void *arg) { return (void *)((uintptr_t)arg * 2); }

static int go;
static void *wait_for_go(void *arg) {
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) {
        hrt_thread_yield();
    }
    return arg;
}

static void *join_oneself(void *arg) {
    (void)arg;
    return (void *)(intptr_t)hrt_thread_join(hrt_thread_self(), NULL);
}

static void many(uint32_t flags, int rounds, int width) {
    struct hrt_thread_attr attr = attr_with(flags);
    hrt_thread_t threads[64];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < width; i++) {
            CHECK(hrt_thread_create(&threads[i], &attr, twice, (void *)(uintptr_t)(round + i)) == HRT_OK);
        }
        for (int i = 0; i < width; i++) {
            void *result;
            CHECK(hrt_thread_join(threads[i], &result) == HRT_OK);
            CHECK(result == (void *)(uintptr_t)(2 * (round + i)));
        }
    }
}

static hrt_thread_t joined;
/* Its turn comes between two attempts of the first thread's. */
static void *join_it(void *arg) {
    (void)arg;
    int status;
    while ((status = hrt_thread_join(joined, NULL)) == HRT_EBUSY) {
        hrt_thread_yield();
    }
    return (void *)(intptr_t)status;
}

static void bad_pointers(const struct hrt_thread_attr *attr) {
    hrt_thread_t thread;
    struct hrt_slot_kind need;
    CHECK(hrt_calls->thread_create(attr, (hrt_thread_fn)(uintptr_t)hrt_calls, NULL, &thread, &need) ==
          HRT_EFAULT);
    CHECK(hrt_calls->thread_create((void *)8, twice, NULL, &thread, &need) == HRT_EFAULT);
    CHECK(hrt_calls->thread_create(attr, twice, NULL, (void *)8, &need) == HRT_EFAULT);
    CHECK(hrt_calls->thread_create(attr, twice, NULL, (void *)(uintptr_t)hrt_calls, &need) == HRT_EFAULT);
    CHECK(hrt_thread_create(&thread, attr, twice, NULL) == HRT_OK);
    CHECK(hrt_thread_join(thread, (void **)8) == HRT_EFAULT);
    CHECK(hrt_thread_join(thread, NULL) == HRT_ESRCH);
    CHECK(hrt_calls->thread_info(hrt_thread_self(), (void *)8, 64) == HRT_EFAULT);
}

static void never_a_slot(const struct hrt_slot_kind *kind) { (void)kind; }

static void misuse(uint32_t flags) {
    struct hrt_thread_attr attr = attr_with(flags);
    hrt_thread_t thread, other;
    void *result;
    /* Joining: twice, oneself, nobody, two at a time, too short. */
    CHECK(hrt_thread_create(&thread, &attr, twice, NULL) == HRT_OK);
    CHECK(hrt_thread_join(thread, NULL) == HRT_OK && hrt_thread_join(thread, NULL) == HRT_ESRCH);
    CHECK(hrt_thread_detach(thread) == HRT_ESRCH);
    CHECK(hrt_thread_create(&thread, &attr, join_oneself, NULL) == HRT_OK);
    CHECK(hrt_thread_join(thread, &result) == HRT_OK && (intptr_t)result == HRT_EDEADLK);
    CHECK(hrt_thread_join(0, NULL) == HRT_ESRCH && hrt_thread_join(UINT64_MAX, NULL) == HRT_ESRCH);
    CHECK(hrt_thread_join(0x7fffffff, NULL) == HRT_ESRCH);
    __atomic_store_n(&go, 0, __ATOMIC_RELEASE);
    CHECK(hrt_thread_create(&joined, &attr, wait_for_go, (void *)7) == HRT_OK);
    CHECK(hrt_thread_join_until(joined, NULL, hrt_now_ns() + 1000000) == HRT_ETIMEDOUT);
    CHECK(hrt_thread_join_until(joined, NULL, 0) == HRT_ETIMEDOUT);
    CHECK(hrt_thread_create(&thread, &attr, join_it, NULL) == HRT_OK);
    int status;
    while ((status = hrt_thread_join_until(joined, NULL, 0)) == HRT_ETIMEDOUT) {
        hrt_thread_yield();
    }
    CHECK(status == HRT_EBUSY && hrt_thread_detach(joined) == HRT_EBUSY);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    CHECK(hrt_thread_join(thread, &result) == HRT_OK && (intptr_t)result == HRT_OK);
    CHECK(hrt_thread_join_all() == HRT_OK);
    /* Detached threads. */
    attr.flags |= HRT_THREAD_DETACHED;
    __atomic_store_n(&go, 0, __ATOMIC_RELEASE);
    CHECK(hrt_thread_create(&other, &attr, wait_for_go, NULL) == HRT_OK);
    CHECK(hrt_thread_join(other, NULL) == HRT_EINVAL && hrt_thread_detach(other) == HRT_EINVAL);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    while (hrt_thread_detach(other) != HRT_ESRCH) {
        hrt_thread_yield();
    }
    /* Attributes and pointers. */
    attr = attr_with(flags);
    attr.cpu = (int32_t)hrt_calls->cpu_count();
    CHECK(hrt_thread_create(&thread, &attr, twice, NULL) == HRT_EINVAL);
    attr.cpu = HRT_CPU_ANY;
    attr.zone = 77;
    CHECK(hrt_thread_create(&thread, &attr, twice, NULL) == HRT_EINVAL);
    attr.zone = HRT_ZONE_ANY;
    attr.priority = 99;
    CHECK(hrt_thread_create(&thread, &attr, twice, NULL) == HRT_EINVAL);
    attr.priority = 3;
    attr.cpu = 0;
    CHECK(hrt_thread_create(&thread, &attr, twice, NULL) == HRT_OK &&
          hrt_thread_join(thread, NULL) == HRT_OK);
    if (has(CHECKED_POINTERS)) {
        bad_pointers(&attr);
    }
    int refused = has(KERNEL_SLOTS) ? HRT_EINVAL : HRT_ENOSYS;
    struct hrt_slot_kind need = {.cpu = 99999, .bare = 1, .stack_bytes = 16384};
    CHECK(hrt_calls->slot_add_bare(&need, never_a_slot) == refused);
    need = (struct hrt_slot_kind){.cpu = 0, .bare = 0, .stack_bytes = 16384};
    CHECK(hrt_calls->slot_add_bare(&need, never_a_slot) == refused);
    CHECK(hrt_calls->thread_start(hrt_thread_self(), twice, NULL) == HRT_EINVAL);
}

static void *where(void *arg) {
    (void)arg;
    return (void *)(uintptr_t)hrt_calls->cpu_self();
}

static void places(uint32_t flags) {
    struct hrt_thread_attr attr = attr_with(flags);
    hrt_thread_t thread;
    void *result;
    for (int32_t cpu = 0; cpu < (int32_t)hrt_calls->cpu_count(); cpu++) {
        attr.cpu = cpu;
        CHECK(hrt_thread_create(&thread, &attr, where, NULL) == HRT_OK);
        CHECK(hrt_thread_join(thread, &result) == HRT_OK && (intptr_t)result == cpu);
        CHECK(hrt_thread_bind(hrt_thread_self(), cpu) == HRT_OK && hrt_calls->cpu_self() == (uint32_t)cpu);
        int32_t other = (cpu + 1) % (int32_t)hrt_calls->cpu_count();
        CHECK(hrt_thread_migrate(hrt_thread_self(), other) == (other == cpu ? HRT_OK : HRT_EBUSY));
        CHECK(hrt_thread_bind(hrt_thread_self(), HRT_CPU_ANY) == HRT_OK);
        CHECK(hrt_thread_migrate(hrt_thread_self(), cpu) == HRT_OK);
    }
    CHECK(hrt_thread_bind(hrt_thread_self(), -2) == HRT_EINVAL);
}

static int destroyed;
static void destroy(void *value) { destroyed += (int)(intptr_t)value; }
static uint32_t key;
static void *use_key(void *arg) {
    CHECK(hrt_key_get(key) == NULL);
    CHECK(hrt_key_set(key, arg) == HRT_OK && hrt_key_get(key) == arg);
    void (*destructor)(void *);
    void *value;
    while (hrt_calls->key_take(&destructor, &value)) {
        destructor(value);
    }
    return NULL;
}

static void keys(uint32_t flags) {
    struct hrt_thread_attr attr = attr_with(flags);
    hrt_thread_t thread;
    destroyed = 0;
    CHECK(hrt_key_create(&key, destroy) == HRT_OK);
    for (intptr_t value = 1; value <= 3; value++) {
        CHECK(hrt_thread_create(&thread, &attr, use_key, (void *)value) == HRT_OK);
        CHECK(hrt_thread_join(thread, NULL) == HRT_OK);
    }
    CHECK(destroyed == 6 && hrt_key_get(key) == NULL);
    CHECK(hrt_key_delete(key) == HRT_OK && hrt_key_delete(key) == HRT_EINVAL);
    CHECK(hrt_key_set(key, &key) == HRT_EINVAL && hrt_key_set(HRT_KEYS_MAX, &key) == HRT_EINVAL);
    uint32_t taken[HRT_KEYS_MAX], one_more;
    for (int i = 0; i < HRT_KEYS_MAX; i++) {
        CHECK(hrt_key_create(&taken[i], NULL) == HRT_OK);
    }
    CHECK(hrt_key_create(&one_more, NULL) == HRT_ENOSPC);
    for (int i = 0; i < HRT_KEYS_MAX; i++) {
        CHECK(hrt_key_delete(taken[i]) == HRT_OK);
    }
}

static void *say_info(void *arg) {
    struct hrt_thread_info *info = arg;
    CHECK(hrt_thread_info(hrt_thread_self(), info) == HRT_OK);
    return NULL;
}

static void names(uint32_t flags) {
    struct hrt_thread_attr attr = attr_with(flags);
    struct hrt_thread_info info;
    hrt_thread_t thread, list[8];
    attr.name = "a name that is longer than thirty-two bytes";
    attr.priority = 5;
    CHECK(hrt_thread_create(&thread, &attr, say_info, &info) == HRT_OK);
    CHECK(hrt_thread_join(thread, NULL) == HRT_OK);
    CHECK(info.thread == thread && info.creator == hrt_thread_self() && info.state == HRT_THREAD_RUNNING);
    CHECK(strcmp(info.name, "a name that is longer than thir") == 0 && info.priority == 5);
    CHECK(info.flags == (flags & HRT_THREAD_BARE) && info.stack_top - info.stack_bottom >= HRT_STACK_MIN / 2);
    attr.name = NULL;
    CHECK(hrt_thread_create(&thread, &attr, say_info, &info) == HRT_OK);
    CHECK(hrt_thread_join(thread, NULL) == HRT_OK && info.name[0] == '\0');
    CHECK(hrt_thread_info(thread, &info) == HRT_ESRCH);
    CHECK(hrt_thread_set_name(hrt_thread_self(), "main") == HRT_OK);
    CHECK(hrt_thread_info(hrt_thread_self(), &info) == HRT_OK && strcmp(info.name, "main") == 0);
    CHECK(hrt_thread_list(list, 8) == 1 && list[0] == hrt_thread_self());
}

/* What a thread finds of itself, and leaves behind. */
struct found {
    sigset_t mask;
    stack_t stack;
    bool has_global_locale;
};

static void *change_oneself(void *arg) {
    static char memory[1 << 15];
    struct found *found = arg;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &found->mask) == 0 && sigaltstack(NULL, &found->stack) == 0);
    found->has_global_locale = uselocale((locale_t)0) == LC_GLOBAL_LOCALE;
    sigset_t other = found->mask;
    CHECK((sigismember(&other, SIGUSR1) ? sigdelset : sigaddset)(&other, SIGUSR1) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &other, NULL) == 0);
    CHECK(sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL) == 0);
    CHECK(uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)) != (locale_t)0);
    return NULL;
}

static void nothing_left_behind(void) {
    struct hrt_thread_attr attr = attr_with(0);
    struct found found[3];
    hrt_thread_t thread;
    for (int i = 0; i < 3; i++) {
        CHECK(hrt_thread_create(&thread, &attr, change_oneself, &found[i]) == HRT_OK);
        CHECK(hrt_thread_join(thread, NULL) == HRT_OK);
        CHECK(found[i].stack.ss_flags == SS_DISABLE && found[i].has_global_locale);
        CHECK(sigismember(&found[i].mask, SIGUSR1) == sigismember(&found[0].mask, SIGUSR1));
    }
}

static void *stay(void *arg) {
    hrt_thread_sleep_until(HRT_FOREVER);
    return arg;
}

int main(void) {
    CHECK(hrt_thread_self() == hrt_thread_self() && (int64_t)hrt_thread_self() > 0);
    CHECK(hrt_calls->admission_text()[0] == '\0');
    for (int bare = 0; bare < 2; bare++) {
        uint32_t flags = bare ? HRT_THREAD_BARE : 0;
        many(flags, 200, 1);
        many(flags, 50, 64);
        misuse(flags);
        places(flags);
        keys(flags);
        names(flags);
    }
    nothing_left_behind();
    struct hrt_thread_attr attr = attr_with(HRT_THREAD_BARE);
    hrt_thread_t thread;
    for (int i = 0; i < 10; i++) {
        CHECK(hrt_thread_create(&thread, &attr, wait_for_go, NULL) == HRT_OK);
    }
    CHECK(hrt_thread_join_all() == HRT_OK && hrt_thread_join(thread, NULL) == HRT_ESRCH);
    /* The program ends although threads of all kinds wait. */
    CHECK(hrt_thread_create(&thread, NULL, stay, NULL) == HRT_OK);
    CHECK(hrt_thread_create(&thread, &attr, stay, NULL) == HRT_OK);
    puts("threads work");
    return 0;
}
