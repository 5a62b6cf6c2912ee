// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Sets of semaphores.
#define _GNU_SOURCE
#include "sysv.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>

union semun {
    int val;
    void *pointer;
};

static int number(int set, int semaphore, int command) {
    int found = semctl(set, semaphore, command);
    CHECK(found >= 0);
    return found;
}

static void put(int set, int semaphore, int value) {
    CHECK_EQUAL(semctl(set, semaphore, SETVAL, (union semun){.val = value}), 0);
}

static struct semid_ds stat_of(int set) {
    struct semid_ds found;
    memset(&found, 0xa5, sizeof found);
    CHECK_EQUAL(semctl(set, 0, IPC_STAT, (union semun){.pointer = &found}), 0);
    return found;
}

static int make(int count) {
    int set = semget(IPC_PRIVATE, count, 0600);
    CHECK(set >= 0);
    return set;
}

static void done(int set) { CHECK_EQUAL(semctl(set, 0, IPC_RMID), 0); }

static int change(int set, int semaphore, int by, int flags) {
    struct sembuf one = {(unsigned short)semaphore, (short)by, (short)flags};
    return semop(set, &one, 1);
}

void sets(void) {
    CHECK_ERRNO(semget(key, 3, 0600), ENOENT);
    CHECK_ERRNO(semget(key, 0, IPC_CREAT | 0600), EINVAL);
    CHECK_ERRNO(semget(key, -1, IPC_CREAT | 0600), EINVAL);
    CHECK_ERRNO(semget(key, 32001, IPC_CREAT | 0600), EINVAL);
    int set = semget(key, 3, IPC_CREAT | IPC_EXCL | 0620);
    CHECK(set >= 0);
    CHECK_ERRNO(semget(key, 3, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
    CHECK_EQUAL(semget(key, 0, 0), set);
    CHECK_EQUAL(semget(key, 3, IPC_CREAT), set);
    CHECK_ERRNO(semget(key, 4, 0), EINVAL);
    struct semid_ds new = stat_of(set);
    CHECK_EQUAL(new.sem_perm.__key, key);
    CHECK_EQUAL(new.sem_perm.mode, 0620);
    CHECK_EQUAL(new.sem_perm.cuid, geteuid());
    CHECK_EQUAL(new.sem_nsems, 3);
    CHECK_EQUAL(new.sem_otime, 0);
    CHECK(new.sem_ctime >= time(NULL) - 60 && new.sem_ctime <= time(NULL) + 1);
    CHECK_EQUAL(number(set, 2, GETVAL), 0);
    CHECK_EQUAL(number(set, 2, GETPID), 0);
    put(set, 1, 5);
    CHECK_EQUAL(number(set, 1, GETVAL), 5);
    CHECK_EQUAL(number(set, 1, GETPID), getpid());
    CHECK_ERRNO(semctl(set, 3, GETVAL), EINVAL);
    CHECK_ERRNO(semctl(set, -1, GETVAL), EINVAL);
    CHECK_ERRNO(semctl(set, 0, SETVAL, (union semun){.val = 32768}), ERANGE);
    CHECK_ERRNO(semctl(set, 0, SETVAL, (union semun){.val = -1}), ERANGE);
    CHECK_ERRNO(semctl(set, 3, SETVAL, (union semun){.val = 1}), EINVAL);
    unsigned short values[3] = {7, 8, 32767}, found[3];
    CHECK_EQUAL(semctl(set, 0, SETALL, (union semun){.pointer = values}), 0);
    CHECK_EQUAL(semctl(set, 99, GETALL, (union semun){.pointer = found}), 0);
    CHECK(memcmp(values, found, sizeof values) == 0);
    values[0] = 32768;
    CHECK_ERRNO(semctl(set, 0, SETALL, (union semun){.pointer = values}), ERANGE);
    CHECK_EQUAL(number(set, 0, GETVAL), 7);
    CHECK_ERRNO(semctl(set, 0, SETALL, (union semun){.pointer = (void *)8}), EFAULT);
    CHECK_ERRNO(semctl(set, 0, GETALL, (union semun){.pointer = (void *)8}), EFAULT);
    CHECK_ERRNO(semctl(set, 0, IPC_STAT, (union semun){.pointer = (void *)8}), EFAULT);
    CHECK_ERRNO(semctl(set, 0, 99, (union semun){.val = 0}), EINVAL);
    CHECK_ERRNO(semctl(-1, 0, GETVAL), EINVAL);
    new.sem_perm.mode = 0600;
    CHECK_EQUAL(semctl(set, 0, IPC_SET, (union semun){.pointer = &new}), 0);
    CHECK_EQUAL(stat_of(set).sem_perm.mode, 0600);
    struct seminfo info;
    int last = semctl(0, 0, SEM_INFO, (union semun){.pointer = &info});
    CHECK(last >= 0 && info.semusz >= 1 && info.semaem >= 3);
    int seen = 0;
    for (int index = 0; index <= last; index++) {
        struct semid_ds entry;
        seen += semctl(index, 0, SEM_STAT, (union semun){.pointer = &entry}) == set && entry.sem_nsems == 3;
    }
    CHECK_EQUAL(seen, 1);
    CHECK(semctl(0, 0, IPC_INFO, (union semun){.pointer = &info}) >= 0);
    CHECK_EQUAL(info.semmni, 32000);
    CHECK_EQUAL(info.semmsl, 32000);
    CHECK_EQUAL(info.semmns, 1024000000);
    CHECK_EQUAL(info.semopm, 500);
    CHECK_EQUAL(info.semvmx, 32767);
    CHECK_EQUAL(info.semaem, 32767);
    CHECK_EQUAL(info.semume, 500);
    CHECK_EQUAL(info.semusz, 20);
    CHECK_EQUAL(info.semmap, 1024000000);
    CHECK_EQUAL(info.semmnu, 1024000000);
    done(set);
    CHECK_ERRNO(semctl(set, 0, GETVAL), EINVAL);
    CHECK_ERRNO(change(set, 0, 1, 0), EINVAL);
}

void operations(void) {
    int set = make(3);
    CHECK_EQUAL(change(set, 0, 3, 0), 0);
    CHECK(stat_of(set).sem_otime >= time(NULL) - 60);
    CHECK_EQUAL(change(set, 0, -2, 0), 0);
    CHECK_EQUAL(number(set, 0, GETVAL), 1);
    CHECK_ERRNO(change(set, 0, -2, IPC_NOWAIT), EAGAIN);
    CHECK_ERRNO(change(set, 0, 0, IPC_NOWAIT), EAGAIN);
    CHECK_EQUAL(change(set, 1, 0, IPC_NOWAIT), 0);
    CHECK_ERRNO(change(set, 0, 32767, 0), ERANGE);
    CHECK_ERRNO(change(set, 3, 1, 0), EFBIG);
    // All or nothing, and each sees what those before have done.
    struct sembuf list[] = {{0, -1, 0}, {1, 2, 0}, {2, -1, IPC_NOWAIT}};
    CHECK_ERRNO(semop(set, list, 3), EAGAIN);
    CHECK_EQUAL(number(set, 0, GETVAL), 1);
    CHECK_EQUAL(number(set, 1, GETVAL), 0);
    struct sembuf chain[] = {{0, -1, 0}, {0, 0, 0}, {2, 2, 0}, {2, -1, 0}, {1, 7, 0}};
    CHECK_EQUAL(semop(set, chain, 5), 0);
    CHECK_EQUAL(number(set, 0, GETVAL), 0);
    CHECK_EQUAL(number(set, 1, GETVAL), 7);
    CHECK_EQUAL(number(set, 2, GETVAL), 1);
    CHECK_ERRNO(semop(set, list, 0), EINVAL);
    CHECK_ERRNO(semop(-1, list, 1), EINVAL);
    CHECK_ERRNO(semop(set, NULL, 1), EFAULT);
    static struct sembuf many[501];
    CHECK_ERRNO(semop(set, many, 501), E2BIG);
    CHECK_EQUAL(semop(set, many, 500), 0);
    struct timespec bad = {0, -1}, soon = {0, 20000000}, none = {0, 0};
    struct sembuf waits = {0, -1, 0};
    CHECK_ERRNO(semtimedop(set, &waits, 1, &bad), EINVAL);
    CHECK_ERRNO(semtimedop(set, &waits, 1, &soon), EAGAIN);
    CHECK_ERRNO(semtimedop(set, &waits, 1, &none), EAGAIN);
    CHECK_ERRNO(syscall(SYS_semtimedop, set, &waits, 1, 8), EFAULT);
    waits.sem_op = 1;
    CHECK_EQUAL(semtimedop(set, &waits, 1, &none), 0);
    done(set);
}

static int waiting_set;

static void takes(void) { CHECK_EQUAL(change(waiting_set, 0, -3, 0), 0); }

static void waits_for_zero(void) {
    struct sembuf list[] = {{0, 0, 0}, {1, 1, 0}};
    CHECK_EQUAL(semop(waiting_set, list, 2), 0);
}

static void loses_it(void) { CHECK_ERRNO(change(waiting_set, 1, -100, 0), EIDRM); }

static void is_interrupted(void) {
    catch_signal(SIGUSR1, SA_RESTART);
    CHECK_ERRNO(change(waiting_set, 1, -100, 0), EINTR);
    CHECK_EQUAL(caught, 1);
}

static void until(int semaphore, int command, int count) {
    while (number(waiting_set, semaphore, command) != count) {
        pause_a_moment();
    }
}

void waiting_for_semaphores(void) {
    waiting_set = make(2);
    pid_t first = in_child(takes, 0), second = in_child(takes, 0);
    until(0, GETNCNT, 2);
    CHECK_EQUAL(number(waiting_set, 0, GETZCNT), 0);
    CHECK_EQUAL(change(waiting_set, 0, 2, 0), 0);
    CHECK_EQUAL(number(waiting_set, 0, GETVAL), 2);
    CHECK_EQUAL(change(waiting_set, 0, 2, 0), 0);
    until(0, GETNCNT, 1);
    CHECK_EQUAL(number(waiting_set, 0, GETVAL), 1);
    pid_t zero = in_child(waits_for_zero, 0);
    until(0, GETZCNT, 1);
    put(waiting_set, 0, 3);
    expect_end(first);
    expect_end(second);
    expect_end(zero);
    CHECK_EQUAL(number(waiting_set, 0, GETVAL), 0);
    CHECK_EQUAL(number(waiting_set, 1, GETVAL), 1);
    CHECK_EQUAL(number(waiting_set, 1, GETPID), zero);
    pid_t interrupted = in_child(is_interrupted, 0);
    until(1, GETNCNT, 1);
    until_asleep(interrupted);
    kill(interrupted, SIGUSR1);
    expect_end(interrupted);
    until(1, GETNCNT, 0);
    pid_t killed = in_child(takes, 0);
    until(0, GETNCNT, 1);
    kill(killed, SIGKILL);
    int status = 0;
    CHECK_EQUAL(waitpid(killed, &status, 0), killed);
    CHECK_EQUAL(number(waiting_set, 0, GETNCNT), 0);
    first = in_child(loses_it, 0);
    second = in_child(loses_it, 0);
    until(1, GETNCNT, 2);
    done(waiting_set);
    expect_end(first);
    expect_end(second);
}

static int undo_set;

static void leaves(void) {
    CHECK_EQUAL(change(undo_set, 0, -2, SEM_UNDO), 0);
    CHECK_EQUAL(change(undo_set, 1, 4, SEM_UNDO), 0);
    CHECK_EQUAL(change(undo_set, 1, 4, 0), 0);
    CHECK_EQUAL(change(undo_set, 2, 3, SEM_UNDO), 0);
    put(undo_set, 2, 9);
}

static void leaves_by_another_program(void) {
    CHECK_EQUAL(change(undo_set, 0, -1, SEM_UNDO), 0);
    execl("/bin/true", "true", NULL);
    _exit(1);
}

static void has_a_child(void) {
    CHECK_EQUAL(change(undo_set, 0, -1, SEM_UNDO), 0);
    pid_t child = fork();
    if (child == 0) {
        // It has nothing to undo.
        _exit(0);
    }
    expect_end(child);
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 4);
}

static void *takes_in_a_thread(void *argument) {
    (void)argument;
    CHECK_EQUAL(change(undo_set, 0, -3, SEM_UNDO), 0);
    return NULL;
}

static void has_threads(void) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, takes_in_a_thread, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    // The end of the thread is not that of the process.
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 2);
}

