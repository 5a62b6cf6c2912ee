// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads that wait: their order, signals that interrupt them, polling.
#define _GNU_SOURCE
#include "queues.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

// Those who wait are served in their order, whoever comes later.
void waiting(void) {
    mqd_t queue = make(O_RDWR, 1, 16);
    struct task tasks[3] = {0};
    for (int i = 0; i < 3; i++) {
        start(&tasks[i], queue, receiver);
    }
    put(queue, "first", 1);
    put(queue, "second", 9);
    CHECK_EQUAL(pthread_join(tasks[0].thread, NULL), 0);
    CHECK_EQUAL(pthread_join(tasks[1].thread, NULL), 0);
    put(queue, "third", 0);
    CHECK_EQUAL(pthread_join(tasks[2].thread, NULL), 0);
    CHECK(strcmp(tasks[0].text, "first") == 0 && tasks[0].priority == 1);
    CHECK(strcmp(tasks[1].text, "second") == 0 && tasks[1].priority == 9);
    CHECK(strcmp(tasks[2].text, "third") == 0 && tasks[2].priority == 0);

    put(queue, "full", 5);
    for (int i = 0; i < 3; i++) {
        snprintf(tasks[i].text, sizeof tasks[i].text, "sender %d", i);
        tasks[i].priority = (unsigned)i;
        start(&tasks[i], queue, sender);
    }
    struct mq_attr now;
    CHECK_EQUAL(mq_getattr(queue, &now), 0);
    CHECK_EQUAL(now.mq_curmsgs, 1);
    expect(queue, "full", 5);
    for (int i = 0; i < 3; i++) {
        expect(queue, tasks[i].text, (unsigned)i);
        CHECK_EQUAL(pthread_join(tasks[i].thread, NULL), 0);
        CHECK_EQUAL(tasks[i].result, 0);
    }
    done(queue);
}

void interrupted(void) {
    mqd_t queue = make(O_RDWR, 1, 16);
    struct task task = {0};
    catch_signal(SIGUSR1, 0);
    start(&task, queue, receiver);
    pthread_kill(task.thread, SIGUSR1);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    CHECK_EQUAL(task.result, -1);
    CHECK_EQUAL(task.error, EINTR);
    CHECK_EQUAL(caught, 1);
    // It waits no more: the message is for the next.
    put(queue, "here", 0);
    expect(queue, "here", 0);

    catch_signal(SIGUSR1, SA_RESTART);
    start(&task, queue, receiver);
    pthread_kill(task.thread, SIGUSR1);
    while (!caught) {
        pause_a_moment();
    }
    until_asleep(task.id);
    put(queue, "again", 0);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    CHECK_EQUAL(task.result, 5);

    put(queue, "full", 0);
    catch_signal(SIGUSR1, 0);
    strcpy(task.text, "more");
    start(&task, queue, sender);
    pthread_kill(task.thread, SIGUSR1);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    CHECK_EQUAL(task.result, -1);
    CHECK_EQUAL(task.error, EINTR);
    expect(queue, "full", 0);
    struct mq_attr now;
    CHECK_EQUAL(mq_getattr(queue, &now), 0);
    CHECK_EQUAL(now.mq_curmsgs, 0);
    done(queue);
}

static int ready(int fd) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLOUT};
    CHECK(poll(&poll_fd, 1, 0) >= 0);
    return poll_fd.revents;
}

void polling(void) {
    mqd_t queue = make(O_RDWR, 2, 16);
    CHECK_EQUAL(ready(queue), POLLOUT);
    put(queue, "a", 0);
    CHECK_EQUAL(ready(queue), POLLIN | POLLOUT);
    put(queue, "b", 0);
    CHECK_EQUAL(ready(queue), POLLIN);
    expect(queue, "a", 0);
    expect(queue, "b", 0);
    int waiter = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = queue};
    CHECK_EQUAL(epoll_ctl(waiter, EPOLL_CTL_ADD, queue, &event), 0);
    CHECK_EQUAL(epoll_wait(waiter, &event, 1, 0), 0);
    put(queue, "c", 0);
    CHECK_EQUAL(epoll_wait(waiter, &event, 1, -1), 1);
    CHECK_EQUAL(event.events, EPOLLIN);
    CHECK_EQUAL(epoll_wait(waiter, &event, 1, 0), 0);
    put(queue, "d", 0);
    CHECK_EQUAL(epoll_wait(waiter, &event, 1, -1), 1);
    // Poll in a thread's place: a message wakes it.
    expect(queue, "c", 0);
    expect(queue, "d", 0);
    struct task task = {.text = "e"};
    CHECK_EQUAL(epoll_wait(waiter, &event, 1, 0), 0);
    task.queue = queue;
    CHECK_EQUAL(pthread_create(&task.thread, NULL, sender, &task), 0);
    struct pollfd poll_fd = {.fd = queue, .events = POLLIN};
    CHECK_EQUAL(poll(&poll_fd, 1, -1), 1);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    close(waiter);
    done(queue);
}
