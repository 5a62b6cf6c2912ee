// SPDX-License-Identifier: Apache-2.0 OR MIT
// Listening, connecting, taking connections, and what sockets without another end do.

#include "parts.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/time.h>

static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};

static void alone(int type) {
    char byte = 'x';
    struct place place = at_path("alone");
    struct sockaddr_un address;
    socklen_t len = sizeof address;
    int fd = new_socket(type), count, value = -1;
    printf("alone: poll %x", polled(fd));
    printf(" read %s", name(read(fd, &byte, 1)));
    printf(" recv %s", name(recv(fd, &byte, 1, 0)));
    printf(" write %s", name(write(fd, &byte, 1)));
    printf(" peer %s", name(getpeername(fd, (struct sockaddr *)&address, &len)));
    printf(" accept %s", name(accept(fd, NULL, NULL)));
    printf(" listen %s", name(listen(fd, 1)));
    printf(" fionread %s", name(ioctl(fd, FIONREAD, &count)));
    printf(" sendto %s", name(sendto(fd, "x", 1, 0, (struct sockaddr *)&place.address, place.len)));
    printf(" shut %s", name(shutdown(fd, SHUT_RDWR)));
    printf(" poll %x\n", polled(fd));
    close(fd);
    fd = listen_at(type, &place, 1);
    len = sizeof value;
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len);
    printf("listening: %d poll %x", value, polled(fd));
    printf(" read %s", name(read(fd, &byte, 1)));
    printf(" write %s", name(write(fd, &byte, 1)));
    printf(" fionread %s", name(ioctl(fd, FIONREAD, &count)));
    printf(" connect %s", name(connect_to(fd, &place)));
    printf(" listen %s", name(listen(fd, 7)));
    int other = new_socket(type);
    printf(" shut %s", name(shutdown(fd, SHUT_RD)));
    printf(" connect %s", name(connect_to(other, &place)));
    printf(" accept %s", name(accept(fd, NULL, NULL)));
    printf(" poll %x\n", polled(fd));
    close(fd), close(other);
    unlink("alone");
}

