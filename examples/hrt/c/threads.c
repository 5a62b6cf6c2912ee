// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sums the numbers below ten million, one thread for each CPU, each bound to its own.
#include <hadal/hrt.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMIT 10000000u

struct part {
    uint64_t first, end;
};

static void *sum(void *arg) {
    const struct part *part = arg;
    uint64_t total = 0;
    for (uint64_t i = part->first; i < part->end; i++) {
        total += i;
    }
    return (void *)total;
}

int main(void) {
    uint32_t cpus = hrt_cpu_count();
    struct part *parts = calloc(cpus, sizeof *parts);
    hrt_thread_t *threads = calloc(cpus, sizeof *threads);
    if (!parts || !threads) {
        return EXIT_FAILURE;
    }
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        parts[cpu] = (struct part){(uint64_t)LIMIT * cpu / cpus, (uint64_t)LIMIT * (cpu + 1) / cpus};
        struct hrt_thread_attr attr;
        hrt_thread_attr_init(&attr);
        attr.cpu = (int32_t)cpu;
        attr.name = "sum";
        int status = hrt_thread_create(&threads[cpu], &attr, sum, &parts[cpu]);
        if (status != HRT_OK) {
            fprintf(stderr, "hrt_thread_create: status %d\n", status);
            return EXIT_FAILURE;
        }
    }
    uint64_t total = 0;
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        void *result;
        hrt_thread_join(threads[cpu], &result);
        total += (uint64_t)result;
    }
    printf("sum %llu\n", (unsigned long long)total);
    free(threads);
    free(parts);
    return 0;
}
