/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Binds the call table by hand, for programs that test the kernel without libhrt. */
#include <hadal/hrt.h>
#include <sys/auxv.h>

const struct hrt_calls *hrt_calls;

__attribute__((constructor(101))) static void bind(void) {
    hrt_calls = (const struct hrt_calls *)getauxval(HRT_AT_HADAL_HRT);
}
