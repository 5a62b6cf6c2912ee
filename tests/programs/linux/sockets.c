// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Socket calls on pairs of sockets and on what is none: every line is what Linux prints.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static char buffer[300000];

static const char *name(long result) { return result >= 0 ? "ok" : strerrorname_np(errno); }

static void pair(int type, int ends[2]) {
    if (socketpair(AF_UNIX, type, 0, ends) != 0) {
        printf("socketpair %s\n", name(-1));
        exit(1);
    }
}

static void every_call(const char *what, int fd) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct msghdr message = {0};
    struct mmsghdr messages[1] = {0};
    socklen_t len = sizeof address;
    int value = 1;
    printf("%s:", what);
    printf(" %s", name(getpeername(fd, (struct sockaddr *)&address, &len)));
    printf(" %s", name(getsockname(fd, (struct sockaddr *)&address, &len)));
    printf(" %s", name(send(fd, "x", 1, 0)));
    printf(" %s", name(recv(fd, buffer, 1, 0)));
    printf(" %s", name(sendmsg(fd, &message, 0)));
    printf(" %s", name(recvmsg(fd, &message, 0)));
    printf(" %s", name(sendmmsg(fd, messages, 1, 0)));
    printf(" %s", name(recvmmsg(fd, messages, 1, 0, NULL)));
    printf(" %s", name(shutdown(fd, SHUT_RD)));
    len = sizeof value;
    printf(" %s", name(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &len)));
    printf(" %s", name(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &value, len)));
    printf(" %s", name(listen(fd, 1)));
    printf(" %s", name(accept(fd, NULL, NULL)));
    printf(" %s", name(accept4(fd, NULL, NULL, 0)));
    printf(" %s", name(connect(fd, (struct sockaddr *)&address, sizeof address)));
    printf(" %s\n", name(bind(fd, (struct sockaddr *)&address, sizeof address)));
}

static void no_sockets(void) {
    int ends[2];
    if (pipe(ends) != 0) {
        exit(1);
    }
    every_call("pipe", ends[0]);
    every_call("closed", 900);
    int file = open("/proc/self/exe", O_RDONLY);
    every_call("file", file);
    close(file), close(ends[0]), close(ends[1]);
}

static void facts(void) {
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
    for (int i = 0; i < 4; i++) {
        int ends[2];
        pair(types[i], ends);
        static const int options[] = {SO_TYPE, SO_DOMAIN, SO_PROTOCOL, SO_ERROR, SO_ACCEPTCONN, SO_PASSCRED};
        printf("options");
        for (int j = 0; j < 6; j++) {
            int value = -1;
            socklen_t len = sizeof value;
            printf(" %d", getsockopt(ends[0], SOL_SOCKET, options[j], &value, &len));
            printf(" %d %u", value, len);
        }
        struct ucred ids;
        socklen_t len = sizeof ids;
        printf(" %d", getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &ids, &len));
        printf(" %d %d\n", ids.pid == getpid(), ids.uid == getuid());
        struct sockaddr_un address;
        len = sizeof address;
        printf("name %d", getsockname(ends[0], (struct sockaddr *)&address, &len));
        printf(" %u %d", len, address.sun_family);
        len = 1;
        printf(" %d", getpeername(ends[0], (struct sockaddr *)&address, &len));
        printf(" %u\n", len);
        int small = 1, wrong = 0;
        printf("set %s", name(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small)));
        len = sizeof small;
        getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, &len);
        printf(" %d", small);
        printf(" %s", name(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, 1)));
        printf(" %s", name(setsockopt(ends[0], SOL_SOCKET, 9999, &small, sizeof small)));
        printf(" %s\n", name(setsockopt(ends[0], 99, 1, &wrong, sizeof wrong)));
        printf("listen %s accept", name(listen(ends[0], 1)));
        printf(" %s\n", name(accept(ends[0], NULL, NULL)));
        printf("shutdown 7 %s\n", name(shutdown(ends[0], 7)));
        close(ends[0]), close(ends[1]);
    }
}

static void look(const char *what, int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
    poll(&entry, 1, 0);
    printf("%s %x\n", what, entry.revents);
}

