// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A new thread is new: whatever threads before it have done to themselves, or others to them at their very
// end, it has its creator's name and signal mask, no alternate stack, no request to end and no signal.

#include "set.h"

#include <locale.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>

enum { NAME_BYTES = 16, ALT_STACK_BYTES = 16384, ROUNDS = 12, RACES = 300 };

enum ending { RETURNS, EXITS, CANCELLED, ENDINGS };

static char creator_name[NAME_BYTES];

static void expect_fresh(void) {
    stack_t stack;
    CHECK_EQUAL(sigaltstack(NULL, &stack), 0);
    CHECK_EQUAL(stack.ss_flags, SS_DISABLE);
    CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    char name[NAME_BYTES];
    CHECK_EQUAL(prctl(PR_GET_NAME, name), 0);
    CHECK(strcmp(name, creator_name) == 0);
    sigset_t mask;
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    CHECK_EQUAL(sigismember(&mask, SIGUSR1), 0);
    CHECK_EQUAL(sigismember(&mask, SIGUSR2), 1);
    CHECK_EQUAL(sigpending(&mask), 0);
    CHECK_EQUAL(sigismember(&mask, SIGUSR2), 0);
    int before;
    CHECK_EQUAL(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
    CHECK_EQUAL(before, PTHREAD_CANCEL_ENABLE);
    CHECK_EQUAL(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before), 0);
    CHECK_EQUAL(before, PTHREAD_CANCEL_DEFERRED);
    pthread_testcancel();
}

static char alt_stack[ALT_STACK_BYTES];

