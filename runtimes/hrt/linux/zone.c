// SPDX-License-Identifier: Apache-2.0 OR MIT
// NUMA zones: Linux's nodes that have memory, numbered from 0. A kernel without NUMA is one zone.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux.h"
#include "sysfs.h"

#define ZONES_MAX 64
#define NODE_FILE "/sys/devices/system/node/"
#define HUGE_ORDER 9 /* 2 MiB in pages of 4 KiB */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t nodes[ZONES_MAX]; // Linux's number of each zone
static uint32_t count;
static uint8_t zone_of_number[CPU_SETSIZE];

static void find(void) {
    char list[512];
    cpu_set_t set;
    CPU_ZERO(&set);
    if (hrt_sysfs_text(list, sizeof list, NODE_FILE "has_memory")) {
        hrt_sysfs_set(list, &set);
    }
    for (uint32_t node = 0; node < CPU_SETSIZE && count < ZONES_MAX; node++) {
        if (CPU_ISSET(node, &set)) {
            nodes[count++] = node;
        }
    }
    if (count == 0) {
        count = 1;
    }
    for (uint32_t zone = 0; zone < count; zone++) {
        if (hrt_sysfs_text(list, sizeof list, NODE_FILE "node%u/cpulist", nodes[zone])) {
            hrt_sysfs_set(list, &set);
            for (uint32_t number = 0; number < CPU_SETSIZE; number++) {
                if (CPU_ISSET(number, &set)) {
                    zone_of_number[number] = (uint8_t)zone;
                }
            }
        }
    }
}

uint32_t hrt_linux_zone_count(void) {
    pthread_once(&once, find);
    return count;
}

uint32_t hrt_linux_zone_of_cpu(uint32_t cpu) {
    pthread_once(&once, find);
    return zone_of_number[hrt_linux_cpu_number(cpu)];
}

uint32_t hrt_linux_node_of_zone(uint32_t zone) {
    pthread_once(&once, find);
    return nodes[zone];
}

// A line such as "Node 0 MemTotal:  16309720 kB".
static uint64_t meminfo_bytes(uint32_t zone, const char *key, int system_pages) {
    char path[96], line[160];
    uint64_t kib = 0;
    snprintf(path, sizeof path, NODE_FILE "node%u/meminfo", nodes[zone]);
    FILE *file = hrt_sysfs_open(path);
    if (!file) {
        return (uint64_t)sysconf(system_pages) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    while (fgets(line, sizeof line, file)) {
        const char *found = strstr(line, key);
        if (found) {
            kib = strtoull(found + strlen(key), NULL, 10);
            break;
        }
    }
    fclose(file);
    return kib * 1024;
}

// Lines such as "Node 0, zone   Normal   12 7 ...": free blocks by order, from 0 on.
static uint64_t huge_blocks(uint32_t zone) {
    char line[512];
    uint64_t blocks = 0;
    FILE *file = hrt_sysfs_open("/proc/buddyinfo");
    while (file && fgets(line, sizeof line, file)) {
        unsigned node;
        int skipped = 0;
        if (sscanf(line, "Node %u, zone %*s %n", &node, &skipped) != 1 || node != nodes[zone]) {
            continue;
        }
        char *at = line + skipped;
        for (unsigned order = 0; *at >= '0' && *at <= '9'; order++) {
            uint64_t free = strtoull(at, &at, 10);
            at += strspn(at, " ");
            blocks += order >= HUGE_ORDER ? free << (order - HUGE_ORDER) : 0;
        }
    }
    if (file) {
        fclose(file);
    }
    return blocks;
}

int hrt_linux_zone_info(uint32_t zone, struct hrt_zone_info *info, uint64_t info_bytes) {
    if (zone >= hrt_linux_zone_count() || !info || info_bytes != sizeof *info) {
        return HRT_EINVAL;
    }
    *info = (struct hrt_zone_info){
        .zone = zone,
        .total_bytes = meminfo_bytes(zone, "MemTotal:", _SC_PHYS_PAGES),
        .free_bytes = meminfo_bytes(zone, "MemFree:", _SC_AVPHYS_PAGES),
        .huge_pages_total = huge_blocks(zone),
    };
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count(); cpu++) {
        info->cpus += hrt_linux_zone_of_cpu(cpu) == zone ? 1 : 0;
    }
    hrt_linux_memory_counters(zone, &info->hrt_bytes, &info->allocations);
    return HRT_OK;
}

uint32_t hrt_linux_zone_distance(uint32_t from, uint32_t to) {
    char list[512];
    if (from >= hrt_linux_zone_count() || to >= count) {
        return 0;
    }
    uint32_t distance = from == to ? 10 : 20;
    if (hrt_sysfs_text(list, sizeof list, NODE_FILE "node%u/distance", nodes[from])) {
        char *at = list;
        // One number for each of Linux's nodes online, in their order; those without memory are rare enough.
        for (uint32_t i = 0; i <= to && *at; i++) {
            distance = (uint32_t)strtoul(at, &at, 10);
        }
    }
    return distance;
}
