// SPDX-License-Identifier: Apache-2.0 OR MIT
// Datagrams between names.

#include "parts.h"

#include <pthread.h>
#include <sys/epoll.h>

static long send_to(int fd, const struct place *to, const char *text) {
    return sendto(fd, text, strlen(text), 0, (const struct sockaddr *)&to->address, to->len);
}

static void letters(void) {
    char text[16] = {0};
    struct place place = at_path("box"), own = at_path("own");
    struct sockaddr_un address;
    int box = new_socket(SOCK_DGRAM), sender = new_socket(SOCK_DGRAM), other = new_socket(SOCK_DGRAM);
    socklen_t len = sizeof address;
    printf("nobody %s", name(send_to(sender, &place, "x")));
    printf(" nowhere %s", name(send(sender, "x", 1, 0)));
    printf(" peer %s\n", name(getpeername(sender, (struct sockaddr *)&address, &len)));
    CHECK_EQUAL(bind_to(box, &place), 0);
    CHECK_EQUAL(bind_to(sender, &own), 0);
    printf("send %ld %ld", send_to(sender, &place, "one"), send_to(other, &place, "two"));
    for (int i = 0; i < 2; i++) {
        len = sizeof address;
        memset(&address, 0, sizeof address);
        ssize_t got = recvfrom(box, text, sizeof text, 0, (struct sockaddr *)&address, &len);
        printf(" %zd %u %s", got, len, len > 2 ? address.sun_path : "");
    }
    struct iovec part = {text, sizeof text};
    struct msghdr message = {
        .msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &part, .msg_iovlen = 1};
    send_to(sender, &place, "three");
    printf(" msg %zd", recvmsg(box, &message, 0));
    printf(" %u %s\n", message.msg_namelen, address.sun_path);
    // An answer.
    message.msg_iov->iov_len = 2;
    printf("answer %zd", sendmsg(box, &message, 0));
    printf(" %zd\n", recv(sender, text, sizeof text, 0));
    printf("connect %s", name(connect_to(sender, &place)));
    printf(" send %zd", send(sender, "four", 4, 0));
    len = sizeof address;
    printf(" peer %s", name(getpeername(sender, (struct sockaddr *)&address, &len)));
    printf(" %u\n", len);
    // Who is connected hears nobody else.
    printf("others %s", name(send_to(box, &own, "x")));
    printf(" %s", name(send_to(other, &own, "x")));
    printf(" connect %s\n", name(connect_to(other, &own)));
    address.sun_family = AF_UNSPEC;
    printf("again %s", name(connect(sender, (struct sockaddr *)&address, 2)));
    printf(" send %s", name(send(sender, "x", 1, 0)));
    printf(" others %s", name(send_to(other, &own, "x")));
    printf(" itself %s", name(send_to(sender, &own, "x")));
    printf(" listen %s", name(listen(sender, 1)));
    printf(" accept %s\n", name(accept(sender, NULL, NULL)));
    connect_to(other, &place);
    close(box);
    printf("gone %s", name(send_to(sender, &place, "x")));
    printf(" %s", name(send(other, "x", 1, 0)));
    printf(" %s\n", name(send(other, "x", 1, 0)));
    close(sender), close(other);
    unlink("box"), unlink("own");
}

static void *receive_later(void *box) {
    char text[8];
    usleep(20000);
    CHECK_EQUAL(recv(*(int *)box, text, sizeof text, 0), 1);
    return NULL;
}

// So many wait and no more, whoever has sent them; and who waits for room, with epoll or without, hears of
// it.
static void full(void) {
    char text[8];
    struct place place = at_name("full");
    int box = new_socket(SOCK_DGRAM), senders_[3], count = 0;
    CHECK_EQUAL(bind_to(box, &place), 0);
    for (int i = 0; i < 3; i++) {
        senders_[i] = new_socket(SOCK_DGRAM);
        CHECK_EQUAL(connect_to(senders_[i], &place), 0);
    }
    while (send(senders_[count % 3], "x", 1, MSG_DONTWAIT) == 1) {
        count++;
    }
    printf("full %d %s", count, name(-1));
    printf(" poll %x", polled(senders_[0]) & POLLOUT);
    int all = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET, .data.fd = 1}, found;
    epoll_ctl(all, EPOLL_CTL_ADD, senders_[1], &event);
    printf(" epoll %d", epoll_wait(all, &found, 1, 0));
    pthread_t thread;
    pthread_create(&thread, NULL, receive_later, &box);
    printf(" send %s", name(send(senders_[0], "x", 1, 0)));
    pthread_join(thread, NULL);
    recv(box, text, sizeof text, 0);
    printf(" epoll %d", epoll_wait(all, &found, 1, 1000));
    printf(" poll %x\n", polled(senders_[2]) & POLLOUT);
    // Two that are connected to each other are not limited so.
    int ends[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    for (count = 0; count < 100 && send(ends[0], "x", 1, MSG_DONTWAIT) == 1; count++) {
    }
    printf("pair %d\n", count);
    close(all), close(ends[0]), close(ends[1]), close(box);
    for (int i = 0; i < 3; i++) {
        close(senders_[i]);
    }
}

// What an earlier partner has sent is dropped with it.
static void partners(void) {
    char text[8];
    struct place first = at_name("first"), second = at_name("second"), own = at_name("partner");
    int a = new_socket(SOCK_DGRAM), b = new_socket(SOCK_DGRAM), fd = new_socket(SOCK_DGRAM);
    bind_to(a, &first), bind_to(b, &second), bind_to(fd, &own);
    connect_to(fd, &first);
    connect_to(a, &own);
    send(a, "x", 1, 0);
    printf("partner %s", name(connect_to(fd, &second)));
    printf(" recv %s", name(recv(fd, text, sizeof text, MSG_DONTWAIT)));
    printf(" told %s", name(recv(a, text, sizeof text, MSG_DONTWAIT)));
    printf(" send %s\n", name(send(a, "x", 1, 0)));
    close(a), close(b), close(fd);
}

void datagrams(void) {
    letters();
    full();
    partners();
}
