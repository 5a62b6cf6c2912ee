// SPDX-License-Identifier: Apache-2.0 OR MIT
// libhrt.a runs on the kernel only.
#include <stddef.h>

#include "../internal.h"

const struct hrt_calls *hrt_place_table(void) {
    hrt_die(
        "libhrt: this program needs Hadal: run it with `hadal run`, or link it with libhrt-linux in place of "
        "libhrt to run it on Linux, too\n",
        NULL);
}
