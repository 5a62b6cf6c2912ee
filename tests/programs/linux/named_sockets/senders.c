// SPDX-License-Identifier: Apache-2.0 OR MIT
// Who has sent something: ids of processes, also of children (SCM_CREDENTIALS, SO_PEERCRED).

#include "parts.h"

static pid_t sender_of(int fd, long *got) {
    char text[64];
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {text, sizeof text};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct ucred ids = {.pid = -1};
    *got = recvmsg(fd, &message, 0);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&ids, CMSG_DATA(header), sizeof ids);
        CHECK_EQUAL(ids.pid == 0 ? getuid() : ids.uid, getuid());
    }
    return ids.pid;
}

static pid_t child_that_sends(int fd, const char *text) {
    pid_t child = fork();
    if (child == 0) {
        _exit(send(fd, text, strlen(text), 0) < 0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    return child;
}

static void children(int type) {
    int ends[2], on = 1;
    long got;
    CHECK_EQUAL(socketpair(AF_UNIX, type, 0, ends), 0);
    // Sent before anybody asks.
    child_that_sends(ends[1], "before");
    setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    pid_t first = child_that_sends(ends[1], "one"), second = child_that_sends(ends[1], "two");
    send(ends[1], "own", 3, 0);
    pid_t sender = sender_of(ends[0], &got);
    printf("before %ld %d", got, sender);
    sender = sender_of(ends[0], &got);
    printf(" first %ld %d", got, sender == first);
    sender = sender_of(ends[0], &got);
    printf(" second %ld %d", got, sender == second);
    sender = sender_of(ends[0], &got);
    printf(" own %ld %d", got, sender == getpid());
    struct ucred ids;
    socklen_t len = sizeof ids;
    getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &ids, &len);
    printf(" pair %d\n", ids.pid == getpid());
    close(ends[0]), close(ends[1]);
}

static void server_of_children(void) {
    struct place place = at_name("children");
    int listener = listen_at(SOCK_STREAM, &place, 5), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    pid_t child = fork();
    if (child == 0) {
        int fd = new_socket(SOCK_STREAM);
        struct ucred ids;
        socklen_t len = sizeof ids;
        CHECK_EQUAL(connect_to(fd, &place), 0);
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ids, &len);
        CHECK_EQUAL(ids.pid, getppid());
        send(fd, "hello", 5, 0);
        char byte;
        _exit(read(fd, &byte, 1) == 1 ? 0 : 1);
    }
    int server = accept(listener, NULL, NULL), value = -1;
    struct ucred ids;
    socklen_t len = sizeof ids;
    getsockopt(server, SOL_SOCKET, SO_PEERCRED, &ids, &len);
    printf("child connects %d", ids.pid == child);
    len = sizeof value;
    getsockopt(server, SOL_SOCKET, SO_PASSCRED, &value, &len);
    long got;
    pid_t sender = sender_of(server, &got);
    printf(" inherited %d sends %ld %d", value, got, sender == child);
    struct sockaddr_un address;
    len = sizeof address;
    getpeername(server, (struct sockaddr *)&address, &len);
    printf(" name %u\n", len);
    CHECK_EQUAL(write(server, "x", 1), 1);
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    printf("child %x\n", status);
    close(server), close(listener);
}

// Who asks for ids gets a name of the kernel.
static void named(void) {
    struct place place = at_name("named");
    int box = new_socket(SOCK_DGRAM), sender = new_socket(SOCK_DGRAM), on = 1;
    struct sockaddr_un address;
    socklen_t len = sizeof address;
    char text[8];
    CHECK_EQUAL(bind_to(box, &place), 0);
    setsockopt(sender, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    CHECK_EQUAL(sendto(sender, "x", 1, 0, (struct sockaddr *)&place.address, place.len), 1);
    ssize_t got = recvfrom(box, text, sizeof text, 0, (struct sockaddr *)&address, &len);
    printf("named %zd %u\n", got, len);
    close(box), close(sender);
}

// The socket that listens, through a socket that it has taken: who has it goes on.
static void handed_over(void) {
    struct place place = at_name("handed");
    int listener = listen_at(SOCK_STREAM, &place, 5), client = new_socket(SOCK_STREAM);
    CHECK_EQUAL(connect_to(client, &place), 0);
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {"f", 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &listener, sizeof(int));
    int server = accept(listener, NULL, NULL), got = -1;
    printf("hand over %zd", sendmsg(server, &message, 0));
    close(listener);
    char text[4];
    part = (struct iovec){text, 4};
    message.msg_controllen = sizeof control;
    printf(" %zd", recvmsg(client, &message, 0));
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
    int another = new_socket(SOCK_STREAM);
    printf(" connect %s", name(connect_to(another, &place)));
    printf(" accept %s\n", name(accept(got, NULL, NULL)));
    // In its own line: it goes when nobody can take it out any more.
    close(got), close(another), close(client), close(server);
}

void senders(void) {
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (int i = 0; i < 3; i++) {
        children(types[i]);
    }
    server_of_children();
    named();
    handed_over();
}
