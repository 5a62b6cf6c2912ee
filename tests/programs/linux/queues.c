// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// POSIX message queues: names, sizes, priorities, waiting, limits, notification, polling.

#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#include "../common/check.h"

#define SOME_NS 20000000L

static char name[64];
static char other[64];

// A queue of a size, under `name`.
static mqd_t make(int flags, long messages, long bytes) {
    struct mq_attr size = {.mq_maxmsg = messages, .mq_msgsize = bytes};
    mqd_t queue = mq_open(name, flags | O_CREAT | O_EXCL, 0600, &size);
    CHECK(queue >= 0);
    return queue;
}

static void done(mqd_t queue) {
    CHECK_EQUAL(mq_close(queue), 0);
    CHECK_EQUAL(mq_unlink(name), 0);
}

static void put(mqd_t queue, const char *text, unsigned priority) {
    CHECK_EQUAL(mq_send(queue, text, strlen(text), priority), 0);
}

static void expect(mqd_t queue, const char *text, unsigned priority) {
    char data[8192];
    unsigned found = 12345;
    long length = mq_receive(queue, data, sizeof data, &found);
    CHECK_EQUAL(length, strlen(text));
    CHECK_EQUAL(found, priority);
    CHECK(memcmp(data, text, strlen(text)) == 0);
}

static struct timespec after(long ns) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += ns;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void pause_a_moment(void) {
    struct timespec time = {0, SOME_NS};
    nanosleep(&time, NULL);
}

// Waits until a thread sleeps.
static void until_asleep(pid_t thread) {
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

static void names(void) {
    CHECK_ERRNO(mq_open(name, O_RDWR), ENOENT);
    CHECK_ERRNO(mq_unlink(name), ENOENT);
    mqd_t queue = make(O_RDWR, 3, 100);
    CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL), EEXIST);
    struct mq_attr found, ignored = {.mq_maxmsg = 7, .mq_msgsize = 7};
    mqd_t second = mq_open(name, O_RDONLY | O_CREAT | O_NONBLOCK, 0600, &ignored);
    CHECK(second >= 0);
    CHECK_EQUAL(mq_getattr(second, &found), 0);
    CHECK_EQUAL(found.mq_flags, O_NONBLOCK);
    CHECK_EQUAL(found.mq_maxmsg, 3);
    CHECK_EQUAL(found.mq_msgsize, 100);
    CHECK_EQUAL(found.mq_curmsgs, 0);
    CHECK_EQUAL(mq_getattr(queue, &found), 0);
    CHECK_EQUAL(found.mq_flags, 0);
    put(queue, "kept", 1);
    CHECK_EQUAL(mq_unlink(name), 0);
    CHECK_ERRNO(mq_open(name, O_RDWR), ENOENT);
    expect(second, "kept", 1);
    mqd_t fresh = make(O_RDWR, 1, 1);
    CHECK_EQUAL(mq_getattr(queue, &found), 0);
    CHECK_EQUAL(found.mq_maxmsg, 3);
    CHECK_EQUAL(mq_close(queue), 0);
    CHECK_EQUAL(mq_close(second), 0);
    CHECK_ERRNO(mq_close(second), EBADF);
    done(fresh);

    // The calls themselves, without what the C library does to names.
    CHECK_ERRNO(syscall(SYS_mq_open, "", O_RDWR | O_CREAT, 0600, NULL), ENOENT);
    CHECK_ERRNO(syscall(SYS_mq_open, "a/b", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_open, "/a", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_open, ".", O_RDWR | O_CREAT, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_open, "..", O_RDWR, 0600, NULL), EACCES);
    CHECK_ERRNO(syscall(SYS_mq_unlink, ""), ENOENT);
    CHECK_ERRNO(syscall(SYS_mq_unlink, "a/b"), EACCES);
    char longest[300];
    memset(longest, 'q', sizeof longest);
    longest[256] = 0;
    CHECK_ERRNO(syscall(SYS_mq_open, longest, O_RDWR | O_CREAT, 0600, NULL), ENAMETOOLONG);
    CHECK_ERRNO(syscall(SYS_mq_open, (char *)8, O_RDWR | O_CREAT, 0600, NULL), EFAULT);
    CHECK_ERRNO(syscall(SYS_mq_open, name + 1, O_RDWR, 0600, (void *)8), EFAULT);
    longest[255] = 0;
    long full = syscall(SYS_mq_open, longest, O_RDWR | O_CREAT, 0600, NULL);
    CHECK(full >= 0);
    CHECK_EQUAL(mq_getattr((mqd_t)full, &found), 0);
    CHECK_EQUAL(found.mq_maxmsg, 10);
    CHECK_EQUAL(found.mq_msgsize, 8192);
    CHECK_ERRNO(syscall(SYS_mq_open, longest, O_ACCMODE, 0600, NULL), EINVAL);
    CHECK_EQUAL(syscall(SYS_mq_unlink, longest), 0);
    close((int)full);
}