static void shares_its_list(void) {
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_SYSVSEM | SIGCHLD, NULL, NULL, NULL, 0);
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQUAL(change(undo_set, 0, -2, SEM_UNDO), 0);
        _exit(0);
    }
    expect_end(child);
    // The last one takes all back.
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 3);
}

static void too_much(void) {
    CHECK_EQUAL(change(undo_set, 2, 32000, SEM_UNDO), 0);
    CHECK_EQUAL(change(undo_set, 2, -32000, 0), 0);
    CHECK_ERRNO(change(undo_set, 2, 769, SEM_UNDO), ERANGE);
    CHECK_EQUAL(change(undo_set, 2, 768, SEM_UNDO), 0);
}

static void is_killed_later(void) {
    CHECK_EQUAL(change(undo_set, 0, -5, SEM_UNDO), 0);
    CHECK_EQUAL(change(undo_set, 1, 1, 0), 0);
    for (;;) {
        pause();
    }
}

static void waits_and_has_it(void) { CHECK_EQUAL(change(undo_set, 0, -5, SEM_UNDO), 0); }

void undoing(void) {
    undo_set = make(3);
    put(undo_set, 0, 5);
    put(undo_set, 2, 5);
    pid_t child = in_child(leaves, 0);
    expect_end(child);
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 5);
    CHECK_EQUAL(number(undo_set, 0, GETPID), child);
    CHECK_EQUAL(number(undo_set, 1, GETVAL), 4);
    CHECK_EQUAL(number(undo_set, 2, GETVAL), 9);
    expect_end(in_child(leaves_by_another_program, 0));
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 5);
    expect_end(in_child(has_a_child, 0));
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 5);
    expect_end(in_child(has_threads, 0));
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 5);
    expect_end(in_child(shares_its_list, 0));
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 5);
    put(undo_set, 2, 0);
    expect_end(in_child(too_much, 0));
    CHECK_EQUAL(number(undo_set, 2, GETVAL), 0);
    put(undo_set, 1, 0);
    // What a killed process has had another one gets.
    pid_t killed = in_child(is_killed_later, 0);
    while (number(undo_set, 1, GETVAL) == 0) {
        pause_a_moment();
    }
    pid_t next = in_child(waits_and_has_it, 0);
    while (number(undo_set, 0, GETNCNT) == 0) {
        pause_a_moment();
    }
    kill(killed, SIGKILL);
    int status = 0;
    CHECK_EQUAL(waitpid(killed, &status, 0), killed);
    expect_end(next);
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 5);
    done(undo_set);
}

