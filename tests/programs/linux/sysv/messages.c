// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Queues of messages with types.
#define _GNU_SOURCE
#include "sysv.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <time.h>

// Not every C library has it.
#ifndef MSG_COPY
#define MSG_COPY 040000
#endif

enum { MOST = 8192, MOST_OF_QUEUE = 16384 };

struct message {
    long type;
    char text[MOST + 1];
};

static int make(void) {
    int queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
    return queue;
}

static void done(int queue) { CHECK_EQUAL(msgctl(queue, IPC_RMID, NULL), 0); }

static struct msqid_ds stat_of(int queue) {
    struct msqid_ds found;
    memset(&found, 0xa5, sizeof found);
    CHECK_EQUAL(msgctl(queue, IPC_STAT, &found), 0);
    return found;
}

static int try_put(int queue, long type, const char *text, int flags) {
    struct message message = {.type = type};
    strcpy(message.text, text);
    return msgsnd(queue, &message, strlen(text), flags);
}

static void put(int queue, long type, const char *text) { CHECK_EQUAL(try_put(queue, type, text, 0), 0); }

static void expect(int queue, long wanted, int flags, long type, const char *text) {
    struct message message = {0};
    CHECK_EQUAL(msgrcv(queue, &message, MOST, wanted, flags), strlen(text));
    CHECK_EQUAL(message.type, type);
    CHECK(memcmp(message.text, text, strlen(text)) == 0);
}

void message_queues(void) {
    CHECK_ERRNO(msgget(key, 0600), ENOENT);
    int queue = msgget(key, IPC_CREAT | IPC_EXCL | 0640);
    CHECK(queue >= 0);
    CHECK_ERRNO(msgget(key, IPC_CREAT | IPC_EXCL), EEXIST);
    CHECK_EQUAL(msgget(key, 0), queue);
    struct msqid_ds new = stat_of(queue);
    CHECK_EQUAL(new.msg_perm.__key, key);
    CHECK_EQUAL(new.msg_perm.mode, 0640);
    CHECK_EQUAL(new.msg_qbytes, MOST_OF_QUEUE);
    CHECK(new.msg_stime == 0 && new.msg_rtime == 0 && new.msg_qnum == 0 && new.__msg_cbytes == 0);
    CHECK(new.msg_lspid == 0 && new.msg_lrpid == 0);
    put(queue, 3, "three");
    put(queue, 3, "");
    struct msqid_ds full = stat_of(queue);
    CHECK(full.msg_stime >= new.msg_ctime &&full.msg_rtime == 0);
    CHECK_EQUAL(full.msg_qnum, 2);
    CHECK_EQUAL(full.__msg_cbytes, 5);
    CHECK_EQUAL(full.msg_lspid, getpid());
    expect(queue, 0, 0, 3, "three");
    CHECK_EQUAL(stat_of(queue).msg_lrpid, getpid());
    struct message message = {.type = 1};
    CHECK_ERRNO(msgsnd(queue, &message, MOST + 1, 0), EINVAL);
    CHECK_ERRNO(msgsnd(queue, &message, SIZE_MAX, 0), EINVAL);
    CHECK_ERRNO(msgsnd(-1, &message, 1, 0), EINVAL);
    message.type = 0;
    CHECK_ERRNO(msgsnd(queue, &message, 1, 0), EINVAL);
    CHECK_ERRNO(msgsnd(queue, (void *)8, 1, 0), EFAULT);
    CHECK_ERRNO(msgrcv(queue, &message, SIZE_MAX, 0, 0), EINVAL);
    CHECK_ERRNO(msgrcv(-1, &message, 1, 0, 0), EINVAL);
    CHECK_ERRNO(msgctl(queue, 99, &new), EINVAL);
    CHECK_ERRNO(syscall(SYS_msgctl, queue, IPC_STAT, 8), EFAULT);
    struct msginfo info;
    int last = msgctl(0, MSG_INFO, (struct msqid_ds *)&info);
    CHECK(last >= 0 && info.msgpool >= 1 && info.msgmap >= 1);
    int seen = 0;
    for (int index = 0; index <= last; index++) {
        seen += msgctl(index, MSG_STAT, &new) == queue && new.msg_qnum == 1;
    }
    CHECK_EQUAL(seen, 1);
    CHECK(msgctl(0, IPC_INFO, (struct msqid_ds *)&info) >= 0);
    CHECK_EQUAL(info.msgmax, MOST);
    CHECK_EQUAL(info.msgmnb, MOST_OF_QUEUE);
    CHECK_EQUAL(info.msgmni, 32000);
    CHECK_EQUAL(info.msgpool, 512000);
    CHECK_EQUAL(info.msgmap, 16384);
    CHECK_EQUAL(info.msgssz, 16);
    CHECK_EQUAL(info.msgtql, 16384);
    CHECK_EQUAL(info.msgseg, 65535);
    done(queue);
    CHECK_ERRNO(msgctl(queue, IPC_RMID, NULL), EINVAL);
    CHECK_ERRNO(try_put(queue, 1, "x", 0), EINVAL);
}

