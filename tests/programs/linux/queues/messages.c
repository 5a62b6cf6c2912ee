// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Messages, priorities, time-outs, and many threads on one queue.
#define _GNU_SOURCE
#include "queues.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>

void messages(void) {
    mqd_t queue = make(O_RDWR | O_NONBLOCK, 6, 16);
    char data[16];
    CHECK_ERRNO(mq_receive(queue, data, 16, NULL), EAGAIN);
    put(queue, "low 1", 0);
    put(queue, "high 1", 32767);
    put(queue, "low 2", 0);
    put(queue, "middle", 8);
    put(queue, "high 2", 32767);
    put(queue, "", 8);
    CHECK_ERRNO(mq_send(queue, "x", 1, 0), EAGAIN);
    CHECK_ERRNO(mq_send(queue, "x", 1, 32768), EINVAL);
    CHECK_ERRNO(mq_send(queue, "x", 17, 0), EMSGSIZE);
    CHECK_ERRNO(mq_receive(queue, data, 15, NULL), EMSGSIZE);
    CHECK_ERRNO(mq_send(queue, (char *)8, 1, 0), EFAULT);
    expect(queue, "high 1", 32767);
    expect(queue, "high 2", 32767);
    expect(queue, "middle", 8);
    expect(queue, "", 8);
    expect(queue, "low 1", 0);
    CHECK_EQUAL(mq_receive(queue, data, 16, NULL), 5);
    CHECK_ERRNO(mq_receive(queue, data, 16, NULL), EAGAIN);
    mqd_t reader = mq_open(name, O_RDONLY), writer = mq_open(name, O_WRONLY);
    CHECK(reader >= 0 && writer >= 0);
    CHECK_ERRNO(mq_send(reader, "x", 1, 0), EBADF);
    CHECK_ERRNO(mq_receive(writer, data, 16, NULL), EBADF);
    CHECK_ERRNO(mq_send(1, "x", 1, 0), EBADF);
    CHECK_ERRNO(mq_send(9999, "x", 1, 0), EBADF);
    CHECK_EQUAL(mq_close(reader), 0);
    CHECK_EQUAL(mq_close(writer), 0);
    done(queue);
}

void times(void) {
    mqd_t queue = make(O_RDWR, 1, 16);
    char data[16];
    struct timespec past = {1, 0}, soon = after(SOME_NS), bad = {1, 1000000000}, negative = {-1, 0};
    CHECK_ERRNO(mq_timedreceive(queue, data, 16, NULL, &past), ETIMEDOUT);
    CHECK_ERRNO(mq_timedreceive(queue, data, 16, NULL, &soon), ETIMEDOUT);
    CHECK_ERRNO(mq_timedreceive(queue, data, 16, NULL, &bad), EINVAL);
    CHECK_ERRNO(mq_timedsend(queue, "x", 1, 0, &negative), EINVAL);
    CHECK_ERRNO(syscall(SYS_mq_timedsend, queue, "x", 1, 0, (void *)8), EFAULT);
    CHECK_EQUAL(mq_timedsend(queue, "x", 1, 0, &past), 0);
    CHECK_ERRNO(mq_timedsend(queue, "y", 1, 0, &past), ETIMEDOUT);
    soon = after(SOME_NS);
    CHECK_ERRNO(mq_timedsend(queue, "y", 1, 0, &soon), ETIMEDOUT);
    struct timespec now = after(0);
    CHECK(now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
    CHECK_EQUAL(mq_timedreceive(queue, data, 16, NULL, &past), 1);
    CHECK_ERRNO(mq_timedreceive(-1, data, 16, NULL, &past), EBADF);
    done(queue);
}

// Many threads on one queue: every message arrives once.
enum { WORKERS = 4, EACH = 200 };

static mqd_t busy;
static unsigned char seen[WORKERS * EACH];

static void *produce(void *argument) {
    for (int i = 0; i < EACH; i++) {
        int number = (int)(intptr_t)argument * EACH + i;
        CHECK_EQUAL(mq_send(busy, (char *)&number, sizeof number, (unsigned)i % 3), 0);
    }
    return NULL;
}

static void *consume(void *argument) {
    (void)argument;
    for (int i = 0; i < EACH; i++) {
        int number = -1;
        CHECK_EQUAL(mq_receive(busy, (char *)&number, sizeof number, NULL), (long)sizeof number);
        CHECK(number >= 0 && number < WORKERS * EACH);
        __atomic_fetch_add(&seen[number], 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

void traffic(void) {
    busy = make(O_RDWR, 3, sizeof(int));
    pthread_t threads[2 * WORKERS];
    for (intptr_t i = 0; i < WORKERS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, produce, (void *)i), 0);
        CHECK_EQUAL(pthread_create(&threads[WORKERS + i], NULL, consume, NULL), 0);
    }
    for (int i = 0; i < 2 * WORKERS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < WORKERS * EACH; i++) {
        CHECK_EQUAL(seen[i], 1);
    }
    done(busy);
}
