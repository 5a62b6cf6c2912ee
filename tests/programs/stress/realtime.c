// SPDX-License-Identifier: Apache-2.0 OR MIT
// Real time: threads and groups that ask to be admitted, run for some periods and go. A refusal says why; on
// a busy machine deadlines may be missed, but no period begins early.
#include "stress.h"

struct promise {
    struct hrt_thread_attr attr;
    uint32_t periods;
    uint64_t begun_ns;
};

static void *keep(void *arg) {
    struct promise *promise = arg;
    uint64_t missed = 0, before = 0;
    for (uint32_t period = 0; promise->attr.policy == HRT_POLICY_EDF_PERIODIC && period < promise->periods;
         period++) {
        CHECK_EQUAL(hrt_thread_wait_period(&missed), HRT_OK);
        CHECK(missed >= before);
        before = missed;
        // The first period that was waited for began at the earliest when the thread was made.
        CHECK_LATE(promise->begun_ns + period * promise->attr.period_ns);
    }
    for (volatile uint32_t i = 0; i < 1000; i++) {
    }
    return arg;
}

static void draw_promise(struct dice *dice, struct promise *promise) {
    struct hrt_thread_attr *attr = &promise->attr;
    hrt_thread_attr_init(attr);
    attr->cpu = one_in(dice, 2) ? any_cpu(dice) : HRT_CPU_ANY;
    attr->policy = HRT_POLICY_EDF_PERIODIC + below(dice, 3);
    attr->period_ns = 1000000u * (2 + below(dice, 20));
    attr->work_ns = attr->period_ns / (2 + below(dice, 30));
    if (attr->policy != HRT_POLICY_EDF_PERIODIC) {
        attr->deadline_ns = attr->period_ns;
        attr->period_ns = 0;
    }
    promise->periods = below(dice, 4);
    promise->begun_ns = hrt_now_ns();
}

#define PROMISES 3u

void realtime_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct promise promises[PROMISES];
    hrt_thread_t threads[PROMISES];
    uint32_t count = 1 + below(dice, PROMISES);
    bool admitted[PROMISES];
    for (uint32_t i = 0; i < count; i++) {
        draw_promise(dice, &promises[i]);
        int status = hrt_thread_create(&threads[i], &promises[i].attr, keep, &promises[i]);
        CHECK(status == HRT_OK || status == HRT_EADMIT);
        CHECK(status == HRT_OK || promises[i].attr.policy != HRT_POLICY_EDF_APERIODIC);
        CHECK(status == HRT_OK || strlen(hrt_admission_text()) > 10);
        admitted[i] = status == HRT_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        STEP(worker);
        CHECK(!admitted[i] || joined(threads[i]) == &promises[i]);
    }
    CHECK_EQUAL(hrt_thread_wait_period(NULL), HRT_EPERM);
    did(worker, count);
}

// --- groups

#define MEMBERS_MAX 8u

struct gang {
    uint32_t group, periods;
    struct hrt_thread_attr schedule;
    uint32_t admitted;
};

static void *be_member(void *arg) {
    struct gang *gang = arg;
    CHECK_EQUAL(hrt_group_join(gang->group), HRT_OK);
    int status = hrt_group_admit(gang->group, &gang->schedule);
    CHECK(status == HRT_OK || status == HRT_EADMIT);
    if (status == HRT_OK) {
        __atomic_fetch_add(&gang->admitted, 1, __ATOMIC_RELAXED);
        for (uint32_t period = 0; period < gang->periods; period++) {
            CHECK_EQUAL(hrt_thread_wait_period(NULL), HRT_OK);
        }
    } else {
        CHECK(strlen(hrt_admission_text()) > 10);
    }
    CHECK_EQUAL(hrt_group_leave(gang->group), HRT_OK);
    return NULL;
}

void group_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t most = hrt_cpu_count() < MEMBERS_MAX ? hrt_cpu_count() : MEMBERS_MAX;
    struct gang gang = {.periods = below(dice, 3)};
    struct hrt_group_attr attr = {.size = sizeof attr, .members = 1 + below(dice, most), .name = "stressed"};
    hrt_thread_t threads[MEMBERS_MAX];
    uint32_t first = (uint32_t)any_cpu(dice);
    hrt_thread_attr_init(&gang.schedule);
    gang.schedule.policy = HRT_POLICY_EDF_PERIODIC;
    gang.schedule.period_ns = 1000000u * (5 + below(dice, 20));
    gang.schedule.work_ns = gang.schedule.period_ns / (4 + below(dice, 40));
    CHECK_EQUAL(hrt_group_create(&attr, &gang.group), HRT_OK);
    for (uint32_t i = 0; i < attr.members; i++) {
        threads[i] = started(be_member, &gang, (int32_t)((first + i) % hrt_cpu_count()));
    }
    for (uint32_t i = 0; i < attr.members; i++) {
        STEP(worker);
        joined(threads[i]);
    }
    CHECK(gang.admitted == 0 || gang.admitted == attr.members);
    CHECK_EQUAL(hrt_group_destroy(gang.group), HRT_OK);
    did(worker, attr.members);
}