static void may_wait(void) {
    CHECK_EQUAL(number(undo_set, 0, GETVAL), 0);
    CHECK_EQUAL(change(undo_set, 0, 0, 0), 0);
    CHECK_ERRNO(change(undo_set, 0, 1, 0), EACCES);
    CHECK_ERRNO(semctl(undo_set, 0, SETVAL, (union semun){.val = 1}), EACCES);
    CHECK_ERRNO(semctl(undo_set, 0, IPC_RMID), EPERM);
    CHECK_ERRNO(semget(key, 1, 0600), EACCES);
    CHECK_EQUAL(semget(key, 1, 0400), undo_set);
}

static void may_nothing(void) {
    CHECK_ERRNO(change(undo_set, 0, 0, 0), EACCES);
    CHECK_ERRNO(semctl(undo_set, 0, GETVAL), EACCES);
}

void semaphores_of_others(void) {
    if (geteuid() != 0) {
        return;
    }
    undo_set = semget(key, 1, IPC_CREAT | 0604);
    CHECK(undo_set >= 0);
    expect_end(in_child(may_wait, 1234));
    struct semid_ds found = stat_of(undo_set);
    found.sem_perm.mode = 0600;
    CHECK_EQUAL(semctl(undo_set, 0, IPC_SET, (union semun){.pointer = &found}), 0);
    expect_end(in_child(may_nothing, 1234));
    done(undo_set);
}

// Many threads take turns, so that every wake-up counts.
enum { THREADS = 6, TURNS = 150 };

static int turns_set;
static int inside;

static void *takes_turns(void *argument) {
    (void)argument;
    for (int i = 0; i < TURNS; i++) {
        struct sembuf enter[] = {{0, -1, SEM_UNDO}, {1, 1, 0}}, leave[] = {{1, -1, 0}, {0, 1, SEM_UNDO}};
        CHECK_EQUAL(semop(turns_set, enter, 2), 0);
        CHECK_EQUAL(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED), 1);
        if (i % 16 == 0) {
            sched_yield();
        }
        CHECK_EQUAL(__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED), 0);
        CHECK_EQUAL(semop(turns_set, leave, 2), 0);
    }
    return NULL;
}

void turns(void) {
    turns_set = make(2);
    put(turns_set, 0, 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, takes_turns, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQUAL(number(turns_set, 0, GETVAL), 1);
    CHECK_EQUAL(number(turns_set, 1, GETVAL), 0);
    done(turns_set);
}
