/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Who runs when: priorities, policies, admission, budgets, periods, gangs. Nothing here depends on how fast
 * the machine is: what is checked is order, refusals, and that what must not happen early does not. With
 * "gang" as second argument only the last part, for machines with many CPUs. */
#include "table.h"

#include <string.h>

#define MS UINT64_C(1000000)

static struct hrt_thread_attr on(int32_t cpu) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.cpu = cpu;
    return attr;
}

static struct hrt_thread_attr periodic(int32_t cpu, uint64_t period_ns, uint64_t work_ns) {
    struct hrt_thread_attr attr = on(cpu);
    attr.policy = HRT_POLICY_EDF_PERIODIC;
    attr.period_ns = period_ns;
    attr.work_ns = work_ns;
    return attr;
}

static void *joined(hrt_thread_t thread) {
    void *result = NULL;
    CHECK(hrt_thread_join(thread, &result) == HRT_OK);
    return result;
}

static hrt_thread_t started(const struct hrt_thread_attr *attr, hrt_thread_fn fn, void *arg) {
    hrt_thread_t thread = 0;
    CHECK(hrt_thread_create(&thread, attr, fn, arg) == HRT_OK);
    return thread;
}

static struct hrt_thread_info info_of(hrt_thread_t thread) {
    struct hrt_thread_info info;
    CHECK(hrt_thread_info(thread, &info) == HRT_OK);
    return info;
}

static void *wait_for_word(void *arg) {
    uint32_t *word = arg;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) {
        int status = hrt_calls->wait(word, 0, HRT_FOREVER, 0);
        CHECK(status == HRT_OK || status == HRT_EAGAIN);
    }
    return NULL;
}

static void release(uint32_t *word) {
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    hrt_calls->wake(word, UINT32_MAX, 0);
}

/* Makes slots, so that later creations do not have to wait, which would let others run. */
static void warm_up(void) {
    hrt_thread_t threads[4];
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) {
        struct hrt_thread_attr attr = on(0);
        threads[i] = started(&attr, wait_for_word, &word);
    }
    release(&word);
    for (int i = 0; i < 4; i++) {
        joined(threads[i]);
    }
}

static volatile int order[8], count;

static void *enter(void *arg) {
    order[count++] = (int)(intptr_t)arg;
    return NULL;
}

static void expect_order(int first, int second, int third) {
    CHECK(count == 3 && order[0] == first && order[1] == second && order[2] == third);
    count = 0;
}

static void priorities(void) {
    struct hrt_thread_attr attr = on(HRT_CPU_ANY);
    attr.priority = 31;
    CHECK(hrt_thread_set_schedule(hrt_thread_self(), &attr) == HRT_OK);
    attr = on(0);
    hrt_thread_t threads[3];
    const int wanted[3] = {5, 20, 10};
    for (int i = 0; i < 3; i++) {
        attr.priority = wanted[i];
        threads[i] = started(&attr, enter, (void *)(intptr_t)wanted[i]);
    }
    /* Urgent enough after all: it goes from the end to the front. */
    attr.priority = 25;
    CHECK(hrt_thread_set_schedule(threads[0], &attr) == HRT_OK && info_of(threads[0]).priority == 25);
    for (int i = 0; i < 3; i++) {
        joined(threads[i]);
    }
    expect_order(5, 20, 10);
    attr = on(HRT_CPU_ANY);
    CHECK(hrt_thread_set_schedule(hrt_thread_self(), &attr) == HRT_OK);
}

static volatile bool inside;

static void *alone(void *arg) {
    CHECK(!inside);
    inside = true;
    /* Longer than a slice. */
    for (uint64_t end = hrt_now_ns() + 10 * MS; hrt_now_ns() < end;) {
    }
    inside = false;
    return arg;
}

static void run_to_completion(void) {
    struct hrt_thread_attr attr = on(0);
    attr.policy = HRT_POLICY_RUN_TO_COMPLETION;
    hrt_thread_t threads[3];
    for (int i = 0; i < 3; i++) {
        threads[i] = started(&attr, alone, NULL);
    }
    for (int i = 0; i < 3; i++) {
        joined(threads[i]);
    }
}

static void by_deadline(void) {
    struct hrt_thread_attr attr = on(0);
    attr.policy = HRT_POLICY_EDF_APERIODIC;
    attr.deadline_ns = 1;
    CHECK(hrt_thread_set_schedule(hrt_thread_self(), &attr) == HRT_OK);
    CHECK(info_of(hrt_thread_self()).policy == HRT_POLICY_EDF_APERIODIC);
    hrt_thread_t threads[3];
    const int wanted[3] = {30, 10, 20};
    for (int i = 0; i < 3; i++) {
        attr.deadline_ns = (uint64_t)wanted[i] * 1000 * MS;
        threads[i] = started(&attr, enter, (void *)(intptr_t)wanted[i]);
    }
    for (int i = 0; i < 3; i++) {
        joined(threads[i]);
    }
    expect_order(10, 20, 30);
    attr = on(HRT_CPU_ANY);
    CHECK(hrt_thread_set_schedule(hrt_thread_self(), &attr) == HRT_OK);
    CHECK(info_of(hrt_thread_self()).policy == HRT_POLICY_ROUND_ROBIN);
}

