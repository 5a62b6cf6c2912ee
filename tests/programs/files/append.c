// SPDX-License-Identifier: Apache-2.0 OR MIT
// Appending with O_APPEND: nothing is lost or torn, whoever else appends.
//   append threads FILE         many descriptors of one file, large and small appends, O_APPEND turned on and
//   off append writer FILE NAME N   N records that begin with NAME, for several machines at once
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common/check.h"

enum { THREADS = 4, RECORDS = 500, RECORD = 16, LARGE = 1200000, LARGE_COUNT = 3 };

static const char *path;

static void make_record(char *record, char name, int number) {
    char text[RECORD + 1];
    snprintf(text, sizeof text, "%c%014d\n", name, number);
    memcpy(record, text, RECORD);
}

// Each thread has a descriptor of its own; the position must be behind the thread's own record.
static void *append_records(void *argument) {
    int index = (int)(long)argument;
    int fd = open(path, O_WRONLY | (index % 2 == 0 ? O_APPEND : 0));
    int reader = open(path, O_RDONLY);
    CHECK(fd >= 0 && reader >= 0);
    if (index % 2 != 0)
        CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0);
    for (int i = 0; i < RECORDS; i++) {
        char record[RECORD], back[RECORD];
        make_record(record, (char)('a' + index), i);
        if (i % 10 == 0) {
            struct iovec parts[2] = {{record, 5}, {record + 5, RECORD - 5}};
            CHECK(writev(fd, parts, 2) == RECORD);
        } else if (i % 10 == 1) {
            // pwrite appends, too, and leaves the position alone.
            CHECK(pwrite(fd, record, RECORD, 0) == RECORD);
            continue;
        } else {
            CHECK(write(fd, record, RECORD) == RECORD);
        }
        off_t end = lseek(fd, 0, SEEK_CUR);
        CHECK(end >= RECORD && pread(reader, back, RECORD, end - RECORD) == RECORD);
        CHECK(memcmp(back, record, RECORD) == 0);
    }
    CHECK(close(fd) == 0 && close(reader) == 0);
    return NULL;
}

static void *append_large(void *argument) {
    char name = (char)('A' + (long)argument);
    char *block = malloc(LARGE);
    CHECK(block != NULL);
    memset(block, name, LARGE);
    int fd = open(path, O_WRONLY | O_APPEND);
    CHECK(fd >= 0);
    for (int i = 0; i < LARGE_COUNT; i++)
        CHECK(write(fd, block, LARGE) == LARGE);
    CHECK(close(fd) == 0);
    free(block);
    return NULL;
}

static void run(void *(*body)(void *), int count) {
    pthread_t threads[THREADS];
    for (long i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, body, (void *)i) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static char *content(size_t *size) {
    int fd = open(path, O_RDONLY);
    off_t end = lseek(fd, 0, SEEK_END);
    CHECK(fd >= 0 && end >= 0);
    char *bytes = malloc((size_t)end + 1);
    CHECK(bytes != NULL && pread(fd, bytes, (size_t)end, 0) == end);
    CHECK(close(fd) == 0);
    *size = (size_t)end;
    return bytes;
}

static void records(void) {
    run(append_records, THREADS);
    size_t size;
    char *bytes = content(&size);
    CHECK(size == (size_t)THREADS * RECORDS * RECORD);
    int next[THREADS] = {0};
    for (size_t at = 0; at < size; at += RECORD) {
        int index = bytes[at] - 'a';
        CHECK(index >= 0 && index < THREADS);
        char expected[RECORD];
        make_record(expected, bytes[at], next[index]++);
        CHECK(memcmp(bytes + at, expected, RECORD) == 0);
    }
    free(bytes);
    puts("no record is lost");
}

static void large(void) {
    CHECK(truncate(path, 0) == 0);
    run(append_large, 2);
    size_t size;
    char *bytes = content(&size);
    CHECK(size == (size_t)2 * LARGE_COUNT * LARGE);
    for (size_t at = 0; at < size; at += LARGE)
        for (size_t i = 1; i < LARGE; i++)
            CHECK(bytes[at + i] == bytes[at]);
    free(bytes);
    puts("no append is torn");
}

// Positions, and a descriptor that changes its mind, also when the file has no name any more.
static void positions(void) {
    int fd = open(path, O_RDWR | O_TRUNC | O_APPEND);
    char back[32];
    CHECK(fd >= 0 && write(fd, "12345", 5) == 5 && lseek(fd, 0, SEEK_CUR) == 5);
    CHECK(lseek(fd, 1, SEEK_SET) == 1 && write(fd, "", 0) == 0 && lseek(fd, 0, SEEK_CUR) == 1);
    CHECK(write(fd, "67", 2) == 2 && lseek(fd, 0, SEEK_CUR) == 7);
    CHECK(fcntl(fd, F_SETFL, 0) == 0 && pwrite(fd, "x", 1, 0) == 1);
    CHECK(lseek(fd, 2, SEEK_SET) == 2 && write(fd, "y", 1) == 1 && lseek(fd, 0, SEEK_CUR) == 3);
    int plain = open(path, O_RDWR);
    CHECK(plain >= 0 && unlink(path) == 0);
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0 && write(fd, "8", 1) == 1);
    CHECK(pread(plain, back, sizeof back, 0) == 8 && memcmp(back, "x2y45678", 8) == 0);
    CHECK(close(fd) == 0 && close(plain) == 0);
    puts("positions are right");
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "writer") == 0) {
        int fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0644);
        CHECK(fd >= 0);
        for (int i = 0; i < atoi(argv[4]); i++) {
            char record[RECORD];
            make_record(record, argv[3][0], i);
            CHECK(write(fd, record, RECORD) == RECORD);
        }
        return 0;
    }
    if (argc != 3 || strcmp(argv[1], "threads") != 0)
        return 2;
    path = argv[2];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && close(fd) == 0);
    records();
    large();
    positions();
    return 0;
}