static void attributes(void) {
    struct mq_attr bad[] = {
        {.mq_maxmsg = 0, .mq_msgsize = 1},     {.mq_maxmsg = 1, .mq_msgsize = 0},
        {.mq_maxmsg = -1, .mq_msgsize = 1},    {.mq_maxmsg = 1, .mq_msgsize = -1},
        {.mq_maxmsg = 65537, .mq_msgsize = 1}, {.mq_maxmsg = 1, .mq_msgsize = (16 << 20) + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT, 0600, &bad[i]), EINVAL);
    }
    // The superuser may have more, unless a container has taken that right away.
    struct mq_attr more[] = {{.mq_maxmsg = 11, .mq_msgsize = 1}, {.mq_maxmsg = 1, .mq_msgsize = 8193}};
    for (size_t i = 0; i < 2; i++) {
        mqd_t large = mq_open(name, O_RDWR | O_CREAT, 0600, &more[i]);
        CHECK(large >= 0 ? geteuid() == 0 : errno == EINVAL);
        if (large >= 0) {
            done(large);
        }
    }
    mqd_t queue = make(O_RDWR, 2, 8);
    struct mq_attr new = {.mq_flags = O_NONBLOCK, .mq_maxmsg = 99, .mq_msgsize = 99}, old;
    CHECK_EQUAL(mq_setattr(queue, &new, &old), 0);
    CHECK_EQUAL(old.mq_flags, 0);
    CHECK_EQUAL(old.mq_maxmsg, 2);
    CHECK(fcntl(queue, F_GETFL) & O_NONBLOCK);
    new.mq_flags = O_NONBLOCK | O_APPEND;
    CHECK_ERRNO(mq_setattr(queue, &new, &old), EINVAL);
    CHECK_ERRNO(mq_setattr(-1, &new, &old), EINVAL);
    new.mq_flags = 0;
    CHECK_ERRNO(mq_setattr(-1, &new, &old), EBADF);
    CHECK_ERRNO(mq_getattr(0, &old), EBADF);
    put(queue, "one", 0);
    CHECK_EQUAL(mq_setattr(queue, &new, &old), 0);
    CHECK_EQUAL(old.mq_flags, O_NONBLOCK);
    CHECK_EQUAL(old.mq_curmsgs, 1);
    CHECK(!(fcntl(queue, F_GETFL) & O_NONBLOCK));
    CHECK_ERRNO(syscall(SYS_mq_getsetattr, queue, (void *)8, NULL), EFAULT);
    CHECK_ERRNO(syscall(SYS_mq_getsetattr, queue, NULL, (void *)8), EFAULT);
    done(queue);
}