static volatile bool stop;

static void *spin(void *arg) {
    while (!stop) {
    }
    return arg;
}

/* The caller is an ordinary thread of the same CPU: it gets there only when the budget of the other ends. */
static void budgets(void) {
    struct hrt_thread_attr attr = periodic(0, 40 * MS, 10 * MS);
    hrt_thread_t thread = started(&attr, spin, (void *)1);
    while (info_of(thread).deadlines_missed < 2) {
    }
    CHECK(info_of(thread).policy == HRT_POLICY_EDF_PERIODIC && info_of(thread).bound_cpu == 0);
    stop = true;
    CHECK(joined(thread) == (void *)1);
    stop = false;

    attr.policy = HRT_POLICY_EDF_SPORADIC;
    attr.deadline_ns = 1000 * MS;
    thread = started(&attr, spin, (void *)2);
    while (info_of(thread).policy != HRT_POLICY_ROUND_ROBIN) {
    }
    stop = true;
    CHECK(joined(thread) == (void *)2);
    stop = false;
}

static void *spin_and_yield(void *arg) {
    while (!stop) {
        hrt_thread_yield();
    }
    return arg;
}

/* Budgets end in the kernel, too, where the thread looks who else could run: nobody before its time is over.
 */
static void budgets_in_calls(void) {
    struct hrt_thread_attr attr = periodic(0, MS, MS / 5);
    hrt_thread_t thread = started(&attr, spin_and_yield, NULL);
    while (info_of(thread).deadlines_missed < 300) {
    }
    stop = true;
    joined(thread);
    stop = false;
}

enum { PERIODS = 5 };

static void *in_periods(void *arg) {
    uint64_t missed = 0, before = 0, start = *(uint64_t *)arg;
    CHECK(hrt_now_ns() >= start);
    for (int i = 1; i <= PERIODS; i++) {
        CHECK(hrt_thread_wait_period(&missed) == HRT_OK && missed >= before);
        before = missed;
        CHECK(hrt_now_ns() >= start + (uint64_t)i * 20 * MS);
    }
    return NULL;
}

static void periods(void) {
    struct hrt_thread_attr attr = periodic(0, 20 * MS, 2 * MS);
    attr.start_ns = hrt_now_ns() + 30 * MS;
    joined(started(&attr, in_periods, &attr.start_ns));
    CHECK(hrt_thread_wait_period(NULL) == HRT_EPERM);
}

static void refusals(void) {
    hrt_thread_t threads[2], refused;
    uint32_t word = 0;
    struct hrt_thread_attr attr = periodic(0, 100 * MS, 40 * MS);
    for (int i = 0; i < 2; i++) {
        threads[i] = started(&attr, wait_for_word, &word);
    }
    CHECK(hrt_thread_create(&refused, &attr, spin, NULL) == HRT_EADMIT);
    CHECK(strcmp(hrt_admission_text(),
                 "CPU 0 cannot give 40.00 %: 80.00 % are promised to others, and the limit is 90.00 %") == 0);
    attr.period_ns = 99999;
    attr.work_ns = 50000;
    CHECK(hrt_thread_create(&refused, &attr, spin, NULL) == HRT_EADMIT);
    CHECK(strstr(hrt_admission_text(), "99999 ns is shorter") != NULL);
    attr.work_ns = 100000;
    CHECK(hrt_thread_create(&refused, &attr, spin, NULL) == HRT_EINVAL);
    release(&word);
    joined(threads[0]);
    joined(threads[1]);
    /* Their promises ended with them. */
    attr = periodic(0, 100 * MS, 80 * MS);
    joined(started(&attr, wait_for_word, &word));
}

/* A schedule that its thread gives up at the moment at which it expires ends once: were its room given back
 * twice, later ones would be refused. */
static void endings(void) {
    struct hrt_thread_attr once = on(0), ordinary = on(0), aperiodic = on(0);
    once.policy = HRT_POLICY_EDF_SPORADIC;
    once.work_ns = MS / 2;
    once.deadline_ns = MS;
    aperiodic.policy = HRT_POLICY_EDF_APERIODIC;
    aperiodic.deadline_ns = MS;
    hrt_thread_t self = hrt_thread_self();
    for (uint64_t step = 0; step < 700; step++) {
        uint64_t deadline;
        int status;
        do {
            once.start_ns = hrt_now_ns();
            deadline = once.start_ns + once.deadline_ns;
            status = hrt_thread_set_schedule(self, &once);
            /* Refused only if the host has not run this CPU until it was too late. */
            CHECK(status == HRT_OK || (status == HRT_EADMIT && hrt_now_ns() >= deadline));
        } while (status != HRT_OK);
        CHECK(hrt_thread_sleep_until(deadline - MS / 10) == HRT_OK);
        while (hrt_now_ns() + 4000 < deadline + 20 * step) {
            __builtin_ia32_pause();
        }
        CHECK(hrt_thread_set_schedule(self, &ordinary) == HRT_OK);
    }
    CHECK(hrt_thread_set_schedule(self, &aperiodic) == HRT_OK);
    CHECK(hrt_thread_set_schedule(self, &ordinary) == HRT_OK);
}