static void *changes_itself(void *argument) {
    expect_fresh();
    stack_t stack = {.ss_sp = alt_stack, .ss_size = sizeof alt_stack};
    CHECK_EQUAL(sigaltstack(&stack, NULL), 0);
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    CHECK(locale != (locale_t)0);
    uselocale(locale);
    CHECK_EQUAL(prctl(PR_SET_NAME, "changed"), 0);
    sigset_t mask;
    sigfillset(&mask);
    CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
    CHECK_EQUAL(pthread_kill(pthread_self(), SIGUSR2), 0);
    enum ending ending = *(enum ending *)argument;
    if (ending == CANCELLED) {
        CHECK_EQUAL(pthread_cancel(pthread_self()), 0);
        pthread_testcancel();
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    if (ending == EXITS) {
        pthread_exit(argument);
    }
    return argument;
}

static void *is_fresh(void *argument) {
    expect_fresh();
    return argument;
}

// A thread that ends in one way or the other, and one after it, both joined; then both detached.
static sem_t detached_ended;

static void *tells(void *argument) {
    expect_fresh();
    CHECK_EQUAL(sem_post(&detached_ended), 0);
    return argument;
}

static void one_after_the_other(enum ending ending) {
    pthread_t thread;
    void *result;
    CHECK_EQUAL(pthread_create(&thread, NULL, changes_itself, &ending), 0);
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    CHECK(result == (ending == CANCELLED ? PTHREAD_CANCELED : &ending));
    CHECK_EQUAL(pthread_create(&thread, NULL, is_fresh, &ending), 0);
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    CHECK(result == &ending);
    CHECK_EQUAL(pthread_create(&thread, NULL, tells, NULL), 0);
    CHECK_EQUAL(pthread_detach(thread), 0);
    CHECK_EQUAL(sem_wait(&detached_ended), 0);
}

// Requests and signals that come when the thread may have ended already, but has not been joined, are
// nobody else's.
static void *ends(void *argument) { return argument; }

static void races_at_the_end(void) {
    for (int i = 0; i < RACES; i++) {
        pthread_t thread;
        void *result;
        CHECK_EQUAL(pthread_create(&thread, NULL, ends, &i), 0);
        if (i % 3 == 0) {
            sched_yield();
        }
        if (i % 2 == 0) {
            CHECK_EQUAL(pthread_cancel(thread), 0);
        } else {
            CHECK_EQUAL(pthread_kill(thread, SIGUSR2), 0);
        }
        CHECK_EQUAL(pthread_join(thread, &result), 0);
        CHECK(result == &i || (i % 2 == 0 && result == PTHREAD_CANCELED));
        CHECK_EQUAL(pthread_create(&thread, NULL, changes_itself, &(enum ending){RETURNS}), 0);
        CHECK_EQUAL(pthread_join(thread, &result), 0);
        CHECK(result != PTHREAD_CANCELED);
    }
}

// A request that comes while destructors run is too late, and what they do to their thread is not the next
// one's. libc's own threads may be cancelled there.
extern void hrt_pthread_begins(void) __attribute__((weak));

static pthread_key_t late_key;
static sem_t in_destructor, may_leave;

static void destroys_late(void *value) {
    (void)value;
    CHECK_EQUAL(sem_post(&in_destructor), 0);
    while (sem_wait(&may_leave) != 0) {
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

static void *ends_late(void *argument) {
    expect_fresh();
    CHECK_EQUAL(pthread_setspecific(late_key, argument), 0);
    return argument;
}

static void cancelled_in_a_destructor(void) {
    CHECK_EQUAL(sem_init(&in_destructor, 0, 0), 0);
    CHECK_EQUAL(sem_init(&may_leave, 0, 0), 0);
    CHECK_EQUAL(pthread_key_create(&late_key, destroys_late), 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        void *result;
        bool cancel = i % 2 == 0;
        CHECK_EQUAL(pthread_create(&thread, NULL, ends_late, &i), 0);
        CHECK_EQUAL(sem_wait(&in_destructor), 0);
        if (cancel) {
            CHECK_EQUAL(pthread_cancel(thread), 0);
            usleep(1000);
        }
        CHECK_EQUAL(sem_post(&may_leave), 0);
        CHECK_EQUAL(pthread_join(thread, &result), 0);
        CHECK(result == &i || (cancel && !hrt_pthread_begins));
        if (result != &i) {
            CHECK_EQUAL(sem_trywait(&may_leave), 0);
        }
        CHECK_EQUAL(pthread_create(&thread, NULL, is_fresh, &i), 0);
        CHECK_EQUAL(pthread_join(thread, &result), 0);
        CHECK(result == &i);
    }
    CHECK_EQUAL(pthread_key_delete(late_key), 0);
}

// Who is cancelled while it joins leaves the other thread joinable.
static sem_t may_end;

static void *waits(void *argument) {
    while (sem_wait(&may_end) != 0) {
    }
    return argument;
}

static void *joins(void *argument) {
    void *result;
    pthread_join(*(pthread_t *)argument, &result);
    return result;
}

static void cancelled_joiner(void) {
    pthread_t waiter, joiner;
    void *result;
    CHECK_EQUAL(pthread_create(&waiter, NULL, waits, &may_end), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQUAL(pthread_create(&joiner, NULL, joins, &waiter), 0);
        if (i % 2 == 0) {
            usleep(2000);
        }
        CHECK_EQUAL(pthread_cancel(joiner), 0);
        CHECK_EQUAL(pthread_join(joiner, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
    }
    CHECK_EQUAL(sem_post(&may_end), 0);
    CHECK_EQUAL(pthread_join(waiter, &result), 0);
    CHECK(result == &may_end);
}

void part_fresh(void) {
    sigset_t mask, before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &mask, &before), 0);
    CHECK_EQUAL(sem_init(&detached_ended, 0, 0), 0);
    CHECK_EQUAL(sem_init(&may_end, 0, 0), 0);
    for (int round = 0; round < ROUNDS; round++) {
        // New threads have the name that their creator has then.
        snprintf(creator_name, sizeof creator_name, "maker %d", round / ENDINGS);
        CHECK_EQUAL(prctl(PR_SET_NAME, creator_name), 0);
        one_after_the_other((enum ending)(round % ENDINGS));
    }
    races_at_the_end();
    cancelled_in_a_destructor();
    cancelled_joiner();
    CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    printf("  threads begin like new ones\n");
}
