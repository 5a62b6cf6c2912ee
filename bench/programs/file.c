// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Files: the same source in every place. /tmp is in memory on Hadal and a tmpfs in the Linux guest; natively
// it is what the host has there.

#include "bench.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static char page[PAGE_BYTES];
static char path[64];

/* Opens the file of these figures, of one page, new if it is not there. */
static int open_file(void) {
    snprintf(path, sizeof path, "/tmp/hadal-bench-%d", (int)getpid());
    int file = open(path, O_CREAT | O_RDWR, 0600);
    BENCH_EXPECT(file >= 0, true);
    BENCH_EXPECT(pwrite(file, page, PAGE_BYTES, 0), PAGE_BYTES);
    return file;
}

static void close_file(int file) {
    BENCH_EXPECT(close(file), 0);
    BENCH_EXPECT(unlink(path), 0);
}

static int open_or_fail(const char *name, int flags) {
    int file = open(name, flags);
    BENCH_EXPECT(file >= 0, true);
    return file;
}

/* --- names ---------------------------------------------------------------------------------------------- */

static void open_close(const char *name) {
    int file = open_file();
    BENCH_TIME(200, 2000, BENCH_EXPECT(close(open_or_fail(path, O_RDONLY)), 0));
    close_file(file);
    bench_report(name);
}

static void stat_figure(const char *name) {
    struct stat status;
    int file = open_file();
    BENCH_TIME(200, 2000, BENCH_EXPECT(stat(path, &status), 0));
    close_file(file);
    bench_report(name);
}

static void fstat_figure(const char *name) {
    struct stat status;
    int file = open_file();
    BENCH_TIME(200, 2000, BENCH_EXPECT(fstat(file, &status), 0));
    close_file(file);
    bench_report(name);
}

/* A file's whole life: created, 100 bytes written, closed, removed. */
static void create(const char *name) {
    snprintf(path, sizeof path, "/tmp/hadal-bench-%d-new", (int)getpid());
    BENCH_TIME(100, 1000, {
        int file = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
        BENCH_EXPECT(write(file, page, 100), 100);
        BENCH_EXPECT(close(file), 0);
        BENCH_EXPECT(unlink(path), 0);
    });
    bench_report(name);
}

/* --- content -------------------------------------------------------------------------------------------- */

static void pread_of(const char *name, ssize_t bytes) {
    int file = open_file();
    BENCH_TIME(200, 2000, BENCH_EXPECT(pread(file, page, (size_t)bytes, 0), bytes));
    close_file(file);
    bench_report(name);
}

static void pwrite_of(const char *name, ssize_t bytes) {
    int file = open_file();
    BENCH_TIME(200, 2000, BENCH_EXPECT(pwrite(file, page, (size_t)bytes, 0), bytes));
    close_file(file);
    bench_report(name);
}

static void pread_page(const char *name) { pread_of(name, PAGE_BYTES); }
static void pread_byte(const char *name) { pread_of(name, 1); }
static void pwrite_page(const char *name) { pwrite_of(name, PAGE_BYTES); }
static void pwrite_byte(const char *name) { pwrite_of(name, 1); }

static void write_null(const char *name) {
    int null = open_or_fail("/dev/null", O_WRONLY);
    BENCH_TIME(200, 2000, BENCH_EXPECT(write(null, page, 1), 1));
    BENCH_EXPECT(close(null), 0);
    bench_report(name);
}

/* What a program does that looks at itself. */
static void proc_stat(const char *name) {
    BENCH_TIME(100, 1000, {
        int file = open_or_fail("/proc/self/stat", O_RDONLY);
        BENCH_EXPECT(read(file, page, PAGE_BYTES) > 0, true);
        BENCH_EXPECT(close(file), 0);
    });
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"file.open_close", open_close},    {"file.stat", stat_figure},     {"file.fstat", fstat_figure},
    {"file.create_unlink", create},     {"file.pread_4k", pread_page},  {"file.pread_1", pread_byte},
    {"file.pwrite_4k", pwrite_page},    {"file.pwrite_1", pwrite_byte}, {"file.write_null", write_null},
    {"file.proc_self_stat", proc_stat},
};

BENCH_MAIN(figures)
