// SPDX-License-Identifier: Apache-2.0 OR MIT
// Modules and the command line, as hadal/hrt/module.h gives them.
#include <hadal/hrt.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    struct hrt_module module;
    uint32_t count = 0;
    for (; hrt_module(count, &module) == 0; count++) {
        uint32_t sum = 0;
        for (uint64_t at = 0; at < module.bytes; at++) {
            sum = sum * 31 + ((const unsigned char *)module.data)[at];
        }
        printf("module %s, %llu bytes, sum %u\n", module.name, (unsigned long long)module.bytes, sum);
    }
    printf("command line '%s'\n", hrt_command_line());
    if (hrt_module(count, &module) != HRT_ENODEV || hrt_module(UINT32_MAX, &module) != HRT_ENODEV) {
        return 1;
    }
    return hrt_module(0, NULL) == (count ? HRT_EFAULT : HRT_ENODEV) ? 0 : 2;
}
