// SPDX-License-Identifier: Apache-2.0 OR MIT
// Files and directories in memory until there is no room for their names or content.
#define _GNU_SOURCE
#include "exhaust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE "/dev/shm/exhaust"

static const int REFUSALS[] = {ENOSPC, ENOMEM, EMFILE, ENFILE, EDQUOT, 0};
static const size_t MOST = 20000;

static const char *name_of(char *text, size_t number) {
    sprintf(text, PLACE "/%0200zu", number);
    return text;
}

static size_t listed(void) {
    size_t count = 0;
    DIR *directory = opendir(PLACE);
    if (directory == NULL) {
        expect_refusal("opendir", REFUSALS);
        return 0;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

// A path needs a few bytes of the kernel's, which the first removals may not find: those have another attempt
// when the others have made room.
static void remove_all(size_t count, int flags) {
    char text[256];
    listed();
    for (int attempt = 0; attempt < 2; attempt++) {
        for (size_t number = 0; number < count; number++) {
            if (unlinkat(AT_FDCWD, name_of(text, number), flags) != 0 && errno != ENOENT) {
                expect_refusal("unlinkat", REFUSALS);
            }
        }
    }
    if (rmdir(PLACE) != 0) {
        expect_refusal("rmdir", REFUSALS);
    }
}

size_t use_up_files(void) {
    char text[256];
    size_t count = 0;
    mkdir(PLACE, 0700);
    int fd = 0;
    while (count < MOST * scale && (fd = open(name_of(text, count), O_CREAT | O_WRONLY, 0600)) >= 0) {
        close(fd);
        count++;
    }
    if (count < MOST * scale) {
        expect_refusal("open", REFUSALS);
    }
    remove_all(count, 0);
    return count;
}

size_t use_up_directories(void) {
    char text[256];
    size_t count = 0;
    mkdir(PLACE, 0700);
    while (count < MOST * scale && mkdir(name_of(text, count), 0700) == 0) {
        count++;
    }
    if (count < MOST * scale) {
        expect_refusal("mkdir", REFUSALS);
    }
    remove_all(count, AT_REMOVEDIR);
    return count;
}

// Named pipes that are open.
size_t use_up_fifos(void) {
    enum { OPEN = 20000 };
    static int fds[OPEN];
    char text[256];
    size_t count = 0;
    mkdir(PLACE, 0700);
    for (; count < OPEN; count++) {
        if (mkfifo(name_of(text, count), 0600) != 0) {
            expect_refusal("mkfifo", REFUSALS);
            break;
        }
        fds[count] = open(name_of(text, count), O_RDWR | O_NONBLOCK);
        if (fds[count] < 0) {
            expect_refusal("open of a fifo", REFUSALS);
            count++;
            break;
        }
    }
    for (size_t number = 0; number < count; number++) {
        close(fds[number]);
    }
    remove_all(count, 0);
    return count;
}

// One byte in each of many pages, so that what the kernel notes about a page counts.
size_t use_up_small_writes(void) {
    size_t count = 0;
    mkdir(PLACE, 0700);
    char text[256];
    const int fd = open(name_of(text, 0), O_CREAT | O_RDWR, 0600);
    while (count < MOST * scale && pwrite(fd, "x", 1, (off_t)count * 4096) == 1) {
        count++;
    }
    if (count < MOST * scale) {
        expect_refusal("pwrite", REFUSALS);
    }
    close(fd);
    remove_all(1, 0);
    return count;
}
