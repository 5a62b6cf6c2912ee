// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Devices, and their memory, where there is none but the host. (Clang's library for these is another one.)

#include "../common/check.h"

#include <omp.h>

static void host(void) {
    int host = omp_get_initial_device();
    CHECK_EQUAL(omp_is_initial_device(), 1);
    CHECK_EQUAL(omp_get_num_devices(), 0);
    CHECK_EQUAL(omp_get_device_num(), host);
    omp_set_default_device(2);
    CHECK_EQUAL(omp_get_default_device(), 2);
    omp_set_default_device(0);
    int *memory = omp_target_alloc(24 * sizeof(int), host);
    CHECK(memory != NULL);
    CHECK(omp_target_is_present(memory, host));
    int data[24];
    for (int at = 0; at < 24; at++) {
        data[at] = at;
    }
    CHECK_EQUAL(omp_target_memcpy(memory, data, sizeof data, 0, 0, host, host), 0);
    CHECK(memcmp(memory, data, sizeof data) == 0);
    CHECK_EQUAL(omp_target_memcpy(memory, data, 4, 8, 80, host, host), 0);
    CHECK_EQUAL(memory[2], 20);
    // The middle of 4 x 6 into the corner of 3 x 5.
    const size_t volume[] = {2, 3}, to_at[] = {1, 2}, from_at[] = {1, 1}, to_box[] = {3, 5},
                 from_box[] = {4, 6};
    memset(memory, 0, sizeof data);
    CHECK(omp_target_memcpy_rect(NULL, NULL, sizeof(int), 0, NULL, NULL, NULL, NULL, NULL, host, host) >= 3);
    CHECK_EQUAL(omp_target_memcpy_rect(memory, data, sizeof(int), 2, volume, to_at, from_at, to_box, from_box,
                                       host, host),
                0);
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 5; column++) {
            int is_in = row >= 1 && column >= 2;
            CHECK_EQUAL(memory[row * 5 + column], is_in ? data[row * 6 + column - 1] : 0);
        }
    }
    omp_target_free(memory, host);
    int in_target = 0;
#pragma omp target map(from : in_target)
    in_target = omp_is_initial_device();
    CHECK_EQUAL(in_target, 1);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"host", host}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
