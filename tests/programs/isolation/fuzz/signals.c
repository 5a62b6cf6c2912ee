// SPDX-License-Identifier: Apache-2.0 OR MIT
// What arguments of calls about signals point to.
#define _GNU_SOURCE
#include "fuzz.h"

#include <signal.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t signal_event(struct worker *worker) {
    int *made = stage(worker, sizeof(struct sigevent));
    made[0] = (int)below(worker, 10);
    made[1] = 0;
    made[2] = (int)value(worker, SIGNAL);
    made[3] = (int)(once_in(worker, 2) ? below(worker, 6) : 4);
    made[4] = (int)worker->thread;
    return (uint64_t)made;
}

static uint64_t signal_info(struct worker *worker) {
    int *made = stage(worker, 128);
    for (int i = 0; i < 32; i++) {
        made[i] = (int)next(worker);
    }
    made[0] = (int)value(worker, SIGNAL);
    made[2] = once_in(worker, 4) ? (int)below(worker, 3) : -1;
    return (uint64_t)made;
}

// What a signal may lead to. Nothing ever writes here, as handlers must not become wild.
static const struct {
    void (*handler)(int);
    uint64_t flags;
    void (*restorer)(void);
    uint64_t mask;
} actions[] = {
#define ACTION(handler, flags, mask)                                                                         \
    { handler, (flags) | 0x04000000, back, mask }
    ACTION(nap, 0, 0),
    ACTION(nap, SA_RESTART, 0),
    ACTION(nap, SA_NODEFER, 0),
    ACTION(nap, SA_SIGINFO, 8),
    ACTION(nap, SA_ONSTACK, 0),
    ACTION(nap, SA_RESETHAND, -1ul),
    ACTION(nap, SA_ONSTACK | SA_SIGINFO | SA_NODEFER, 0),
    ACTION(SIG_IGN, 0, 0),
    ACTION(SIG_DFL, SA_NOCLDSTOP, 0),
    ACTION(SIG_DFL, SA_NOCLDWAIT, 0),
    ACTION(nap, 0x400 | 0x800, -1ul),
};

#define STACKS(thread)                                                                                       \
    {                                                                                                        \
        {handler_stacks[thread][0], 0, SPARE_BYTES}, {handler_stacks[thread][1], 0, 2048},                   \
            {handler_stacks[thread][2], 0, 100}, {handler_stacks[thread][3], SS_DISABLE, SPARE_BYTES},       \
            {handler_stacks[thread][4], (int)0x80000000, SPARE_BYTES},                                       \
            {handler_stacks[thread][5], 0, (size_t)-1}, {handler_stacks[thread][6], 5, SPARE_BYTES},         \
            {(void *)0xffffffff80100000, 0, SPARE_BYTES}, {(void *)0x7fffffffe000, 0, SPARE_BYTES},          \
    }
// Two threads at once on one stack would overwrite each other's frames.
static const stack_t stacks[2][9] = {STACKS(0), STACKS(1)};

uint64_t of_signals(struct worker *worker, enum kind kind) {
    uint64_t *made;
    switch (kind) {
    case SIGNAL_SET:
        made = (uint64_t *)bits(worker, 1);
        return (uint64_t)made;
    case MASK_AND_SIZE:
        made = stage(worker, 2 * sizeof *made);
        made[0] = value(worker, SIGNAL_SET);
        made[1] = value(worker, SIZE_OF_SET);
        return (uint64_t)made;
    case SIGNAL_ACTION:
        return once_in(worker, 4) ? 0 : (uint64_t)&actions[below(worker, COUNT(actions))];
    case SIGNAL_STACK:
        return once_in(worker, 4) ? 0 : (uint64_t)&stacks[worker->index][below(worker, COUNT(stacks[0]))];
    case SIGNAL_INFO:
        return signal_info(worker);
    default:
        return signal_event(worker);
    }
}
