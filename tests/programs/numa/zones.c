// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory comes from the zone of the processor that touches it first. Reads the zones from /sys, then for each
// zone touches 64 MiB from one of its processors and compares the free memory of all zones before and after.
//
//   zones ZONES      expects that many; prints processors and distances, then the outcome for each zone

#define _GNU_SOURCE
#include "../common/check.h"

#include <sched.h>
#include <sys/mman.h>

enum { MOST_ZONES = 16, TOUCHED = 64 << 20 };

static void read_line(int zone, const char *name, char *line, int size) {
    char path[120];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/%s", zone, name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(line, size, file) == line);
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

static long free_kib(int zone) {
    char path[120];
    char line[200];
    long value = -1;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", zone);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (value < 0 && fgets(line, sizeof line, file) != NULL) {
        const char *key = strstr(line, "MemFree:");
        if (key != NULL) {
            value = atol(key + strlen("MemFree:"));
        }
    }
    fclose(file);
    CHECK(value >= 0);
    return value;
}

static void touch_from(int zone, int zones) {
    char list[200];
    read_line(zone, "cpulist", list, sizeof list);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)atoi(list), &one);
    CHECK_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned node = 999;
    CHECK_EQUAL(getcpu(NULL, &node), 0);
    CHECK_EQUAL(node, zone);

    long before[MOST_ZONES];
    for (int i = 0; i < zones; i++) {
        before[i] = free_kib(i);
    }
    char *memory = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (size_t i = 0; i < TOUCHED; i += 4096) {
        memory[i] = 1;
    }
    for (int i = 0; i < zones; i++) {
        long used = before[i] - free_kib(i);
        // The zone gave all of it; the others gave no more than some page tables.
        if (i == zone) {
            CHECK(used >= TOUCHED / 1024 * 9 / 10);
        } else {
            CHECK(used < 2048);
        }
    }
    CHECK_EQUAL(munmap(memory, TOUCHED), 0);
    printf("zone %d: first touch is local\n", zone);
}

int main(int argc, char **argv) {
    int zones = argc > 1 ? atoi(argv[1]) : 1;
    CHECK(zones >= 1 && zones <= MOST_ZONES);
    for (int zone = 0; zone < zones; zone++) {
        char cpus[200];
        char distances[200];
        read_line(zone, "cpulist", cpus, sizeof cpus);
        read_line(zone, "distance", distances, sizeof distances);
        printf("zone %d: processors %s, distances %s\n", zone, cpus, distances);
    }
    for (int zone = 0; zone < zones; zone++) {
        touch_from(zone, zones);
    }
    return 0;
}
