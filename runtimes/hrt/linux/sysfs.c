// SPDX-License-Identifier: Apache-2.0 OR MIT
#define _GNU_SOURCE
#include "sysfs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

FILE *hrt_sysfs_open(const char *path) {
    int saved = errno;
    FILE *file = fopen(path, "re");
    errno = saved;
    return file;
}

static bool read_file(char *text, size_t bytes, const char *format, va_list arguments) {
    char path[160];
    vsnprintf(path, sizeof path, format, arguments);
    FILE *file = hrt_sysfs_open(path);
    bool found = file && fgets(text, (int)bytes, file);
    if (file) {
        fclose(file);
    }
    if (found) {
        text[strcspn(text, "\n")] = '\0';
    }
    return found;
}

bool hrt_sysfs_text(char *text, size_t bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bool found = read_file(text, bytes, format, arguments);
    va_end(arguments);
    return found;
}

uint64_t hrt_sysfs_number(uint64_t otherwise, const char *format, ...) {
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    bool found = read_file(text, sizeof text, format, arguments);
    va_end(arguments);
    return found ? strtoull(text, NULL, 10) : otherwise;
}

void hrt_sysfs_set(const char *list, cpu_set_t *set) {
    CPU_ZERO(set);
    while (*list >= '0' && *list <= '9') {
        char *rest;
        unsigned long first = strtoul(list, &rest, 10), last = first;
        if (*rest == '-') {
            last = strtoul(rest + 1, &rest, 10);
        }
        for (; first <= last && first < CPU_SETSIZE; first++) {
            CPU_SET(first, set);
        }
        list = *rest == ',' ? rest + 1 : rest;
    }
}
