/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the files of libhrt share. Programs never include it. */
#ifndef HRT_INTERNAL_H
#define HRT_INTERNAL_H

#include <hadal/hrt.h>

/* The table that this library falls back to when the kernel offers none: libhrt.a has none (kernel/place.c),
 * libhrt-linux.a has the one of pthreads (linux/table.c). Returns NULL after saying what to do. */
const struct hrt_calls *hrt_place_table(void);

/* Writes the strings up to a NULL to standard error, with nothing but write(2): usable before libc is. */
void hrt_say(const char *text, ...) __attribute__((sentinel));
/* The same, then ends the process with status 127. */
_Noreturn void hrt_die(const char *text, ...) __attribute__((sentinel));

#endif