static void streams(void) {
    int ends[2];
    pair(SOCK_STREAM, ends);
    printf("send %zd", send(ends[0], "hello", 5, 0));
    printf(" %zd\n", send(ends[0], " world", 6, MSG_NOSIGNAL));
    int count = 0;
    ioctl(ends[1], FIONREAD, &count);
    printf("fionread %d\n", count);
    ssize_t got = recv(ends[1], buffer, 8, MSG_PEEK);
    printf("peek %zd %.*s\n", got, (int)got, buffer);
    got = recv(ends[1], buffer, 8, MSG_TRUNC);
    printf("recv %zd\n", got);
    got = recv(ends[1], buffer, 100, 0);
    printf("recv %zd %.*s\n", got, (int)got, buffer);
    printf("nothing %s\n", name(recv(ends[1], buffer, 1, MSG_DONTWAIT)));
    struct timeval time = {0, 20000};
    printf("time %s", name(setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time)));
    printf(" %s", name(recv(ends[1], buffer, 1, 0)));
    socklen_t len = sizeof time;
    getsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &time, &len);
    printf(" %ld\n", (long)time.tv_usec);
    struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/none"};
    printf("address %s", name(sendto(ends[0], "x", 1, 0, (struct sockaddr *)&nowhere, sizeof nowhere)));
    printf(" %s\n", name(connect(ends[0], (struct sockaddr *)&nowhere, 0)));
    long sent = 0;
    while ((got = send(ends[0], buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        sent += got;
    }
    printf("full %s %d\n", name(got), sent > 50000);
    struct pollfd entry = {.fd = ends[0], .events = POLLOUT};
    printf("poll %d\n", poll(&entry, 1, 0));
    while (sent > 0 && (got = recv(ends[1], buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        sent -= got;
    }
    printf("all back %ld\n", sent);
    look("idle", ends[0]);
    printf("shut %d\n", shutdown(ends[0], SHUT_WR));
    look("shut", ends[0]);
    look("peer", ends[1]);
    printf("end %zd\n", recv(ends[1], buffer, 1, 0));
    signal(SIGPIPE, SIG_IGN);
    printf("send %s\n", name(send(ends[0], "x", 1, 0)));
    printf("back %zd", send(ends[1], "y", 1, 0));
    printf(" %zd\n", recv(ends[0], buffer, 9, 0));
    printf("empty %s", name(send(ends[0], "", 0, MSG_NOSIGNAL)));
    printf(" %s", name(write(ends[0], "", 0)));
    printf(" %s\n", name(write(ends[1], "", 0)));
    send(ends[1], "unread", 6, 0);
    close(ends[0]);
    look("reset", ends[1]);
    printf("recv %s", name(recv(ends[1], buffer, 1, 0)));
    printf(" %zd\n", recv(ends[1], buffer, 1, 0));
    printf("send %s\n", name(send(ends[1], "x", 1, MSG_NOSIGNAL)));
    close(ends[1]);
}

static volatile sig_atomic_t pipes;

static void on_pipe(int number) {
    (void)number;
    pipes++;
}

static void messages(int type) {
    int ends[2];
    pair(type, ends);
    printf("type %d\n", type);
    send(ends[0], "one", 3, 0);
    send(ends[0], "", 0, 0);
    printf("write %zd\n", write(ends[0], "three", 5));
    int count = 0;
    ioctl(ends[1], FIONREAD, &count);
    printf("fionread %d\n", count);
    printf("peek %zd", recv(ends[1], buffer, 2, MSG_PEEK | MSG_TRUNC));
    printf(" recv %zd", recv(ends[1], buffer, 2, 0));
    printf(" nothing %zd", read(ends[1], buffer, 0));
    printf(" empty %zd", recv(ends[1], buffer, 9, 0));
    struct iovec parts[2] = {{buffer, 2}, {buffer + 10, 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    printf(" parts %zd", recvmsg(ends[1], &message, 0));
    printf(" %x %.2s%.1s\n", message.msg_flags & MSG_TRUNC, buffer, buffer + 10);
    printf("too long %s\n", name(send(ends[0], buffer, sizeof buffer, 0)));
    struct mmsghdr many[3];
    struct iovec vectors[3] = {{"a", 1}, {"bb", 2}, {"ccc", 3}};
    memset(many, 0, sizeof many);
    for (int i = 0; i < 3; i++) {
        many[i].msg_hdr.msg_iov = &vectors[i];
        many[i].msg_hdr.msg_iovlen = 1;
    }
    printf("sendmmsg %d", sendmmsg(ends[0], many, 3, 0));
    printf(" %u %u %u\n", many[0].msg_len, many[1].msg_len, many[2].msg_len);
    char places[3][8];
    for (int i = 0; i < 3; i++) {
        vectors[i] = (struct iovec){places[i], 8};
    }
    printf("recvmmsg %d", recvmmsg(ends[1], many, 3, MSG_WAITFORONE, NULL));
    printf(" %u %u %u\n", many[0].msg_len, many[1].msg_len, many[2].msg_len);
    signal(SIGPIPE, on_pipe);
    close(ends[1]);
    look("end", ends[0]);
    printf("write %s %d\n", name(write(ends[0], "x", 1)), (int)pipes);
    if (type == SOCK_SEQPACKET) {
        printf("send %s %d\n", name(send(ends[0], "x", 1, 0)), (int)pipes);
        printf("recv %zd\n", recv(ends[0], buffer, 1, MSG_DONTWAIT));
    } else {
        printf("recv %s\n", name(recv(ends[0], buffer, 1, MSG_DONTWAIT)));
    }
    close(ends[0]);
}

static void files(int type) {
    int ends[2], pipe_ends[2], got = -1;
    pair(type, ends);
    if (pipe(pipe_ends) != 0) {
        exit(1);
    }
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {"f", 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &pipe_ends[1], sizeof(int));
    send(ends[0], "before", 6, 0);
    printf("sendmsg %zd\n", sendmsg(ends[0], &message, 0));
    send(ends[0], "after", 5, 0);
    close(pipe_ends[1]);
    part = (struct iovec){buffer, 100};
    for (int i = 0; i < 3; i++) {
        memset(&control, 0, sizeof control);
        message.msg_controllen = sizeof control;
        printf("recvmsg %zd", recvmsg(ends[1], &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
        header = CMSG_FIRSTHDR(&message);
        printf(" control %zu", message.msg_controllen);
        if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
            memcpy(&got, CMSG_DATA(header), sizeof got);
            printf(" %zu cloexec %d", header->cmsg_len, fcntl(got, F_GETFD));
        }
        printf("\n");
    }
    printf("through %zd", write(got, "pipe", 4));
    printf(" %zd\n", read(pipe_ends[0], buffer, 9));
    close(got);
    printf("gone %zd\n", read(pipe_ends[0], buffer, 9));
    int bad = 900;
    header = (struct cmsghdr *)&control;
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &bad, sizeof bad);
    part = (struct iovec){"f", 1};
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    printf("closed %s\n", name(sendmsg(ends[0], &message, 0)));
    // Who asks for no bytes gets the files.
    int null = open("/dev/null", O_RDONLY);
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &null, sizeof null);
    part = (struct iovec){"gh", 2};
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    printf("file %zd\n", sendmsg(ends[0], &message, 0));
    part = (struct iovec){buffer, 0};
    message.msg_controllen = sizeof control;
    printf("nothing %zd", recvmsg(ends[1], &message, MSG_DONTWAIT));
    header = CMSG_FIRSTHDR(&message);
    printf(" brings %zu\n", header == NULL ? 0 : (size_t)header->cmsg_len);
    if (header != NULL) {
        memcpy(&got, CMSG_DATA(header), sizeof got);
        close(got);
    }
    part = (struct iovec){buffer, 100};
    message.msg_controllen = sizeof control;
    ssize_t rest = recvmsg(ends[1], &message, MSG_DONTWAIT);
    printf("rest %zd %zu\n", rest, rest < 0 ? 0 : (size_t)message.msg_controllen);
    close(null);
    header = (struct cmsghdr *)&control;
    int on = 1;
    setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    send(ends[0], "ids", 3, 0);
    part = (struct iovec){buffer, 100};
    message.msg_controllen = sizeof control;
    printf("ids %zd", recvmsg(ends[1], &message, 0));
    header = CMSG_FIRSTHDR(&message);
    struct ucred ids = {0};
    if (header != NULL && header->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&ids, CMSG_DATA(header), sizeof ids);
    }
    printf(" %d %d %d\n", ids.pid == getpid(), ids.uid == getuid(), ids.gid == getgid());
    // A socket in its own buffer: nobody will ever receive it.
    header = (struct cmsghdr *)&control;
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
    part = (struct iovec){"f", 1};
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    printf("itself %zd\n", sendmsg(ends[0], &message, 0));
    close(ends[0]), close(ends[1]), close(pipe_ends[0]);
}

static void *drop_chain(void *last) {
    close(*(int *)last);
    return NULL;
}

// Sockets that each wait in the next one's buffer: closing the last closes all, however many.
static void chains(int type) {
    enum { DEPTH = 1900, CHAINS = 2 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int last[CHAINS], ends[2], first[CHAINS];
    pthread_t threads[CHAINS];
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    for (int chain = 0; chain < CHAINS; chain++) {
        pair(type, ends);
        first[chain] = ends[0];
        for (int i = 0; i < DEPTH; i++) {
            last[chain] = ends[1];
            pair(type, ends);
            struct iovec part = {"f", 1};
            struct msghdr message = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(header), &last[chain], sizeof(int));
            if (sendmsg(ends[0], &message, 0) != 1) {
                printf("chain %d %s\n", i, name(-1));
                exit(1);
            }
            close(last[chain]), close(ends[0]);
        }
        last[chain] = ends[1];
    }
    printf("chains %s\n", name(send(first[0], "x", 1, 0)));
    for (int chain = 0; chain < CHAINS; chain++) {
        pthread_create(&threads[chain], NULL, drop_chain, &last[chain]);
    }
    for (int chain = 0; chain < CHAINS; chain++) {
        pthread_join(threads[chain], NULL);
        struct pollfd entry = {.fd = first[chain], .events = POLLIN};
        printf("chain gone %d\n", poll(&entry, 1, 60000));
        close(first[chain]);
    }
}

// Datagrams to an end that is gone are refused once; then there is no connection.
static void left_alone(void) {
    int ends[2];
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    close(ends[1]);
    for (int i = 0; i < 3; i++) {
        printf("left alone %s\n", name(send(ends[0], "x", 1, 0)));
    }
    printf("write %s\n", name(write(ends[0], "x", 1)));
    printf("peer %s\n", name(getpeername(ends[0], (struct sockaddr *)&address, &length)));
    close(ends[0]);
}

static int shared[2];

/* A message may be sent as long as less waits than the buffer takes, and poll says the same. */
static void large_messages(int type) {
    static char large[1 << 20];
    int ends[2], bytes = 0;
    socklen_t len = sizeof bytes;
    pair(type, ends);
    getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, &len);
    printf("halves");
    for (int message = 0; message < 3; message++)
        printf(" %s", name(send(ends[0], large, (size_t)bytes / 2, MSG_DONTWAIT)));
    look(", then", ends[0]);
    printf("too long %s\n", name(send(ends[0], large, sizeof large, MSG_DONTWAIT)));
    close(ends[0]), close(ends[1]);
}

static void *write_slowly(void *argument) {
    (void)argument;
    for (int i = 0; i < 4; i++) {
        usleep(5000);
        send(shared[0], "abcd", 4, 0);
    }
    return NULL;
}

static void waiting(void) {
    pthread_t thread;
    pair(SOCK_STREAM, shared);
    pthread_create(&thread, NULL, write_slowly, NULL);
    printf("wait for all %zd\n", recv(shared[1], buffer, 16, MSG_WAITALL));
    pthread_join(thread, NULL);
    // Nothing is waited for, too; `read` of nothing asks nobody.
    pthread_create(&thread, NULL, write_slowly, NULL);
    printf("nothing %zd", recv(shared[1], buffer, 0, 0));
    printf(" %d", recv(shared[1], buffer, 1, MSG_DONTWAIT | MSG_PEEK) == 1);
    pthread_join(thread, NULL);
    recv(shared[1], buffer, sizeof buffer, 0);
    printf(" %s", name(recv(shared[1], buffer, 0, MSG_DONTWAIT)));
    printf(" %zd\n", read(shared[1], buffer, 0));
    close(shared[0]), close(shared[1]);
}

static void on_alarm(int number) { (void)number; }

// SA_RESTART does not count for a wait that has a time-out.
static void interrupted(int type) {
    int ends[2];
    pair(type, ends);
    struct timeval time = {60, 0};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    while (send(ends[0], buffer, 1000, MSG_DONTWAIT) > 0) {
    }
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    // Again and again: the first may come before the wait.
    struct itimerval soon = {.it_value = {0, 10000}, .it_interval = {0, 10000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    printf("interrupted %s", name(recv(ends[0], buffer, 1, 0)));
    printf(" %s", name(read(ends[0], buffer, 1)));
    printf(" %s", name(send(ends[0], buffer, 1000, 0)));
    printf(" %s\n", name(write(ends[0], buffer, 1000)));
    soon = (struct itimerval){0};
    setitimer(ITIMER_REAL, &soon, NULL);
    close(ends[0]), close(ends[1]);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    no_sockets();
    facts();
    streams();
    messages(SOCK_SEQPACKET);
    left_alone();
    messages(SOCK_DGRAM);
    large_messages(SOCK_SEQPACKET);
    large_messages(SOCK_DGRAM);
    files(SOCK_STREAM);
    files(SOCK_SEQPACKET);
    chains(SOCK_STREAM);
    chains(SOCK_SEQPACKET);
    waiting();
    interrupted(SOCK_STREAM);
    interrupted(SOCK_SEQPACKET);
    int ends[2];
    printf("domain %s", name(socketpair(99, SOCK_STREAM, 0, ends)));
    printf(" type %s", name(socketpair(AF_UNIX, 4, 0, ends)));
    printf(" bad type %s", name(socketpair(AF_UNIX, 11, 0, ends)));
    printf(" protocol %s\n", name(socketpair(AF_UNIX, SOCK_STREAM, 5, ends)));
    return 0;
}
