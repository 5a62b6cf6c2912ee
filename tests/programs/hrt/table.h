/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel's call table, bound by hand: these tests are about the kernel, not about libhrt. */
#ifndef TABLE_H
#define TABLE_H

#include <hadal/hrt/calls.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

static const struct hrt_calls *hrt;

/* Ends the program with the line of a check that failed. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

#include <unistd.h>

static inline void bind_table(void) {
    hrt = (const struct hrt_calls *)getauxval(HRT_AT_HADAL_HRT);
    CHECK(hrt != NULL && hrt->version == HRT_CALLS_VERSION && hrt->place == HRT_PLACE_KERNEL);
    CHECK(hrt->size == sizeof *hrt);
}

#endif