static void messages(void) {
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

static void times(void) {
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

struct task {
    pthread_t thread;
    mqd_t queue;
    char text[16];
    unsigned priority;
    long result;
    int error;
    volatile pid_t id;
};

static void *receiver(void *argument) {
    struct task *task = argument;
    task->id = (pid_t)syscall(SYS_gettid);
    task->result = mq_receive(task->queue, task->text, sizeof task->text, &task->priority);
    task->error = errno;
    return NULL;
}

static void *sender(void *argument) {
    struct task *task = argument;
    task->id = (pid_t)syscall(SYS_gettid);
    task->result = mq_send(task->queue, task->text, strlen(task->text), task->priority);
    task->error = errno;
    return NULL;
}

static void start(struct task *task, mqd_t queue, void *(*body)(void *)) {
    task->queue = queue;
    task->id = 0;
    CHECK_EQUAL(pthread_create(&task->thread, NULL, body, task), 0);
    while (task->id == 0) {
        pause_a_moment();
    }
    until_asleep(task->id);
}

// Those who wait are served in their order, whoever comes later.
static void waiting(void) {
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

static volatile int caught;
static volatile int caught_code;
static void *volatile caught_value;
static volatile pid_t caught_pid;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    caught_code = info->si_code;
    caught_value = info->si_value.sival_ptr;
    caught_pid = info->si_pid;
    caught++;
}

static void catch (int number, int flags) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
    caught = 0;
}

static void interrupted(void) {
    mqd_t queue = make(O_RDWR, 1, 16);
    struct task task = {0};
    catch (SIGUSR1, 0);
    start(&task, queue, receiver);
    pthread_kill(task.thread, SIGUSR1);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    CHECK_EQUAL(task.result, -1);
    CHECK_EQUAL(task.error, EINTR);
    CHECK_EQUAL(caught, 1);
    // It waits no more: the message is for the next.
    put(queue, "here", 0);
    expect(queue, "here", 0);

    catch (SIGUSR1, SA_RESTART);
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
    catch (SIGUSR1, 0);
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

static void notification(void) {
    mqd_t queue = make(O_RDWR, 4, 16);
    catch (SIGUSR2, 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    event.sigev_value.sival_ptr = &event;
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    put(queue, "one", 0);
    CHECK_EQUAL(caught, 1);
    CHECK_EQUAL(caught_code, SI_MESGQ);
    CHECK(caught_value == &event);
    CHECK_EQUAL(caught_pid, getpid());
    // Once only; and not while the queue is not empty.
    put(queue, "two", 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    put(queue, "three", 0);
    CHECK_EQUAL(caught, 1);
    expect(queue, "one", 0);
    expect(queue, "two", 0);
    expect(queue, "three", 0);
    put(queue, "four", 0);
    CHECK_EQUAL(caught, 2);
    expect(queue, "four", 0);
    // A thread that waits goes before.
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    struct task task = {0};
    start(&task, queue, receiver);
    put(queue, "five", 0);
    CHECK_EQUAL(pthread_join(task.thread, NULL), 0);
    CHECK_EQUAL(caught, 2);
    char status[128] = {0}, expected[128];
    CHECK(pread(queue, status, sizeof status, 0) > 0);
    snprintf(expected, sizeof expected, "QSIZE:%-10d NOTIFY:%-5d SIGNO:%-5d NOTIFY_PID:%-6d\n", 0,
             SIGEV_SIGNAL, SIGUSR2, getpid());
    CHECK(strcmp(status, expected) == 0);
    // Taken back, and taken away by closing any descriptor.
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    int copy = dup(queue);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    CHECK_EQUAL(close(copy), 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    copy = dup(queue);
    CHECK_EQUAL(dup2(1, copy), copy);
    close(copy);
    put(queue, "six", 0);
    CHECK_EQUAL(caught, 2);
    expect(queue, "six", 0);
    // No signal, but nobody else.
    event.sigev_notify = SIGEV_NONE;
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
    put(queue, "seven", 0);
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = 65;
    CHECK_ERRNO(mq_notify(queue, &event), EINVAL);
    event.sigev_signo = 0;
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    event.sigev_notify = 77;
    CHECK_ERRNO(mq_notify(queue, &event), EINVAL);
    event.sigev_notify = SIGEV_NONE;
    CHECK_ERRNO(mq_notify(0, &event), EBADF);
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, (void *)8), EFAULT);
    done(queue);
}

static sem_t told;
static void *volatile told_value;

static void on_message(union sigval value) {
    told_value = value.sival_ptr;
    sem_post(&told);
}

static void notification_by_thread(void) {
    mqd_t queue = make(O_RDWR, 4, 16);
    CHECK_EQUAL(sem_init(&told, 0, 0), 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_message};
    for (long round = 1; round <= 20; round++) {
        event.sigev_value.sival_ptr = (void *)round;
        CHECK_EQUAL(mq_notify(queue, &event), 0);
        put(queue, "news", 0);
        CHECK_EQUAL(sem_wait(&told), 0);
        CHECK(told_value == (void *)round);
        expect(queue, "news", 0);
    }
    // Some never come.
    for (int round = 0; round < 20; round++) {
        CHECK_EQUAL(mq_notify(queue, &event), 0);
        CHECK_EQUAL(mq_notify(queue, NULL), 0);
    }
    CHECK_EQUAL(mq_notify(queue, &event), 0);
    CHECK_EQUAL(sem_trywait(&told), -1);
    done(queue);
}

// What C libraries do for it.
static void sockets(void) {
    int socket_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(socket_fd >= 0);
    mqd_t queue = make(O_RDWR, 4, 16);
    unsigned char cookie[32], found[64];
    for (int i = 0; i < 32; i++) {
        cookie[i] = (unsigned char)(i + 1);
    }
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_signo = socket_fd};
    event.sigev_value.sival_ptr = cookie;
    CHECK_EQUAL(recv(socket_fd, found, sizeof found, MSG_DONTWAIT), -1);
    CHECK_EQUAL(errno, EAGAIN);
    CHECK_EQUAL(syscall(SYS_mq_notify, queue, &event), 0);
    put(queue, "x", 0);
    struct pollfd poll_fd = {.fd = socket_fd, .events = POLLIN};
    CHECK_EQUAL(poll(&poll_fd, 1, -1), 1);
    CHECK_EQUAL(recv(socket_fd, found, sizeof found, MSG_NOSIGNAL | MSG_WAITALL), 32);
    CHECK(memcmp(found, cookie, 31) == 0);
    CHECK_EQUAL(found[31], 1);
    CHECK_EQUAL(syscall(SYS_mq_notify, queue, &event), 0);
    CHECK_EQUAL(mq_notify(queue, NULL), 0);
    CHECK_EQUAL(recv(socket_fd, found, sizeof found, 0), 32);
    CHECK_EQUAL(found[31], 2);
    event.sigev_signo = 1;
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), ENOTSOCK);
    event.sigev_signo = 9999;
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), EBADF);
    int pair[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
    event.sigev_signo = pair[0];
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), EINVAL);
    event.sigev_value.sival_ptr = (void *)8;
    CHECK_ERRNO(syscall(SYS_mq_notify, queue, &event), EFAULT);
    // The socket goes first.
    event.sigev_signo = socket_fd;
    event.sigev_value.sival_ptr = cookie;
    expect(queue, "x", 0);
    CHECK_EQUAL(syscall(SYS_mq_notify, queue, &event), 0);
    CHECK_EQUAL(close(socket_fd), 0);
    put(queue, "y", 0);
    close(pair[0]);
    close(pair[1]);
    done(queue);
}

