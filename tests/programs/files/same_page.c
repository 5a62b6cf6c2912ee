// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads that leave a barrier touch the same pages of a mapped file at once.
//   same_page THREADS FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/check.h"

enum { PAGE = 4096, PAGES = 256 };

static pthread_barrier_t barrier;
static const volatile char *data;

static void *touch(void *argument) {
    (void)argument;
    long sum = 0;
    pthread_barrier_wait(&barrier);
    for (int page = 0; page < PAGES; page += 64)
        sum += data[page * PAGE];
    CHECK_EQUAL(sum, 4 * 'd');
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int count = atoi(argv[1]);
    char *bytes = malloc((size_t)PAGES * PAGE);
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(bytes != NULL && threads != NULL && fd >= 0);
    memset(bytes, 'd', (size_t)PAGES * PAGE);
    CHECK(write(fd, bytes, (size_t)PAGES * PAGE) == PAGES * PAGE);
    data = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(data != MAP_FAILED);
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 16384) == 0);
    CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], &small, touch, NULL) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    puts("every thread has read");
    return 0;
}
