// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls that take long let another thread of the same CPU have its turns. How often it is interrupted for a
// while tells the turns.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../common/check.h"

enum {
    BYTES = 768 << 20,
    // One may be at the end of the call, where every thread gives way.
    TURNS = 3,
    PAUSE_NS = 1000000,
};

static _Atomic long turns;
static atomic_bool stop;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void *other(void *argument) {
    for (int64_t last = now_ns(); !stop;) {
        int64_t now = now_ns();
        if (now - last > PAUSE_NS) {
            turns++;
        }
        last = now;
    }
    return argument;
}

static long before;

static void begin(void) { before = turns; }

static void end(const char *name) {
    long during = turns - before;
    if (during < TURNS) {
        printf("%s: the other thread had %ld turns\n", name, during);
    } else {
        printf("%s: ok\n", name);
    }
    fflush(stdout);
}

int main(void) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, other, NULL), 0);
    while (turns == 0) {
    }

    int file = memfd_create("long", 0);
    CHECK(file >= 0);
    begin();
    CHECK_EQUAL(fallocate(file, 0, 0, BYTES), 0);
    end("fallocate");
    CHECK_EQUAL(ftruncate(file, 0), 0);

    begin();
    char *filled =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    CHECK(filled != MAP_FAILED);
    end("populate");

    int zero = open("/dev/zero", O_RDONLY);
    CHECK(zero >= 0);
    begin();
    CHECK_EQUAL(read(zero, filled, BYTES), BYTES);
    end("read");
    close(zero);

    begin();
    CHECK_EQUAL(write(file, filled, BYTES), BYTES);
    end("write");
    close(file);

    stop = true;
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    return 0;
}
