// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What /proc says about the objects.
#define _GNU_SOURCE
#include "sysv.h"

#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

// Prints a table's title, and what its line with an id says of numbers that are the same everywhere.
static void show(const char *path, int id, const char *fields) {
    char line[512];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(line, sizeof line, file) != NULL);
    fputs(line, stdout);
    int found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        long values[20];
        int count = 0, length = 0;
        for (char *at = line; count < 20 && sscanf(at, "%ld%n", &values[count], &length) == 1; at += length) {
            count++;
        }
        if (values[1] != id) {
            continue;
        }
        found++;
        CHECK_EQUAL(values[0], key);
        CHECK_EQUAL((int)strlen(fields), count);
        printf("fields:");
        for (int i = 0; i < count; i++) {
            if (fields[i] == 'x') {
                printf(" %ld", values[i]);
            }
        }
        printf("\n");
    }
    fclose(file);
    CHECK_EQUAL(found, 1);
}

static void show_limit(const char *name) {
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(text, sizeof text, file) != NULL);
    fclose(file);
    printf("%s %s", name, text);
}

void listings(void) {
    int segment = shmget(key, 5000, IPC_CREAT | 0640);
    int set = semget(key, 3, IPC_CREAT | 0604);
    int queue = msgget(key, IPC_CREAT | 0600);
    CHECK(segment >= 0 && set >= 0 && queue >= 0);
    struct {
        long type;
        char text[5];
    } message = {1, "text"};
    CHECK_EQUAL(msgsnd(queue, &message, 4, 0), 0);
    char *at = shmat(segment, NULL, 0);
    CHECK(at != (char *)-1);
    at[0] = 1;
    CHECK_EQUAL(shmctl(segment, IPC_RMID, NULL), 0);
    CHECK_EQUAL(shmdt(at), 0);
    segment = shmget(key, 5000, IPC_CREAT | 0640);
    // Key, id, mode, size, last two users, mappings, owners, times, resident and swapped bytes.
    show("/proc/sysvipc/shm", segment, "--xx--x-------xx");
    show("/proc/sysvipc/sem", set, "--xx------");
    show("/proc/sysvipc/msg", queue, "--xxx---------");
    CHECK_EQUAL(shmctl(segment, IPC_RMID, NULL), 0);
    CHECK_EQUAL(semctl(set, 0, IPC_RMID), 0);
    CHECK_EQUAL(msgctl(queue, IPC_RMID, NULL), 0);
    static const char *const limits[] = {"shmmax", "shmall", "shmmni", "sem", "msgmax", "msgmnb", "msgmni"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        show_limit(limits[i]);
    }
}
