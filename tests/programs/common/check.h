// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Checks and result lines for the test programs. A program prints one line per passed part; a failed check
// ends it with status 99 and a line on standard error that says where. Outputs hold no time, address or
// thread order, so that the same binary prints the same on Linux and on Hadal.

#ifndef HADAL_TEST_CHECK_H
#define HADAL_TEST_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            check_failed(__FILE__, __LINE__, #condition, "");                                                \
        }                                                                                                    \
    } while (0)

// CHECK with the two numbers that should be equal.
#define CHECK_EQUAL(left, right)                                                                             \
    do {                                                                                                     \
        long long check_left = (long long)(left);                                                            \
        long long check_right = (long long)(right);                                                          \
        if (check_left != check_right) {                                                                     \
            char check_text[80];                                                                             \
            snprintf(check_text, sizeof check_text, ": %lld and %lld", check_left, check_right);             \
            check_failed(__FILE__, __LINE__, #left " == " #right, check_text);                               \
        }                                                                                                    \
    } while (0)

// Checks that a call fails with the given errno.
#define CHECK_ERRNO(call, expected)                                                                          \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        long long check_result = (long long)(call);                                                          \
        if (check_result != -1 || errno != (expected)) {                                                     \
            char check_text[80];                                                                             \
            snprintf(check_text, sizeof check_text, ": result %lld", check_result);                          \
            check_failed(__FILE__, __LINE__, #call " fails with " #expected, check_text);                    \
        }                                                                                                    \
    } while (0)

static inline void check_failed(const char *file, int line, const char *condition, const char *detail) {
    const char *base = strrchr(file, '/');
    int error = errno;
    fflush(stdout);
    fprintf(stderr, "%s:%d: not true: %s%s (errno %d, %s)\n", base == NULL ? file : base + 1, line, condition,
            detail, error, strerror(error));
    _exit(99);
}

// A named part of a program, run when no name or its own name is on the command line.
struct part {
    const char *name;
    void (*run)(void);
};

static inline int run_parts(const struct part *parts, size_t count, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t known = 0;
        while (known < count && strcmp(parts[known].name, argv[i]) != 0) {
            known++;
        }
        if (known == count) {
            fprintf(stderr, "%s: no part is named \"%s\"\n", argv[0], argv[i]);
            return 2;
        }
    }
    for (size_t part = 0; part < count; part++) {
        int wanted = argc < 2;
        for (int i = 1; i < argc; i++) {
            wanted |= strcmp(parts[part].name, argv[i]) == 0;
        }
        if (wanted) {
            parts[part].run();
            printf("%s: ok\n", parts[part].name);
            fflush(stdout);
        }
    }
    return 0;
}

#endif
