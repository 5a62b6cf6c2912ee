// SPDX-License-Identifier: Apache-2.0 OR MIT
// What processes share in memory and what they do not, also while threads change it.
#include "parts.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_mutex_t mutex;
    sem_t semaphore;
    int count;
    int late;
};

void memory(void) {
    size_t length = 1 << 20;
    struct shared *shared = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    CHECK(sem_init(&shared->semaphore, 1, 0) == 0);
    enum { CHILDREN = 4, ROUNDS = 2000 };
    for (int index = 0; index < CHILDREN; ++index) {
        if (fork() == 0) {
            CHECK(sem_wait(&shared->semaphore) == 0);
            for (int round = 0; round < ROUNDS; ++round) {
                pthread_mutex_lock(&shared->mutex);
                shared->count += 1;
                pthread_mutex_unlock(&shared->mutex);
            }
            ((int *)shared)[PAGE * (index + 1) / 4] = index + 1;
            _exit(0);
        }
    }
    for (int index = 0; index < CHILDREN; ++index) {
        CHECK(sem_post(&shared->semaphore) == 0);
    }
    for (int index = 0; index < CHILDREN; ++index) {
        int status;
        CHECK(wait(&status) > 0 && status == 0);
    }
    CHECK_EQUAL(shared->count, CHILDREN * ROUNDS);
    for (int index = 0; index < CHILDREN; ++index) {
        CHECK_EQUAL(((int *)shared)[PAGE * (index + 1) / 4], index + 1);
    }
    munmap(shared, length);
    // A file in memory, and a private view of it.
    int fd = memfd_create("shared", 0);
    CHECK(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0);
    char *view = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *copy = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(view != MAP_FAILED && copy != MAP_FAILED);
    copy[0] = 'p';
    pid_t child = fork();
    if (child == 0) {
        CHECK(copy[0] == 'p');
        view[PAGE] = 'c';
        copy[0] = 'q';
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(view[PAGE] == 'c' && copy[0] == 'p');
    // Large pages that are changed in parts by both, and parts that are given back.
    size_t large = 8 << 20;
    unsigned char *bytes = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(bytes != MAP_FAILED);
    for (size_t at = 0; at < large; at += PAGE) {
        bytes[at] = (unsigned char)(at / PAGE);
    }
    child = fork();
    if (child == 0) {
        for (size_t at = 0; at < large; at += 3 * PAGE) {
            bytes[at] ^= 0xff;
        }
        CHECK(munmap(bytes + (1 << 20), 1 << 20) == 0);
        CHECK(mprotect(bytes + (4 << 20), 1 << 20, PROT_READ) == 0);
        pid_t second = fork();
        if (second == 0) {
            for (size_t at = 5 << 20; at < large; at += PAGE) {
                unsigned char changed = (at / PAGE) % 3 == 0 ? 0xff : 0;
                CHECK(bytes[at] == (unsigned char)((at / PAGE) ^ changed));
                bytes[at] = 1;
            }
            _exit(0);
        }
        CHECK_EQUAL(exit_of(second), 0);
        for (size_t at = 2 << 20; at < large; at += PAGE) {
            unsigned char changed = (at / PAGE) % 3 == 0 ? 0xff : 0;
            CHECK(bytes[at] == (unsigned char)((at / PAGE) ^ changed));
        }
        _exit(0);
    }
    madvise(bytes + (6 << 20), 1 << 20, MADV_DONTNEED);
    CHECK_EQUAL(exit_of(child), 0);
    for (size_t at = 0; at < large; at += PAGE) {
        int is_gone = at >= 6 << 20 && at < 7 << 20;
        CHECK_EQUAL(bytes[at], is_gone ? 0 : (unsigned char)(at / PAGE));
    }
    munmap(bytes, large);
}

static atomic_int stop;
static unsigned char *field;
enum { FIELD_PAGES = 600, WORKERS = 3 };

// Each worker keeps all bytes of its pages equal, but for the page that it is changing.
static void *change(void *argument) {
    long number = (long)argument;
    for (unsigned round = 1; !atomic_load(&stop); ++round) {
        for (int page = (int)number; page < FIELD_PAGES; page += WORKERS) {
            memset(field + (size_t)page * PAGE, (int)(round & 0xff), PAGE);
        }
        void *more = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(more != MAP_FAILED);
        memset(more, 1, 3 * PAGE);
        CHECK(munmap(more, 16 * PAGE) == 0);
    }
    return NULL;
}

static int pages_in_change(void) {
    int mixed = 0;
    for (int page = 0; page < FIELD_PAGES; ++page) {
        const unsigned char *at = field + (size_t)page * PAGE;
        mixed += memcmp(at, at + 1, PAGE - 1) != 0;
    }
    return mixed;
}

void threads(void) {
    field =
        mmap(NULL, (size_t)FIELD_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(field != MAP_FAILED);
    pthread_t workers[WORKERS];
    for (long number = 0; number < WORKERS; ++number) {
        CHECK(pthread_create(&workers[number], NULL, change, (void *)number) == 0);
    }
    for (int round = 0; round < 40; ++round) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            // Nobody else is here: what is in change stays so.
            int before = pages_in_change();
            CHECK(before <= WORKERS);
            memset(field, 0xee, PAGE * 50);
            usleep(500);
            CHECK(pages_in_change() <= before);
            _exit(0);
        }
        CHECK_EQUAL(exit_of(child), 0);
    }
    atomic_store(&stop, 1);
    for (int number = 0; number < WORKERS; ++number) {
        CHECK(pthread_join(workers[number], NULL) == 0);
    }
    CHECK_EQUAL(pages_in_change(), 0);
    munmap(field, (size_t)FIELD_PAGES * PAGE);
}
