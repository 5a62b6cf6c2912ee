// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Uses all memory of a small machine: never more than 2 GiB, so that a mistake does no harm to a large one.
//
//   exhaust fail      asks for memory until malloc fails, then gives it back and goes on
//   exhaust touch     touches more than there is: ended by the kernel
//   exhaust threads   the same from four threads

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sys/mman.h>

static const size_t MOST_BYTES = (size_t)2 << 30;

static void *touch_all(void *argument) {
    size_t length = *(const size_t *)argument;
    volatile char *space =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(space != MAP_FAILED);
    for (size_t i = 0; i < length; i += 4096) {
        space[i] = 1;
    }
    return NULL;
}

struct piece {
    struct piece *next;
    char rest[(1 << 20) - 64];
};

static void until_failure(void) {
    // Each piece is filled, so a system that gives out more than it has would end the program here.
    struct piece *all = NULL;
    long pieces = 0;
    for (;;) {
        CHECK((size_t)pieces < MOST_BYTES / sizeof(struct piece));
        struct piece *piece = mmap(NULL, sizeof *piece, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (piece == MAP_FAILED) {
            CHECK_EQUAL(errno, ENOMEM);
            break;
        }
        memset(piece->rest, 1, sizeof piece->rest);
        piece->next = all;
        all = piece;
        pieces++;
    }
    CHECK(pieces > 10);
    while (all != NULL) {
        struct piece *next = all->next;
        CHECK_EQUAL(munmap(all, sizeof *all), 0);
        all = next;
    }
    char *again = malloc(8 << 20);
    CHECK(again != NULL);
    memset(again, 1, 8 << 20);
    free(again);
    printf("memory ran out and came back\n");
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "fail";
    printf("about to use all memory\n");
    fflush(stdout);
    if (strcmp(how, "fail") == 0) {
        until_failure();
        return 0;
    }
    pthread_t threads[4];
    int count = strcmp(how, "threads") == 0 ? 4 : 1;
    size_t share = MOST_BYTES / (size_t)count;
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, touch_all, &share), 0);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("all of it was there\n");
    return 0;
}