static int ready(int fd) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLOUT};
    CHECK(poll(&poll_fd, 1, 0) >= 0);
    return poll_fd.revents;
}

static void polling(void) {
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

static void files(void) {
    mode_t umask_before = umask(027);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0666, NULL);
    CHECK(queue >= 0);
    struct stat state;
    CHECK_EQUAL(fstat(queue, &state), 0);
    CHECK_EQUAL(state.st_mode, S_IFREG | 0640);
    CHECK_EQUAL(state.st_size, 80);
    CHECK_EQUAL(state.st_uid, geteuid());
    CHECK_EQUAL(fchmod(queue, 0400), 0);
    CHECK_EQUAL(fstat(queue, &state), 0);
    CHECK_EQUAL(state.st_mode, S_IFREG | 0400);
    if (geteuid() != 0) {
        CHECK_ERRNO(mq_open(name, O_RDWR), EACCES);
    }
    umask(umask_before);
    struct statfs system;
    CHECK_EQUAL(fstatfs(queue, &system), 0);
    CHECK_EQUAL(system.f_type, 0x19800202);
    put(queue, "12345", 0);
    put(queue, "123", 0);
    char text[100] = {0}, link[100] = {0}, path[64];
    CHECK_EQUAL(read(queue, text, sizeof text), strlen(text));
    CHECK(strcmp(text, "QSIZE:8          NOTIFY:0     SIGNO:0     NOTIFY_PID:0     \n") == 0);
    CHECK_EQUAL(read(queue, text, sizeof text), 0);
    CHECK_ERRNO(write(queue, "x", 1), EINVAL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", queue);
    CHECK(readlink(path, link, sizeof link) > 0);
    CHECK(strcmp(link, name) == 0);
    CHECK_EQUAL(mq_unlink(name), 0);
    CHECK_EQUAL(fstat(queue, &state), 0);
    CHECK_EQUAL(state.st_nlink, 0);
    CHECK_EQUAL(mq_close(queue), 0);
    // No waiting for a wait that nobody ends: a queue made with no rights is still its maker's.
    queue = mq_open(name, O_RDWR | O_CREAT, 0, NULL);
    CHECK(queue >= 0);
    put(queue, "x", 0);
    done(queue);
}

static void limits(void) {
    struct rlimit limit, before;
    CHECK_EQUAL(getrlimit(RLIMIT_MSGQUEUE, &before), 0);
    CHECK_EQUAL(before.rlim_cur, 819200);
    limit = before;
    // Two queues of a message of 100 bytes each, with what a message and a priority count for.
    limit.rlim_cur = 2 * (100 + 48 + 48);
    CHECK_EQUAL(setrlimit(RLIMIT_MSGQUEUE, &limit), 0);
    mqd_t first = make(O_RDWR, 1, 100);
    struct mq_attr size = {.mq_maxmsg = 1, .mq_msgsize = 101};
    CHECK_ERRNO(mq_open(other, O_RDWR | O_CREAT, 0600, &size), EMFILE);
    size.mq_msgsize = 100;
    mqd_t second = mq_open(other, O_RDWR | O_CREAT, 0600, &size);
    CHECK(second >= 0);
    // A queue without a name counts until it is closed.
    CHECK_EQUAL(mq_unlink(other), 0);
    CHECK_ERRNO(mq_open(other, O_RDWR | O_CREAT, 0600, &size), EMFILE);
    CHECK_EQUAL(mq_close(second), 0);
    second = mq_open(other, O_RDWR | O_CREAT, 0600, &size);
    CHECK(second >= 0);
    CHECK_EQUAL(mq_close(second), 0);
    CHECK_EQUAL(mq_unlink(other), 0);
    done(first);
    CHECK_EQUAL(setrlimit(RLIMIT_MSGQUEUE, &before), 0);
    // No descriptor, no queue.
    struct rlimit files, none;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_ERRNO(mq_open(other, O_RDWR | O_CREAT, 0600, &size), EMFILE);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK_ERRNO(mq_unlink(other), ENOENT);
    static const struct {
        const char *name;
        long value;
    } settings[] = {{"queues_max", 256},
                    {"msg_max", 10},
                    {"msgsize_max", 8192},
                    {"msg_default", 10},
                    {"msgsize_default", 8192}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/sys/fs/mqueue/%s", settings[i].name);
        FILE *file = fopen(path, "r");
        long value = 0;
        CHECK(file != NULL && fscanf(file, "%ld", &value) == 1);
        fclose(file);
        CHECK_EQUAL(value, settings[i].value);
    }
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

static void traffic(void) {
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

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"names", names},
        {"attributes", attributes},
        {"messages", messages},
        {"times", times},
        {"waiting", waiting},
        {"interrupted", interrupted},
        {"notification", notification},
        {"notification-by-thread", notification_by_thread},
        {"sockets", sockets},
        {"polling", polling},
        {"files", files},
        {"limits", limits},
        {"traffic", traffic},
    };
    // What the queues of a user may hold is counted together: one of these programs at a time.
    int turn = open("/tmp/hadal-test-queues", O_RDONLY | O_CREAT, 0666);
    CHECK(turn >= 0);
    CHECK_EQUAL(flock(turn, LOCK_EX), 0);
    snprintf(name, sizeof name, "/hadal-test-%d", getpid());
    snprintf(other, sizeof other, "/hadal-other-%d", getpid());
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
