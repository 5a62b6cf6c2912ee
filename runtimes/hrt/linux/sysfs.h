/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reading the small files of /sys and /proc. What is not there leaves errno as it was. */
#ifndef HRT_LINUX_SYSFS_H
#define HRT_LINUX_SYSFS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* NULL: there is no such file. */
FILE *hrt_sysfs_open(const char *path);
/* Reads the file whose path the format gives; false: there is none. No newline at the end of `text`. */
bool hrt_sysfs_text(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The decimal number in a file; `otherwise` if there is none. */
uint64_t hrt_sysfs_number(uint64_t otherwise, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A list such as 0-3,8 as a set; empty if it cannot be read. */
void hrt_sysfs_set(const char *list, cpu_set_t *set);

#endif
