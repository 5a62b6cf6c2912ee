// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Much data and many files in the working directory.
//
//   bulk write PATH MEBIBYTES    writes a file of a known pattern and prints its checksum
//   bulk read PATH               reads a file and prints its size and checksum
//   bulk many COUNT              creates COUNT files in a directory, lists them, and removes them
//   bulk fill PATH               writes until the file system is full, at most 1 GiB
//   bulk sync PATH               writes a file, syncs it, says so, and then waits to be killed
//   bulk leave PATH              writes a file and ends at once, without close or sync

#define _GNU_SOURCE
#include "../common/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

enum { BLOCK = 1 << 20 };

static uint64_t block[BLOCK / sizeof(uint64_t)];

// Four independent sums, so that the checksum is not what the time goes into.
static void add_to_checksum(uint64_t *sums, size_t words) {
    for (size_t i = 0; i + 4 <= words; i += 4) {
        for (size_t lane = 0; lane < 4; lane++) {
            sums[lane] = (sums[lane] << 7 | sums[lane] >> 57) ^ block[i + lane];
        }
    }
}

static void print_checksum(const char *what, uint64_t size, const uint64_t *sums) {
    uint64_t sum = sums[0] ^ (sums[1] << 1) ^ (sums[2] << 2) ^ (sums[3] << 3);
    printf("%s %llu bytes, checksum %016llx\n", what, (unsigned long long)size, (unsigned long long)sum);
}

static void write_file(const char *path, int mebibytes) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(file >= 0);
    uint64_t sums[4] = {1, 2, 3, 4};
    for (int i = 0; i < mebibytes; i++) {
        for (size_t word = 0; word < sizeof block / sizeof block[0]; word++) {
            block[word] = ((uint64_t)i << 32 | word) * 0x9e3779b97f4a7c15u;
        }
        add_to_checksum(sums, sizeof block / sizeof block[0]);
        for (size_t done = 0; done < BLOCK;) {
            ssize_t length = write(file, (char *)block + done, BLOCK - done);
            CHECK(length > 0);
            done += (size_t)length;
        }
    }
    CHECK_EQUAL(fsync(file), 0);
    CHECK_EQUAL(close(file), 0);
    print_checksum("wrote", (uint64_t)mebibytes * BLOCK, sums);
}

static void read_file(const char *path) {
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    uint64_t sums[4] = {1, 2, 3, 4};
    uint64_t size = 0;
    for (;;) {
        size_t have = 0;
        ssize_t length = 1;
        while (have < BLOCK && length > 0) {
            length = read(file, (char *)block + have, BLOCK - have);
            CHECK(length >= 0);
            have += (size_t)length;
        }
        size += have;
        add_to_checksum(sums, have / sizeof block[0]);
        if (have < BLOCK) {
            break;
        }
    }
    CHECK_EQUAL(close(file), 0);
    print_checksum("read", size, sums);
}

static void many_files(int count) {
    char path[64];
    CHECK_EQUAL(mkdir("many.tmp", 0755), 0);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "many.tmp/file-%05d", i);
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        CHECK(file >= 0);
        CHECK_EQUAL(close(file), 0);
    }
    char *seen = calloc((size_t)count, 1);
    CHECK(seen != NULL);
    DIR *directory = opendir("many.tmp");
    CHECK(directory != NULL);
    int entries = 0;
    int dots = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] == '.') {
            dots++;
            continue;
        }
        int number = atoi(entry->d_name + 5);
        CHECK(number >= 0 && number < count);
        CHECK_EQUAL(seen[number], 0);
        CHECK(entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
        seen[number] = 1;
        entries++;
    }
    CHECK_EQUAL(entries, count);
    CHECK_EQUAL(dots, 2);
    rewinddir(directory);
    CHECK(readdir(directory) != NULL);
    CHECK_EQUAL(closedir(directory), 0);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "many.tmp/file-%05d", i);
        CHECK_EQUAL(unlink(path), 0);
    }
    CHECK_EQUAL(rmdir("many.tmp"), 0);
    free(seen);
    printf("%d entries\n", entries);
}

static void fill(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(file >= 0);
    int blocks = 0;
    ssize_t length;
    errno = 0;
    do {
        length = write(file, block, BLOCK);
        blocks++;
    } while (length > 0 && blocks < 1024);
    CHECK_EQUAL(length, -1);
    CHECK_EQUAL(errno, ENOSPC);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink(path), 0);
    // There is room again.
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(file >= 0);
    CHECK_EQUAL(write(file, "x", 1), 1);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink(path), 0);
    printf("full, then free again\n");
}

static void sync_and_wait(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(file >= 0);
    memset(block, 'S', sizeof block);
    CHECK_EQUAL(write(file, block, 300000), 300000);
    CHECK_EQUAL(fsync(file), 0);
    printf("synced\n");
    fflush(stdout);
    for (;;) {
        pause();
    }
}

static void write_and_leave(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(file >= 0);
    memset(block, 'L', sizeof block);
    CHECK_EQUAL(write(file, block, 200000), 200000);
    printf("left\n");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "write") == 0 && argc > 3) {
        write_file(argv[2], atoi(argv[3]));
    } else if (strcmp(what, "read") == 0) {
        read_file(argv[2]);
    } else if (strcmp(what, "many") == 0) {
        many_files(atoi(argv[2]));
    } else if (strcmp(what, "fill") == 0) {
        fill(argv[2]);
    } else if (strcmp(what, "sync") == 0) {
        sync_and_wait(argv[2]);
    } else if (strcmp(what, "leave") == 0) {
        write_and_leave(argv[2]);
    } else {
        fprintf(stderr, "usage: bulk write|read|many|fill|sync|leave ...\n");
        return 2;
    }
    return 0;
}
