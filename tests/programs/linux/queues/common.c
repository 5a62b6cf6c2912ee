// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the parts share.
#define _GNU_SOURCE
#include "queues.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

mqd_t make(int flags, long messages, long bytes) {
    struct mq_attr size = {.mq_maxmsg = messages, .mq_msgsize = bytes};
    mqd_t queue = mq_open(name, flags | O_CREAT | O_EXCL, 0600, &size);
    CHECK(queue >= 0);
    return queue;
}

void done(mqd_t queue) {
    CHECK_EQUAL(mq_close(queue), 0);
    CHECK_EQUAL(mq_unlink(name), 0);
}

void put(mqd_t queue, const char *text, unsigned priority) {
    CHECK_EQUAL(mq_send(queue, text, strlen(text), priority), 0);
}

void expect(mqd_t queue, const char *text, unsigned priority) {
    char data[8192];
    unsigned found = 12345;
    long length = mq_receive(queue, data, sizeof data, &found);
    CHECK_EQUAL(length, strlen(text));
    CHECK_EQUAL(found, priority);
    CHECK(memcmp(data, text, strlen(text)) == 0);
}

struct timespec after(long ns) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += ns;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

void pause_a_moment(void) {
    struct timespec time = {0, SOME_NS};
    nanosleep(&time, NULL);
}

void until_asleep(pid_t thread) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    for (;;) {
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        CHECK(fgets(line, sizeof line, file) != NULL);
        fclose(file);
        if (strstr(line, ") S") != NULL) {
            return;
        }
        pause_a_moment();
    }
}

void *receiver(void *argument) {
    struct task *task = argument;
    task->id = (pid_t)syscall(SYS_gettid);
    task->result = mq_receive(task->queue, task->text, sizeof task->text, &task->priority);
    task->error = errno;
    return NULL;
}

void *sender(void *argument) {
    struct task *task = argument;
    task->id = (pid_t)syscall(SYS_gettid);
    task->result = mq_send(task->queue, task->text, strlen(task->text), task->priority);
    task->error = errno;
    return NULL;
}

void start(struct task *task, mqd_t queue, void *(*body)(void *)) {
    task->queue = queue;
    task->id = 0;
    CHECK_EQUAL(pthread_create(&task->thread, NULL, body, task), 0);
    while (task->id == 0) {
        pause_a_moment();
    }
    until_asleep(task->id);
}

volatile int caught;
volatile int caught_code;
void *volatile caught_value;
volatile pid_t caught_pid;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    caught_code = info->si_code;
    caught_value = info->si_value.sival_ptr;
    caught_pid = info->si_pid;
    caught++;
}

void catch_signal(int number, int flags) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
    caught = 0;
}