void types(void) {
    int queue = make();
    struct message message;
    CHECK_ERRNO(msgrcv(queue, &message, MOST, 0, IPC_NOWAIT), ENOMSG);
    put(queue, 5, "a");
    put(queue, 3, "b");
    put(queue, 5, "c");
    put(queue, 2, "d");
    put(queue, 3, "e");
    put(queue, LONG_MAX, "f");
    CHECK_ERRNO(msgrcv(queue, &message, MOST, 4, IPC_NOWAIT), ENOMSG);
    CHECK_ERRNO(msgrcv(queue, &message, MOST, -1, IPC_NOWAIT), ENOMSG);
    // A copy of what is at a place.
    expect(queue, 2, MSG_COPY | IPC_NOWAIT, 5, "c");
    CHECK_ERRNO(msgrcv(queue, &message, MOST, 6, MSG_COPY | IPC_NOWAIT), ENOMSG);
    CHECK_ERRNO(msgrcv(queue, &message, MOST, 0, MSG_COPY), EINVAL);
    CHECK_ERRNO(msgrcv(queue, &message, MOST, 0, MSG_COPY | MSG_EXCEPT | IPC_NOWAIT), EINVAL);
    expect(queue, 5, 0, 5, "a");
    expect(queue, -4, 0, 2, "d");
    expect(queue, -4, 0, 3, "b");
    expect(queue, 5, MSG_EXCEPT, 3, "e");
    expect(queue, LONG_MIN, 0, 5, "c");
    CHECK_ERRNO(msgrcv(queue, &message, MOST, LONG_MAX, IPC_NOWAIT | MSG_EXCEPT), ENOMSG);
    expect(queue, LONG_MIN, 0, LONG_MAX, "f");
    // What is too long stays, or is cut.
    put(queue, 1, "too long");
    CHECK_ERRNO(msgrcv(queue, &message, 3, 0, 0), E2BIG);
    CHECK_EQUAL(msgrcv(queue, &message, 3, 0, MSG_NOERROR), 3);
    CHECK(memcmp(message.text, "too", 3) == 0);
    CHECK_EQUAL(stat_of(queue).msg_qnum, 0);
    CHECK_EQUAL(stat_of(queue).__msg_cbytes, 0);
    done(queue);
}

static int waiting_queue;

static void receives_two(void) { expect(waiting_queue, 2, 0, 2, "for two"); }

static void receives_others(void) { expect(waiting_queue, 2, MSG_EXCEPT, 7, "for others"); }

static void has_no_room(void) {
    struct message message;
    CHECK_ERRNO(msgrcv(waiting_queue, &message, 3, 2, 0), E2BIG);
}

static void loses_it(void) {
    struct message message;
    CHECK_ERRNO(msgrcv(waiting_queue, &message, MOST, 9, 0), EIDRM);
}

static void is_interrupted(void) {
    struct message message;
    catch_signal(SIGUSR1, SA_RESTART);
    CHECK_ERRNO(msgrcv(waiting_queue, &message, MOST, 9, 0), EINTR);
    CHECK_EQUAL(caught, 1);
}

static void sends_much(void) {
    static struct message message = {.type = 4};
    CHECK_EQUAL(msgsnd(waiting_queue, &message, MOST, 0), 0);
}

static void sends_in_vain(void) {
    static struct message message = {.type = 4};
    CHECK_ERRNO(msgsnd(waiting_queue, &message, MOST, 0), EIDRM);
}

static pid_t asleep(void (*run)(void)) {
    pid_t child = in_child(run, 0);
    until_asleep(child);
    return child;
}

