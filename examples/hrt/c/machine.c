// SPDX-License-Identifier: Apache-2.0 OR MIT
// CPUs and zones, and memory in each zone.
#include <hadal/hrt.h>
#include <stdio.h>

int main(void) {
    int wrong = 0;
    for (uint32_t cpu = 0; cpu < hrt_cpu_count(); cpu++) {
        struct hrt_cpu_info info;
        hrt_cpu_info(cpu, &info);
        fprintf(stderr, "CPU %u: socket %u core %u thread %u, zone %u\n", cpu, info.socket, info.core,
                info.thread, info.zone);
    }
    for (uint32_t zone = 0; zone < hrt_zone_count(); zone++) {
        struct hrt_zone_info info;
        hrt_zone_info(zone, &info);
        fprintf(stderr, "zone %u: %u CPUs, %llu MiB, %llu MiB free\n", zone, info.cpus,
                (unsigned long long)info.total_bytes >> 20, (unsigned long long)info.free_bytes >> 20);
        char *block = hrt_alloc(1 << 20, (int32_t)zone, HRT_ALLOC_ZERO | HRT_ALLOC_STRICT);
        wrong += !block || hrt_zone_of(block) != (int32_t)zone || block[12345] != 0;
        wrong += hrt_free(block) != HRT_OK;
    }
    puts(wrong ? "memory is not where it should be" : "memory of every zone");
    return wrong;
}
