// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// After sched_setaffinity to one processor, CPUID runs on that processor before the call returns: run-time
// libraries find the topology this way. Prints only whether all of it holds, so that machines compare equal;
// with an argument it also prints the number of processors.

#define _GNU_SOURCE
#include "../common/check.h"

#include <cpuid.h>
#include <sched.h>

enum { MOST = 1024 };

static unsigned initial_apic_id(void) {
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    __cpuid(0, a, b, c, d);
    if (a >= 0xb) {
        __cpuid_count(0xb, 0, a, b, c, d);
        if (b != 0) {
            return d;
        }
    }
    __cpuid(1, a, b, c, d);
    return b >> 24;
}

int main(int argc, char **argv) {
    (void)argv;
    size_t size = CPU_ALLOC_SIZE(MOST);
    cpu_set_t *all = CPU_ALLOC(MOST);
    cpu_set_t *one = CPU_ALLOC(MOST);
    static unsigned ids[MOST];
    int count = 0;
    CHECK(all != NULL && one != NULL);
    CHECK_EQUAL(sched_getaffinity(0, size, all), 0);
    for (int round = 0; round < 3; round++) {
        count = 0;
        for (int cpu = 0; cpu < MOST; cpu++) {
            if (!CPU_ISSET_S((size_t)cpu, size, all)) {
                continue;
            }
            CPU_ZERO_S(size, one);
            CPU_SET_S((size_t)cpu, size, one);
            CHECK_EQUAL(sched_setaffinity(0, size, one), 0);
            unsigned id = initial_apic_id();
            CHECK_EQUAL(sched_getcpu(), cpu);
            CHECK(round == 0 || ids[count] == id);
            ids[count] = id;
            for (int other = 0; other < count; other++) {
                CHECK(ids[other] != id);
            }
            count++;
        }
    }
    CHECK(count >= 1);
    // A set without any processor of the machine is refused.
    CPU_ZERO_S(size, one);
    CHECK_ERRNO(sched_setaffinity(0, size, one), EINVAL);
    CHECK_EQUAL(sched_setaffinity(0, size, all), 0);
    printf("CPUID names the processor asked for\n");
    if (argc > 1) {
        printf("%d processors\n", count);
    }
    return 0;
}