static uint32_t group;
static uint64_t work_of_members;
static uint64_t first_period[1024];

static void *member(void *arg) {
    int number = (int)(intptr_t)arg;
    CHECK(hrt_group_join(group) == HRT_OK && hrt_group_join(group) == HRT_EEXIST);
    struct hrt_thread_attr schedule = periodic(number, 200 * MS, work_of_members);
    uint64_t before = hrt_now_ns();
    int status = hrt_group_admit(group, &schedule);
    first_period[number] = hrt_now_ns();
    if (status == HRT_OK) {
        CHECK(first_period[number] > before && info_of(hrt_thread_self()).policy == HRT_POLICY_EDF_PERIODIC);
        CHECK(hrt_thread_wait_period(NULL) == HRT_OK);
        CHECK(hrt_now_ns() - first_period[number] < 1000000 * MS);
    } else {
        CHECK(status == HRT_EADMIT && strlen(hrt_admission_text()) > 10);
    }
    CHECK(hrt_group_leave(group) == HRT_OK && hrt_group_leave(group) == HRT_EPERM);
    CHECK(info_of(hrt_thread_self()).policy == HRT_POLICY_ROUND_ROBIN);
    return (void *)(intptr_t)status;
}

/* Returns what every member was told. */
static int gang(uint32_t members, uint64_t skew_ns, uint64_t work_ns) {
    struct hrt_group_attr attr = {.size = sizeof attr, .members = members, .skew_ns = skew_ns};
    CHECK(hrt_group_create(&attr, &group) == HRT_OK);
    work_of_members = work_ns;
    hrt_thread_t threads[1024] = {0};
    for (uint32_t i = 0; i < members; i++) {
        struct hrt_thread_attr thread = on((int32_t)i);
        threads[i] = started(&thread, member, (void *)(intptr_t)i);
    }
    int first = (int)(intptr_t)joined(threads[0]);
    for (uint32_t i = 1; i < members; i++) {
        CHECK((int)(intptr_t)joined(threads[i]) == first);
    }
    CHECK(hrt_group_destroy(group) == HRT_OK && hrt_group_destroy(group) == HRT_ESRCH);
    return first;
}

static void *unbound(void *arg) { return (void *)(intptr_t)hrt_group_join(*(uint32_t *)arg); }

static void gangs(uint32_t cpus) {
    CHECK(gang(cpus, 0, 10 * MS) == HRT_OK);
    /* One CPU that has promised too much, or to somebody who could delay the member, and nobody is admitted.
     */
    uint32_t word = 0;
    struct hrt_thread_attr attr = periodic((int32_t)cpus - 1, 200 * MS, 20 * MS);
    hrt_thread_t other = started(&attr, wait_for_word, &word);
    CHECK(gang(cpus, 100 * MS, 165 * MS) == HRT_EADMIT);
    CHECK(gang(cpus, 19 * MS, 10 * MS) == HRT_EADMIT);
    CHECK(gang(cpus, 20 * MS, 10 * MS) == HRT_OK);
    release(&word);
    joined(other);
    CHECK(gang(cpus, 0, 170 * MS) == HRT_OK);

    struct hrt_group_attr group_attr = {.size = sizeof group_attr, .members = cpus + 1};
    CHECK(hrt_group_create(&group_attr, &group) == HRT_EINVAL);
    group_attr.members = 1;
    CHECK(hrt_group_create(&group_attr, &group) == HRT_OK);
    attr = on(HRT_CPU_ANY);
    CHECK((intptr_t)joined(started(&attr, unbound, &group)) == HRT_EINVAL);
    CHECK(hrt_group_admit(group, &attr) == HRT_EINVAL);
    attr = periodic(0, 20 * MS, 2 * MS);
    CHECK(hrt_group_admit(group, &attr) == HRT_EPERM);
    CHECK(hrt_group_destroy(group) == HRT_OK && hrt_group_join(group) == HRT_ESRCH);
}

int main(int argc, char **argv) {
    bind_table();
    (void)argv;
    CHECK(hrt_thread_bind(hrt_thread_self(), 0) == HRT_OK);
    if (argc < 2) {
        warm_up();
        priorities();
        run_to_completion();
        by_deadline();
        periods();
        refusals();
        endings();
        budgets();
        budgets_in_calls();
    }
    gangs(hrt_calls->cpu_count());
    puts("promises are kept");
    return 0;
}