void waiting_for_messages(void) {
    waiting_queue = make();
    pid_t two = asleep(receives_two), others = asleep(receives_others);
    put(waiting_queue, 7, "for others");
    expect_end(others);
    put(waiting_queue, 2, "for two");
    expect_end(two);
    CHECK_EQUAL(stat_of(waiting_queue).msg_lrpid, two);
    // A message passes who has no room for it, and the next one gets it.
    pid_t small = asleep(has_no_room);
    two = asleep(receives_two);
    put(waiting_queue, 2, "for two");
    expect_end(small);
    expect_end(two);
    pid_t interrupted = asleep(is_interrupted);
    kill(interrupted, SIGUSR1);
    expect_end(interrupted);
    // A full queue.
    static struct message message = {.type = 1};
    CHECK_EQUAL(msgsnd(waiting_queue, &message, MOST, 0), 0);
    CHECK_EQUAL(msgsnd(waiting_queue, &message, MOST, 0), 0);
    CHECK_ERRNO(msgsnd(waiting_queue, &message, 1, IPC_NOWAIT), EAGAIN);
    CHECK_EQUAL(msgsnd(waiting_queue, &message, 0, IPC_NOWAIT), 0);
    pid_t sender = asleep(sends_much);
    CHECK_EQUAL(msgrcv(waiting_queue, &message, MOST, 1, 0), MOST);
    expect_end(sender);
    CHECK_EQUAL(stat_of(waiting_queue).msg_lspid, sender);
    CHECK_EQUAL(stat_of(waiting_queue).msg_qnum, 3);
    // More room lets senders go on.
    struct msqid_ds found = stat_of(waiting_queue);
    found.msg_qbytes = MOST;
    CHECK_EQUAL(msgctl(waiting_queue, IPC_SET, &found), 0);
    CHECK_EQUAL(msgrcv(waiting_queue, &message, MOST, 4, 0), MOST);
    sender = asleep(sends_much);
    found.msg_qbytes = 2 * MOST;
    CHECK_EQUAL(msgctl(waiting_queue, IPC_SET, &found), 0);
    CHECK_EQUAL(stat_of(waiting_queue).msg_qbytes, 2 * MOST);
    expect_end(sender);
    pid_t first = asleep(sends_in_vain), second = asleep(loses_it);
    done(waiting_queue);
    expect_end(first);
    expect_end(second);
}

static void may_receive(void) {
    struct msqid_ds found;
    expect(waiting_queue, 0, 0, 1, "for all");
    CHECK_ERRNO(try_put(waiting_queue, 1, "x", 0), EACCES);
    CHECK_ERRNO(msgget(key, 0666), EACCES);
    CHECK_EQUAL(msgctl(waiting_queue, IPC_STAT, &found), 0);
    CHECK_ERRNO(msgctl(waiting_queue, IPC_SET, &found), EPERM);
    CHECK_ERRNO(msgctl(waiting_queue, IPC_RMID, NULL), EPERM);
}

static void owns(void) {
    struct msqid_ds found = stat_of(waiting_queue);
    found.msg_qbytes = MOST_OF_QUEUE + 1;
    CHECK_ERRNO(msgctl(waiting_queue, IPC_SET, &found), EPERM);
    found.msg_qbytes = 10;
    CHECK_EQUAL(msgctl(waiting_queue, IPC_SET, &found), 0);
    CHECK_ERRNO(try_put(waiting_queue, 1, "longer than 10", IPC_NOWAIT), EAGAIN);
    put(waiting_queue, 1, "as long 10");
    CHECK_EQUAL(msgctl(waiting_queue, IPC_RMID, NULL), 0);
}

void messages_of_others(void) {
    if (geteuid() != 0) {
        return;
    }
    waiting_queue = msgget(key, IPC_CREAT | 0604);
    CHECK(waiting_queue >= 0);
    put(waiting_queue, 1, "for all");
    expect_end(in_child(may_receive, 1234));
    struct msqid_ds found = stat_of(waiting_queue);
    found.msg_perm.uid = 1234;
    CHECK_EQUAL(msgctl(waiting_queue, IPC_SET, &found), 0);
    expect_end(in_child(owns, 1234));
    CHECK_ERRNO(msgctl(waiting_queue, IPC_STAT, &found), EINVAL);
}

// Many threads on one queue that is mostly full: every message arrives once.
enum { WORKERS = 4, EACH = 200, LONG = 2000 };

static int busy;
static unsigned char seen[WORKERS * EACH];

static void *produce(void *argument) {
    struct message *message = calloc(1, sizeof *message);
    for (int i = 0; i < EACH; i++) {
        int number = (int)(intptr_t)argument * EACH + i;
        message->type = 1 + number % 2;
        memcpy(message->text, &number, sizeof number);
        CHECK_EQUAL(msgsnd(busy, message, LONG, 0), 0);
    }
    free(message);
    return NULL;
}

static void *consume(void *argument) {
    struct message *message = calloc(1, sizeof *message);
    for (int i = 0; i < EACH; i++) {
        int number = -1;
        CHECK_EQUAL(msgrcv(busy, message, MOST, 1 + (int)(intptr_t)argument % 2, 0), LONG);
        memcpy(&number, message->text, sizeof number);
        CHECK(number >= 0 && number < WORKERS * EACH);
        __atomic_fetch_add(&seen[number], 1, __ATOMIC_RELAXED);
    }
    free(message);
    return NULL;
}

void traffic(void) {
    busy = make();
    pthread_t threads[2 * WORKERS];
    for (intptr_t i = 0; i < WORKERS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, produce, (void *)i), 0);
        CHECK_EQUAL(pthread_create(&threads[WORKERS + i], NULL, consume, (void *)i), 0);
    }
    for (int i = 0; i < 2 * WORKERS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < WORKERS * EACH; i++) {
        CHECK_EQUAL(seen[i], 1);
    }
    CHECK_EQUAL(stat_of(busy).msg_qnum, 0);
    done(busy);
}
