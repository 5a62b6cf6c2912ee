// SPDX-License-Identifier: Apache-2.0 OR MIT
// A program that leaves something in the kernel: a key. The shell must not start another program after it.
#include <hadal/hrt.h>
#include <stdio.h>

int main(void) {
    uint32_t key;
    int result = hrt_key_create(&key, NULL);
    printf("key %s\n", result == 0 ? "made" : "refused");
    return result;
}
