// SPDX-License-Identifier: Apache-2.0 OR MIT
// Many processes at one name, and names that come and go while others ask for them.

#include "parts.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CLIENTS = 8, ROUNDS = 50, SENDERS = 4, LETTERS = 200 };

static void many_clients(int type) {
    struct place place = at_path("many");
    int listener = listen_at(type, &place, 2);
    for (int i = 0; i < CLIENTS; i++) {
        if (fork() == 0) {
            for (int round = 0; round < ROUNDS; round++) {
                int fd = new_socket(type), sent = i * ROUNDS + round, back = -1;
                CHECK_EQUAL(connect_to(fd, &place), 0);
                CHECK_EQUAL(write(fd, &sent, sizeof sent), sizeof sent);
                CHECK_EQUAL(read(fd, &back, sizeof back), sizeof back);
                CHECK_EQUAL(back, sent + 1);
                close(fd);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < CLIENTS * ROUNDS; i++) {
        int fd = accept(listener, NULL, NULL), number;
        CHECK(fd >= 0);
        CHECK_EQUAL(read(fd, &number, sizeof number), sizeof number);
        number++;
        CHECK_EQUAL(write(fd, &number, sizeof number), sizeof number);
        close(fd);
    }
    int status, failures = 0;
    while (wait(&status) > 0) {
        failures += status != 0;
    }
    printf("clients failed %d\n", failures);
    close(listener);
    unlink("many");
}

static void many_senders(void) {
    struct place place = at_path("letters");
    int box = new_socket(SOCK_DGRAM);
    CHECK_EQUAL(bind_to(box, &place), 0);
    for (int i = 0; i < SENDERS; i++) {
        if (fork() == 0) {
            int fd = new_socket(SOCK_DGRAM);
            CHECK_EQUAL(connect_to(fd, &place), 0);
            for (int letter = 0; letter < LETTERS; letter++) {
                CHECK_EQUAL(send(fd, &letter, sizeof letter, 0), sizeof letter);
            }
            _exit(0);
        }
    }
    long sum = 0;
    for (int i = 0; i < SENDERS * LETTERS; i++) {
        int letter;
        CHECK_EQUAL(recv(box, &letter, sizeof letter, 0), sizeof letter);
        sum += letter;
    }
    while (wait(NULL) > 0) {
    }
    printf("letters %ld\n", sum);
    close(box);
    unlink("letters");
}

static atomic_bool over;

static void *come_and_go(void *place) {
    for (int i = 0; i < 300; i++) {
        int fd = listen_at(SOCK_STREAM, place, 1);
        if (i % 2 == 0) {
            int taken = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
            close(taken);
        }
        close(fd);
        unlink(((struct place *)place)->address.sun_path);
    }
    atomic_store(&over, true);
    return NULL;
}

static void races(void) {
    struct place place = at_path("race");
    pthread_t thread;
    pthread_create(&thread, NULL, come_and_go, &place);
    long wrong = 0;
    while (!atomic_load(&over)) {
        int fd = new_socket(SOCK_STREAM);
        int result = connect_to(fd, &place);
        wrong += result != 0 && errno != ECONNREFUSED && errno != ENOENT;
        close(fd);
    }
    pthread_join(thread, NULL);
    printf("races %ld\n", wrong);
}

// A server that is killed leaves nobody waiting.
static void killed(void) {
    struct place place = at_path("killed");
    int ready[2];
    CHECK_EQUAL(pipe(ready), 0);
    pid_t server = fork();
    if (server == 0) {
        listen_at(SOCK_STREAM, &place, 0);
        CHECK_EQUAL(write(ready[1], "x", 1), 1);
        pause();
        _exit(0);
    }
    char byte;
    CHECK_EQUAL(read(ready[0], &byte, 1), 1);
    int first = new_socket(SOCK_STREAM), second = new_socket(SOCK_STREAM);
    CHECK_EQUAL(connect_to(first, &place), 0);
    pid_t killer = fork();
    if (killer == 0) {
        usleep(20000);
        kill(server, SIGKILL);
        _exit(0);
    }
    printf("killed %s", name(connect_to(second, &place)));
    printf(" %s\n", name(read(first, &byte, 1)));
    while (wait(NULL) > 0) {
    }
    close(first), close(second), close(ready[0]), close(ready[1]);
    unlink("killed");
}

void crowds(void) {
    many_clients(SOCK_STREAM);
    many_clients(SOCK_SEQPACKET);
    many_senders();
    races();
    killed();
}
