// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// epoll: every line is what Linux prints.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const char *name(int result) { return result >= 0 ? "ok" : strerrorname_np(errno); }

static int add(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u64 = 0x100000000 + (uint64_t)fd};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int modify(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u64 = 0x200000000 + (uint64_t)fd};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

static int drop(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL); }

static void show(const char *what, int epoll) {
    struct epoll_event events[8];
    int count = epoll_wait(epoll, events, 8, 0);
    printf("%s: %d", what, count);
    for (int i = 0; i < count; i++) {
        printf(" [%x %llx]", events[i].events, (unsigned long long)events[i].data.u64 >> 32);
    }
    printf("\n");
}

static void errors(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC), ends[2];
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe(ends) != 0) {
        exit(1);
    }
    printf("flags %d\n", fcntl(epoll, F_GETFD));
    printf("create 0 %s\n", name(epoll_create(0)));
    printf("create1 bad %s\n", name(epoll_create1(1)));
    printf("add %s\n", name(add(epoll, ends[0], EPOLLIN)));
    printf("twice %s\n", name(add(epoll, ends[0], EPOLLIN)));
    printf("mod missing %s\n", name(modify(epoll, ends[1], EPOLLIN)));
    printf("del missing %s\n", name(drop(epoll, ends[1])));
    printf("closed %s\n", name(add(epoll, 900, EPOLLIN)));
    printf("closed epoll %s\n", name(add(900, ends[0], EPOLLIN)));
    printf("not epoll %s\n", name(add(ends[0], ends[1], EPOLLIN)));
    printf("itself %s\n", name(add(epoll, epoll, EPOLLIN)));
    printf("bad operation %s\n", name(epoll_ctl(epoll, 9, ends[0], &event)));
    printf("bad pointer %s\n", name(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], (void *)8)));
    int file = open("/proc/self/exe", O_RDONLY), directory = open("/", O_RDONLY);
    int path = open("/", O_PATH), null = open("/dev/null", O_RDWR);
    printf("file %s\n", name(add(epoll, file, EPOLLIN)));
    printf("directory %s\n", name(add(epoll, directory, EPOLLIN)));
    printf("path %s\n", name(add(epoll, path, EPOLLIN)));
    printf("null %s\n", name(add(epoll, null, EPOLLIN)));
    struct epoll_event events[2];
    printf("no room %s\n", name(epoll_wait(epoll, events, 0, 0)));
    volatile int negative = -1;
    printf("negative room %s\n", name(epoll_wait(epoll, events, negative, 0)));
    printf("wait on pipe %s\n", name(epoll_wait(ends[0], events, 1, 0)));
    printf("wait on closed %s\n", name(epoll_wait(900, events, 1, 0)));
    printf("exclusive mod %s\n", name(modify(epoll, ends[0], EPOLLIN | EPOLLEXCLUSIVE)));
    printf("exclusive oneshot %s\n", name(add(epoll, ends[1], EPOLLOUT | EPOLLEXCLUSIVE | EPOLLONESHOT)));
    printf("exclusive %s\n", name(add(epoll, ends[1], EPOLLOUT | EPOLLEXCLUSIVE)));
    printf("mod of exclusive %s\n", name(modify(epoll, ends[1], EPOLLOUT)));
    printf("event at a bad address %s\n", name(epoll_wait(epoll, (void *)4096, 1, 0)));
    show("still there", epoll);
    printf("read %s\n", name((int)read(epoll, events, 8)));
    sigset_t none;
    sigemptyset(&none);
    printf("pwait %s\n", name(epoll_pwait(epoll, events, 1, 0, &none)));
    struct timespec moment = {0, 1000}, wrong = {0, 2000000000};
    printf("pwait2 %s\n", name(epoll_pwait2(epoll, events, 1, &moment, NULL)));
    printf("pwait2 bad time %s\n", name(epoll_pwait2(epoll, events, 1, &wrong, NULL)));
    close(epoll), close(ends[0]), close(ends[1]), close(file), close(directory), close(path), close(null);
}

