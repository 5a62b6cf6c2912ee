// SPDX-License-Identifier: Apache-2.0 OR MIT
// Priorities, policies, admission, groups. What is admitted depends on the place; every refusal says why.
#include "parts.h"

static void *idle(void *arg) { return arg; }

static struct hrt_thread_attr periodic(uint64_t period_ns, uint64_t work_ns) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.policy = HRT_POLICY_EDF_PERIODIC;
    attr.period_ns = period_ns;
    attr.work_ns = work_ns;
    return attr;
}

static void *works_in_periods(void *arg) {
    uint64_t missed = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(hrt_thread_wait_period(&missed), HRT_OK);
    }
    return arg;
}

static void admitted_or_refused(const struct hrt_thread_attr *attr, hrt_thread_fn fn) {
    hrt_thread_t thread;
    int status = hrt_thread_create(&thread, attr, fn, NULL);
    if (status == HRT_EADMIT) {
        CHECK(strlen(hrt_admission_text()) > 10);
        return;
    }
    CHECK_EQUAL(status, HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
}

void schedules(void) {
    hrt_thread_t thread;
    struct hrt_thread_attr attr = periodic(10000000, 1000000);
    CHECK_EQUAL(hrt_thread_wait_period(NULL), HRT_EPERM);
    CHECK(hrt_admission_text() != NULL);
    admitted_or_refused(&attr, works_in_periods);

    attr = periodic(1000, 2000);
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, idle, NULL), HRT_EINVAL);
    attr = periodic(0, 0);
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, idle, NULL), HRT_EINVAL);

    hrt_thread_attr_init(&attr);
    attr.policy = HRT_POLICY_EDF_SPORADIC;
    attr.work_ns = 100000;
    attr.deadline_ns = 10000000;
    admitted_or_refused(&attr, idle);
    attr.policy = HRT_POLICY_EDF_APERIODIC;
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, idle, number(3)), HRT_OK);
    CHECK_EQUAL(joined(thread), 3);
    attr.policy = HRT_POLICY_RUN_TO_COMPLETION;
    CHECK_EQUAL(hrt_thread_create(&thread, &attr, idle, number(4)), HRT_OK);
    CHECK_EQUAL(joined(thread), 4);

    hrt_thread_attr_init(&attr);
    attr.priority = 8;
    CHECK_EQUAL(hrt_thread_set_schedule(hrt_thread_self(), &attr), HRT_OK);
    struct hrt_thread_info info;
    CHECK_EQUAL(hrt_thread_info(hrt_thread_self(), &info), HRT_OK);
    CHECK_EQUAL(info.priority, 8);
    attr.priority = -1;
    CHECK_EQUAL(hrt_thread_set_schedule(hrt_thread_self(), &attr), HRT_EINVAL);
    CHECK_EQUAL(hrt_thread_set_schedule(0, &attr), HRT_ESRCH);
    hrt_thread_attr_init(&attr);
    CHECK_EQUAL(hrt_thread_set_schedule(hrt_thread_self(), &attr), HRT_OK);
}

static uint32_t turn_came;

static void *spins(void *arg) {
    while (!__atomic_load_n(&turn_came, __ATOMIC_ACQUIRE)) {
        __builtin_ia32_pause();
    }
    return arg;
}

static void *ends_spinning(void *arg) {
    __atomic_store_n(&turn_came, 1, __ATOMIC_RELEASE);
    return arg;
}

static void *disturbs(void *arg) {
    while (!__atomic_load_n(&turn_came, __ATOMIC_ACQUIRE)) {
        hrt_thread_sleep_until(hrt_now_ns() + 500000);
    }
    return arg;
}

// An urgent thread that runs again and again does not keep two equals from taking turns.
void equal_turns(void) {
    hrt_thread_t threads[3];
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.cpu = (int32_t)hrt_cpu_count() - 1;
    attr.priority = HRT_PRIORITY_DEFAULT + 4;
    CHECK_EQUAL(hrt_thread_create(&threads[0], &attr, disturbs, NULL), HRT_OK);
    attr.priority = HRT_PRIORITY_DEFAULT - 1;
    CHECK_EQUAL(hrt_thread_create(&threads[1], &attr, spins, NULL), HRT_OK);
    CHECK_EQUAL(hrt_thread_create(&threads[2], &attr, ends_spinning, NULL), HRT_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(hrt_thread_join(threads[i], NULL), HRT_OK);
    }
}

#define MEMBERS_MAX 8

static uint32_t group;
static uint64_t started[MEMBERS_MAX];

static void *member(void *arg) {
    struct hrt_thread_attr schedule = periodic(20000000, 100000);
    CHECK_EQUAL(hrt_group_admit(group, &schedule), HRT_EPERM);
    CHECK_EQUAL(hrt_group_join(group), HRT_OK);
    CHECK_EQUAL(hrt_group_join(group), HRT_EEXIST);
    int status = hrt_group_admit(group, &schedule);
    started[(long)arg] = hrt_now_ns();
    if (status == HRT_OK) {
        CHECK_EQUAL(hrt_thread_wait_period(NULL), HRT_OK);
    } else {
        CHECK(strlen(hrt_admission_text()) > 10);
    }
    CHECK_EQUAL(hrt_group_leave(group), HRT_OK);
    return number(status);
}

static void *joins_unbound(void *arg) {
    (void)arg;
    return number(hrt_group_join(group));
}

void groups(void) {
    uint32_t members = hrt_cpu_count() < MEMBERS_MAX ? hrt_cpu_count() : MEMBERS_MAX;
    struct hrt_group_attr attr = {.size = sizeof attr, .members = members, .name = "gang"};
    struct hrt_thread_attr thread_attr;
    hrt_thread_t threads[MEMBERS_MAX], unbound;
    CHECK_EQUAL(hrt_group_create(&attr, &group), HRT_OK);
    CHECK_EQUAL(hrt_thread_create(&unbound, NULL, joins_unbound, NULL), HRT_OK);
    CHECK_EQUAL(joined(unbound), HRT_EINVAL);
    hrt_thread_attr_init(&thread_attr);
    for (uint32_t i = 0; i < members; i++) {
        thread_attr.cpu = (int32_t)i;
        CHECK_EQUAL(hrt_thread_create(&threads[i], &thread_attr, member, number(i)), HRT_OK);
    }
    long first = joined(threads[0]);
    CHECK(first == HRT_OK || first == HRT_EADMIT);
    for (uint32_t i = 1; i < members; i++) {
        CHECK_EQUAL(joined(threads[i]), first);
    }
    CHECK_EQUAL(hrt_group_leave(group), HRT_EPERM);
    CHECK_EQUAL(hrt_group_destroy(group), HRT_OK);
    CHECK_EQUAL(hrt_group_destroy(group), HRT_ESRCH);
    CHECK_EQUAL(hrt_group_join(group), HRT_ESRCH);
    attr.members = 0;
    CHECK_EQUAL(hrt_group_create(&attr, &group), HRT_EINVAL);
    attr.size = 1;
    CHECK_EQUAL(hrt_group_create(&attr, &group), HRT_EINVAL);
}
