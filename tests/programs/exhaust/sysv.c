// SPDX-License-Identifier: Apache-2.0 OR MIT
// System V objects until there are no more.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define MOST 4097
// All of them are filled.
#define MOST_QUEUES 40

static int ids[MOST];

static const int REFUSALS[] = {ENOMEM, ENOSPC, 0};

size_t use_up_segments(void) {
    size_t count = 0;
    while (count < MOST && (ids[count] = shmget(IPC_PRIVATE, 8192, 0600)) >= 0) {
        count++;
    }
    expect_refusal("shmget", REFUSALS);
    // Mappings of one, which the kernel counts.
    size_t mapped = 0;
    static void *places[MOST];
    while (count > 0 && mapped < MOST && (places[mapped] = shmat(ids[0], NULL, 0)) != (void *)-1) {
        mapped++;
    }
    if (count > 0 && mapped < MOST) {
        expect_refusal("shmat", REFUSALS);
    }
    while (mapped > 0) {
        shmdt(places[--mapped]);
    }
    for (size_t number = 0; number < count; number++) {
        shmctl(ids[number], IPC_RMID, NULL);
    }
    return count;
}

// Large sets, in each of which the end of the process has something to undo.
size_t use_up_semaphores(void) {
    size_t count = 0, undone = 0;
    while (count < MOST && (ids[count] = semget(IPC_PRIVATE, 1000, 0600)) >= 0) {
        struct sembuf one = {999, 1, SEM_UNDO};
        if (semop(ids[count], &one, 1) == 0) {
            undone++;
        } else {
            expect_refusal("semop", REFUSALS);
        }
        count++;
    }
    if (count < MOST) {
        expect_refusal("semget", REFUSALS);
    }
    for (size_t number = 0; number < count; number++) {
        semctl(ids[number], 0, IPC_RMID);
    }
    return undone;
}

// Queues that are full, first of long messages and then of messages without text.
size_t use_up_messages(void) {
    static const int FULL[] = {ENOMEM, EAGAIN, 0};
    static struct {
        long type;
        char text[8192];
    } message = {.type = 1};
    size_t count = 0, sent = 0;
    while (count < MOST_QUEUES && (ids[count] = msgget(IPC_PRIVATE, 0600)) >= 0) {
        const size_t length = count % 2 == 0 ? sizeof message.text : 0;
        while (msgsnd(ids[count], &message, length, IPC_NOWAIT) == 0) {
            sent++;
        }
        expect_refusal("msgsnd", FULL);
        count++;
    }
    if (count < MOST_QUEUES) {
        expect_refusal("msgget", REFUSALS);
    }
    for (size_t number = 0; number < count; number++) {
        msgctl(ids[number], IPC_RMID, NULL);
    }
    return sent;
}