static void triggers(void) {
    int epoll = epoll_create1(0), ends[2];
    char byte[4];
    if (pipe(ends) != 0) {
        exit(1);
    }
    add(epoll, ends[0], EPOLLIN);
    show("empty", epoll);
    printf("wrote %zd\n", write(ends[1], "ab", 2));
    show("level", epoll);
    show("level again", epoll);
    modify(epoll, ends[0], EPOLLIN | EPOLLET);
    show("edge", epoll);
    show("edge again", epoll);
    printf("wrote %zd\n", write(ends[1], "c", 1));
    show("edge, more", epoll);
    printf("read %zd\n", read(ends[0], byte, 1));
    show("edge, some read", epoll);
    modify(epoll, ends[0], EPOLLIN | EPOLLONESHOT);
    show("one-shot", epoll);
    printf("wrote %zd\n", write(ends[1], "d", 1));
    show("one-shot, more", epoll);
    modify(epoll, ends[0], EPOLLIN | EPOLLONESHOT);
    show("armed again", epoll);
    modify(epoll, ends[0], 0);
    show("nothing wanted", epoll);
    modify(epoll, ends[0], EPOLLIN | EPOLLRDNORM);
    show("two names", epoll);
    add(epoll, ends[1], EPOLLOUT | EPOLLET | EPOLLWAKEUP);
    show("both ends", epoll);
    show("both ends again", epoll);
    printf("read %zd\n", read(ends[0], byte, 3));
    show("all read", epoll);
    close(ends[1]);
    show("no writer", epoll);
    modify(epoll, ends[0], 0);
    show("hang-up unasked", epoll);
    printf("del %s\n", name(drop(epoll, ends[0])));
    show("deleted", epoll);
    close(ends[0]), close(epoll);
}

