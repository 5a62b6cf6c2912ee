// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whether the machine still works: a neighbour that nobody fuzzes, and a little of everything at the end.
#define _GNU_SOURCE
#include "fuzz.h"

#include "../../common/check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { WORDS = 1 << 15, BYTES = 1 << 16, RIGHT = 42 };

static uint32_t expected(uint32_t index, uint32_t round) { return (index + round) * 2654435761u; }

// Writes memory and reads it back a millisecond later, until the parent has gone or asks for the end.
static void live(int end, uint64_t *rounds) {
    uint32_t *words =
        mmap(NULL, WORDS * sizeof *words, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(words != MAP_FAILED);
    struct pollfd ended = {end, POLLIN, 0};
    uint32_t round = 0;
    do {
        for (uint32_t i = 0; i < WORDS; i++) {
            words[i] = expected(i, round);
        }
        ended.revents = 0;
        CHECK(poll(&ended, 1, 1) >= 0);
        for (uint32_t i = 0; i < WORDS; i++) {
            CHECK_EQUAL(words[i], expected(i, round));
        }
        round++;
        __atomic_store_n(rounds, round, __ATOMIC_RELAXED);
    } while (ended.revents == 0);
    _exit(RIGHT);
}

struct neighbour begin_neighbour(uint64_t *rounds) {
    int ends[2];
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[1]);
        live(ends[0], rounds);
    }
    close(ends[0]);
    return (struct neighbour){child, ends[1]};
}

void end_neighbour(struct neighbour neighbour) {
    close(neighbour.stop);
    int status;
    CHECK_EQUAL(waitpid((pid_t)neighbour.process, &status, 0), neighbour.process);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), RIGHT);
}

static void check_child_and_pipe(void) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (uint32_t i = 0; i < BYTES / sizeof i; i++) {
            CHECK_EQUAL(write(ends[1], &i, sizeof i), sizeof i);
        }
        _exit(RIGHT);
    }
    for (uint32_t i = 0; i < BYTES / sizeof i; i++) {
        uint32_t found;
        CHECK_EQUAL(read(ends[0], &found, sizeof found), sizeof found);
        CHECK_EQUAL(found, i);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == RIGHT);
    close(ends[0]);
    close(ends[1]);
}

static void check_memory_and_file(void) {
    uint32_t *words =
        mmap(NULL, WORDS * sizeof *words, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(words != MAP_FAILED);
    for (uint32_t i = 0; i < WORDS; i++) {
        CHECK_EQUAL(words[i], 0);
        words[i] = expected(i, 7);
    }
    int file = open("after", O_CREAT | O_EXCL | O_RDWR, 0600);
    CHECK(file >= 0);
    CHECK_EQUAL(write(file, words, BYTES), BYTES);
    uint32_t *mapped = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
    CHECK(mapped != MAP_FAILED);
    for (uint32_t i = 0; i < BYTES / sizeof *mapped; i++) {
        CHECK_EQUAL(mapped[i], expected(i, 7));
    }
    CHECK_EQUAL(munmap(mapped, BYTES), 0);
    CHECK_EQUAL(munmap(words, WORDS * sizeof *words), 0);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink("after"), 0);
}

void check_machine(void) {
    check_child_and_pipe();
    check_memory_and_file();
}