static void conversation(int type) {
    char text[64];
    struct place place = at_path("server"), own = at_path("client");
    struct sockaddr_un address;
    socklen_t len = sizeof address;
    int listener = listen_at(type, &place, 5), client = new_socket(type);
    CHECK_EQUAL(bind_to(client, &own), 0);
    printf("connect %s", name(connect_to(client, &place)));
    printf(" again %s", name(connect_to(client, &place)));
    printf(" listen %s", name(listen(client, 1)));
    printf(" poll %x %x\n", polled(listener), polled(client));
    // What is sent before the connection is taken is not lost.
    printf("early %s", name(send(client, "early", 5, 0)));
    memset(&address, 0, sizeof address);
    int server = accept4(listener, (struct sockaddr *)&address, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    printf(" accept %s %u %s", name(server), len, address.sun_path);
    printf(" %d %d\n", fcntl(server, F_GETFD), (fcntl(server, F_GETFL) & O_NONBLOCK) != 0);
    len = sizeof address;
    memset(&address, 0, sizeof address);
    ssize_t got = recvfrom(server, text, sizeof text, 0, (struct sockaddr *)&address, &len);
    printf("recv %zd from %u %s\n", got, len, len > 2 ? address.sun_path : "");
    len = sizeof address;
    printf("server name %s", name(getsockname(server, (struct sockaddr *)&address, &len)));
    printf(" %u %s", len, address.sun_path);
    len = sizeof address;
    printf(" peer of client %s", name(getpeername(client, (struct sockaddr *)&address, &len)));
    printf(" %u %s\n", len, address.sun_path);
    len = 4;
    memset(&address, 0, sizeof address);
    getpeername(client, (struct sockaddr *)&address, &len);
    printf("cut off %u %s\n", len, address.sun_path);
    printf("sendto %s\n", name(sendto(server, "to", 2, 0, (struct sockaddr *)&own.address, own.len)));
    struct ucred ids = {0};
    len = sizeof ids;
    getsockopt(client, SOL_SOCKET, SO_PEERCRED, &ids, &len);
    printf("ids %d %d", ids.pid == getpid(), ids.uid == geteuid());
    getsockopt(server, SOL_SOCKET, SO_PEERCRED, &ids, &len);
    printf(" %d %d", ids.pid == getpid(), ids.gid == getegid());
    int fresh = new_socket(type);
    getsockopt(fresh, SOL_SOCKET, SO_PEERCRED, &ids, &len);
    printf(" %d %d %d\n", ids.pid, (int)ids.uid, (int)ids.gid);
    close(fresh);
    close(client);
    printf("end poll %x", polled(server));
    got = recv(server, text, sizeof text, 0);
    printf(" %zd", got);
    printf(" send %s", name(send(server, "x", 1, 0)));
    len = sizeof address;
    printf(" peer %s\n", name(getpeername(server, (struct sockaddr *)&address, &len)));
    close(server), close(listener);
    unlink("server"), unlink("client");
}

static void waiting_lines(int type) {
    struct place place = at_name("line");
    int listener = listen_at(type, &place, 1), clients[4];
    printf("line");
    for (int i = 0; i < 4; i++) {
        clients[i] = new_socket(type | SOCK_NONBLOCK);
        printf(" %s", name(connect_to(clients[i], &place)));
    }
    int taken = accept(listener, NULL, NULL);
    printf(" then %s", name(connect_to(clients[2], &place)));
    printf(" poll %x\n", polled(clients[2]));
    // Nobody takes the others.
    send(clients[1], "x", 1, 0);
    close(listener);
    char byte;
    printf("left poll %x", polled(clients[1]));
    printf(" recv %s", name(recv(clients[1], &byte, 1, 0)));
    printf(" then %zd", recv(clients[1], &byte, 1, 0));
    printf(" other %zd", recv(clients[2], &byte, 1, 0));
    printf(" taken %s\n", name(send(taken, "x", 1, 0)));
    close(taken);
    for (int i = 0; i < 4; i++) {
        close(clients[i]);
    }
}

static void *accept_one(void *listener) {
    usleep(20000);
    int taken = accept(*(int *)listener, NULL, NULL);
    CHECK(taken >= 0);
    close(taken);
    return NULL;
}

static void *close_later(void *fd) {
    usleep(20000);
    shutdown(*(int *)fd, SHUT_RDWR);
    return NULL;
}

static void on_alarm(int number) { (void)number; }

// Waiting for room in the line, for a connection, and what ends such waits.
static void waiting(int type) {
    struct place place = at_name("wait");
    int listener = listen_at(type, &place, 0), first = new_socket(type), second = new_socket(type);
    pthread_t thread;
    CHECK_EQUAL(connect_to(first, &place), 0);
    struct timeval time = {0, 20000};
    setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    printf("time %s", name(connect_to(second, &place)));
    time.tv_usec = 0;
    setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    pthread_create(&thread, NULL, accept_one, &listener);
    printf(" connect %s", name(connect_to(second, &place)));
    pthread_join(thread, NULL);
    close(accept(listener, NULL, NULL));
    time.tv_usec = 20000;
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    printf(" accept %s", name(accept(listener, NULL, NULL)));
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    time.tv_usec = 0;
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    struct itimerval soon = {.it_value = {0, 10000}, .it_interval = {0, 10000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    printf(" signal %s", name(accept(listener, NULL, NULL)));
    soon = (struct itimerval){0};
    setitimer(ITIMER_REAL, &soon, NULL);
    pthread_create(&thread, NULL, close_later, &listener);
    printf(" shut %s\n", name(accept(listener, NULL, NULL)));
    pthread_join(thread, NULL);
    close(first), close(second), close(listener);
}

// Who has been waiting with epoll since before there was a connection hears of everything.
static void watched(int type) {
    struct place place = at_name("watch");
    int listener = listen_at(type, &place, 5), client = new_socket(type), all = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = client}, found[2];
    epoll_ctl(all, EPOLL_CTL_ADD, client, &event);
    event.data.fd = listener;
    epoll_ctl(all, EPOLL_CTL_ADD, listener, &event);
    printf("watch %d", epoll_wait(all, found, 2, 0));
    printf(" %x", found[0].events);
    printf(" %d", epoll_wait(all, found, 2, 0));
    connect_to(client, &place);
    int count = epoll_wait(all, found, 2, 1000);
    for (int i = 0; i < count; i++) {
        if (found[i].data.fd == listener) {
            printf(" listener %x", found[i].events);
        }
    }
    int server = accept(listener, NULL, NULL);
    while (epoll_wait(all, found, 2, 0) > 0) {
    }
    send(server, "x", 1, 0);
    count = epoll_wait(all, found, 2, 1000);
    printf(" data %d %x\n", count, found[0].events);
    close(all), close(server), close(client), close(listener);
}

static void options(void) {
    static const int kept[] = {SO_REUSEADDR, SO_KEEPALIVE, SO_BROADCAST, SO_DONTROUTE, SO_OOBINLINE};
    int fd = new_socket(SOCK_STREAM);
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
        int value = 7;
        socklen_t len = sizeof value;
        printf("option %s", name(setsockopt(fd, SOL_SOCKET, kept[i], &value, len)));
        printf(" %s", name(getsockopt(fd, SOL_SOCKET, kept[i], &value, &len)));
        printf(" %d\n", value);
    }
    close(fd);
}

void connections(void) {
    for (int i = 0; i < 2; i++) {
        alone(types[i]);
        conversation(types[i]);
        waiting_lines(types[i]);
        waiting(types[i]);
        watched(types[i]);
    }
    options();
}
