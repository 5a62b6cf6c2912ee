// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The three streams of a program.
//
//   streams echo          copies standard input to standard output, byte by byte equal
//   streams both COUNT    writes COUNT numbered lines to each of the outputs, in turn
//   streams bytes         writes every byte value to both outputs
//   streams args [...]    prints its arguments and the environment in hexadecimal
//   streams kinds         says what kind of file each stream is
//   streams closed        closes standard output and writes there

#include "../common/check.h"

#include <sys/stat.h>

extern char **environ;

static void echo(void) {
    static char buffer[65536];
    ssize_t length;
    while ((length = read(0, buffer, sizeof buffer)) > 0) {
        for (ssize_t done = 0; done < length;) {
            ssize_t written = write(1, buffer + done, (size_t)(length - done));
            CHECK(written > 0);
            done += written;
        }
    }
    CHECK_EQUAL(length, 0);
}

static void print_hex(const char *what, const char *text) {
    printf("%s %zu", what, strlen(text));
    for (; *text != '\0'; text++) {
        printf(" %02x", (unsigned char)*text);
    }
    printf("\n");
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void arguments(int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        print_hex("argument", argv[i]);
    }
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    qsort(environ, count, sizeof *environ, by_name);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "TEST_", 5) == 0) {
            print_hex("variable", environ[i]);
        }
    }
}

static void kinds(void) {
    for (int stream = 0; stream < 3; stream++) {
        struct stat status;
        CHECK_EQUAL(fstat(stream, &status), 0);
        printf("%d: terminal %d\n", stream, isatty(stream));
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "echo";
    if (strcmp(what, "echo") == 0) {
        echo();
    } else if (strcmp(what, "both") == 0) {
        int count = argc > 2 ? atoi(argv[2]) : 10;
        for (int i = 0; i < count; i++) {
            printf("output line %d\n", i);
            fprintf(stderr, "error line %d\n", i);
        }
    } else if (strcmp(what, "bytes") == 0) {
        char all[256];
        for (int i = 0; i < 256; i++) {
            all[i] = (char)i;
        }
        CHECK_EQUAL(write(1, all, 256), 256);
        CHECK_EQUAL(write(2, all, 256), 256);
    } else if (strcmp(what, "args") == 0) {
        arguments(argc, argv);
    } else if (strcmp(what, "kinds") == 0) {
        kinds();
    } else if (strcmp(what, "closed") == 0) {
        CHECK_EQUAL(close(1), 0);
        CHECK_ERRNO(write(1, "x", 1), EBADF);
        fprintf(stderr, "standard output is closed\n");
    } else {
        return 2;
    }
    return 0;
}