static void order(void) {
    int epoll = epoll_create1(0), counters[3];
    for (int i = 0; i < 3; i++) {
        counters[i] = eventfd(1, EFD_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        epoll_ctl(epoll, EPOLL_CTL_ADD, counters[i], &event);
    }
    // Level-triggered entries take turns when there is room for one event only.
    for (int i = 0; i < 6; i++) {
        struct epoll_event event;
        int count = epoll_wait(epoll, &event, 1, 0);
        printf("turn %d %d\n", count, event.data.u32);
    }
    for (int i = 0; i < 3; i++) {
        close(counters[i]);
    }
    show("all closed", epoll);
    close(epoll);
}

static void descriptors(void) {
    int epoll = epoll_create1(0), ends[2];
    if (pipe(ends) != 0) {
        exit(1);
    }
    printf("wrote %zd\n", write(ends[1], "x", 1));
    int copy = dup(ends[0]);
    add(epoll, ends[0], EPOLLIN);
    printf("the same under another number %s\n", name(add(epoll, copy, EPOLLIN)));
    show("two numbers", epoll);
    close(ends[0]);
    show("one closed: still two", epoll);
    printf("del of the closed %s\n", name(drop(epoll, ends[0])));
    int other = dup(ends[1]);
    printf("another file, the same number %d %s\n", other == ends[0], name(add(epoll, other, EPOLLOUT)));
    show("three", epoll);
    close(copy);
    show("the last closed", epoll);
    close(other), close(ends[1]), close(epoll);
    show("closed", epoll);
}

static void nested(void) {
    int inner = epoll_create1(0), outer = epoll_create1(0), counter = eventfd(0, EFD_NONBLOCK);
    add(inner, counter, EPOLLIN);
    printf("nest %s\n", name(add(outer, inner, EPOLLIN)));
    printf("exclusive nest %s\n", name(add(outer, inner, EPOLLIN | EPOLLEXCLUSIVE)));
    printf("cycle %s\n", name(add(inner, outer, EPOLLIN)));
    show("nested, nothing", outer);
    eventfd_write(counter, 1);
    show("nested, ready", outer);
    struct pollfd look = {.fd = outer, .events = POLLIN | POLLOUT};
    printf("poll %d", poll(&look, 1, 0));
    printf(" %x\n", look.revents);
    fd_set reads;
    FD_ZERO(&reads);
    FD_SET(inner, &reads);
    struct timeval now = {0, 0};
    printf("select %d\n", select(inner + 1, &reads, NULL, NULL, &now));
    modify(outer, inner, EPOLLIN | EPOLLET);
    show("edge of an instance", outer);
    show("edge of an instance again", outer);
    eventfd_t value;
    eventfd_read(counter, &value);
    show("nested, read", outer);
    eventfd_write(counter, 1);
    show("edge of an instance, more", outer);
    int chain[9];
    for (int i = 0; i < 9; i++) {
        chain[i] = epoll_create1(0);
        printf("link %d %s\n", i, i == 0 ? "-" : name(add(chain[i], chain[i - 1], EPOLLIN)));
    }
    add(chain[0], counter, EPOLLIN);
    show("through the chain", chain[4]);
    for (int i = 0; i < 9; i++) {
        close(chain[i]);
    }
    close(inner);
    show("inner closed", outer);
    close(outer), close(counter);
}

static void kinds(void) {
    int epoll = epoll_create1(0), pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        exit(1);
    }
    add(epoll, pair[0], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    show("socket", epoll);
    printf("wrote %zd\n", write(pair[1], "hi", 2));
    show("socket, data", epoll);
    show("socket, again", epoll);
    close(pair[1]);
    show("socket, end", epoll);
    close(pair[0]);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    add(epoll, timer, EPOLLIN | EPOLLET);
    show("timer off", epoll);
    struct itimerspec soon = {.it_value = {0, 1000000}, .it_interval = {0, 1000000}};
    timerfd_settime(timer, 0, &soon, NULL);
    struct epoll_event event;
    printf("timer %d\n", epoll_wait(epoll, &event, 1, 5000));
    uint64_t ticks = 0;
    usleep(5000);
    printf("read %zd %d\n", read(timer, &ticks, 8), ticks >= 3);
    printf("timer again %d\n", epoll_wait(epoll, &event, 1, 5000));
    close(timer);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_NONBLOCK);
    add(epoll, signals, EPOLLIN);
    show("no signal", epoll);
    raise(SIGUSR1);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 77});
    show("signals", epoll);
    struct signalfd_siginfo infos[4];
    ssize_t got = read(signals, infos, sizeof infos);
    printf("read %zd:", got);
    for (int i = 0; i < (int)(got / (ssize_t)sizeof infos[0]); i++) {
        printf(" %d %d %d %d", infos[i].ssi_signo, infos[i].ssi_code, infos[i].ssi_pid == (uint32_t)getpid(),
               infos[i].ssi_int);
    }
    printf("\n");
    show("signals taken", epoll);
    printf("no more %s\n", name((int)read(signals, infos, sizeof infos)));
    printf("too short %s\n", name((int)read(signals, infos, 100)));
    sigemptyset(&set);
    printf("changed %d\n", signalfd(signals, &set, 0) == signals);
    raise(SIGUSR1);
    show("not wanted", epoll);
    printf("not a signal file %s\n", name(signalfd(epoll, &set, 0)));
    int random = open("/dev/random", O_RDONLY), urandom = open("/dev/urandom", O_RDONLY);
    add(epoll, random, EPOLLIN | EPOLLOUT);
    show("random", epoll);
    struct epoll_event none = {.events = EPOLLIN};
    printf("urandom %s\n", name(epoll_ctl(epoll, EPOLL_CTL_ADD, urandom, &none)));
    int counter = eventfd(0, 0), null = open("/dev/null", O_RDONLY);
    int without_positions[] = {epoll, signals, counter, random, null, timerfd_create(CLOCK_MONOTONIC, 0)};
    for (int i = 0; i < 6; i++) {
        int fd = without_positions[i];
        printf("seek %ld %ld", (long)lseek(fd, 7, SEEK_SET), (long)lseek(fd, -1, SEEK_CUR));
        printf(" %ld %s\n", (long)lseek(fd, 0, SEEK_END), name((int)lseek(fd, 0, 99)));
        close(fd);
    }
    close(urandom);
}

static void timers(void) {
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    struct itimerspec now, past = {.it_value = {1, 0}};
    uint64_t ticks = 0;
    printf("bad clock %s\n", name(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0)));
    printf("bad flags %s\n", name(timerfd_create(CLOCK_MONOTONIC, 1)));
    printf("bad set flags %s\n", name(timerfd_settime(timer, 8, &past, NULL)));
    struct itimerspec wrong = {.it_value = {0, 1000000000}};
    printf("bad time %s\n", name(timerfd_settime(timer, 0, &wrong, NULL)));
    printf("bad pointer %s\n", name(timerfd_settime(timer, 0, (void *)8, NULL)));
    printf("not a timer %s\n", name(timerfd_gettime(1, &now)));
    printf("closed %s\n", name(timerfd_gettime(900, &now)));
    printf("past %s\n",
           name(timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &past, NULL)));
    printf("read %zd", read(timer, &ticks, 8));
    printf(" %d\n", (int)ticks);
    struct itimerspec later = {.it_value = {1000, 0}, .it_interval = {5, 0}}, old;
    printf("later %s\n", name(timerfd_settime(timer, 0, &later, NULL)));
    printf("get %s", name(timerfd_gettime(timer, &now)));
    printf(" %d %ld\n", now.it_value.tv_sec >= 990 && now.it_value.tv_sec <= 1000, now.it_interval.tv_sec);
    memset(&later, 0, sizeof later);
    printf("off %s", name(timerfd_settime(timer, 0, &later, &old)));
    printf(" %ld\n", old.it_interval.tv_sec);
    timerfd_gettime(timer, &now);
    printf("is off %ld %ld\n", now.it_value.tv_sec, now.it_value.tv_nsec);
    fcntl(timer, F_SETFL, O_NONBLOCK);
    printf("nothing %s\n", name((int)read(timer, &ticks, 8)));
    printf("too short %s\n", name((int)read(timer, &ticks, 7)));
    close(timer);
}

static int shared, finish;
static pthread_barrier_t barrier;

static void *wait_once(void *result) {
    struct epoll_event events[2];
    pthread_barrier_wait(&barrier);
    *(int *)result = epoll_wait(shared, events, 1, -1);
    return NULL;
}

// Each of many threads gets one of many events, and none sleeps for ever.
static void threads(void) {
    enum { COUNT = 8 };
    pthread_t ids[COUNT];
    int results[COUNT], counters[COUNT], sum = 0;
    shared = epoll_create1(0);
    pthread_barrier_init(&barrier, NULL, COUNT + 1);
    for (int i = 0; i < COUNT; i++) {
        pthread_create(&ids[i], NULL, wait_once, &results[i]);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < COUNT; i++) {
        counters[i] = eventfd(0, EFD_NONBLOCK);
        add(shared, counters[i], EPOLLIN | EPOLLET);
        eventfd_write(counters[i], 1);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(ids[i], NULL);
        sum += results[i];
        close(counters[i]);
    }
    printf("threads %d\n", sum);
    close(shared);
}

static void *count_events(void *result) {
    struct epoll_event event;
    while (epoll_wait(shared, &event, 1, -1) == 1) {
        eventfd_t value;
        if (event.data.u64 >> 32 == 2) {
            break;
        }
        if (eventfd_read((int)(uint32_t)event.data.u64, &value) == 0) {
            *(long *)result += (long)value;
        }
    }
    return NULL;
}

// No event of a counter is lost between threads that wait for it.
static void stress(void) {
    enum { COUNT = 4, ROUNDS = 2000 };
    pthread_t ids[COUNT];
    long results[COUNT] = {0}, sum = 0;
    shared = epoll_create1(0);
    finish = eventfd(0, 0);
    int counter = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
    add(shared, counter, EPOLLIN);
    for (int i = 0; i < COUNT; i++) {
        pthread_create(&ids[i], NULL, count_events, &results[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        eventfd_write(counter, 1);
    }
    struct pollfd look = {.fd = counter, .events = POLLIN};
    while (poll(&look, 1, 0) == 1) {
        usleep(1000);
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x200000000};
    epoll_ctl(shared, EPOLL_CTL_ADD, finish, &event);
    eventfd_write(finish, 1);
    for (int i = 0; i < COUNT; i++) {
        pthread_join(ids[i], NULL);
        sum += results[i];
    }
    printf("stress %ld\n", sum);
    close(shared), close(counter), close(finish);
}

static void on_alarm(int signal) { (void)signal; }

static void interrupted(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct epoll_event event;
    sigaction(SIGALRM, &action, NULL);
    int epoll = epoll_create1(0);
    // Again and again: the first may come before the wait.
    struct itimerspec soon = {.it_value = {0, 10000000}, .it_interval = {0, 10000000}};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
    timer_settime(timer, 0, &soon, NULL);
    printf("interrupted %s\n", name(epoll_wait(epoll, &event, 1, -1)));
    timer_delete(timer);
    printf("time-out %d\n", epoll_wait(epoll, &event, 1, 10));
    close(epoll);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    errors();
    triggers();
    order();
    descriptors();
    nested();
    kinds();
    timers();
    threads();
    stress();
    interrupted();
    return 0;
}
