// SPDX-License-Identifier: Apache-2.0 OR MIT
// CPUs: those that the process may use when it starts, numbered from 0.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "linux.h"
#include "sysfs.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cpu_set_t allowed;
static uint16_t numbers[CPU_SETSIZE]; // Linux's number of each CPU
static uint16_t reverse[CPU_SETSIZE];
static uint32_t count;

static void find(void) {
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        CPU_ZERO(&allowed);
        CPU_SET(0, &allowed);
    }
    for (uint32_t number = 0; number < CPU_SETSIZE; number++) {
        if (CPU_ISSET(number, &allowed)) {
            reverse[number] = (uint16_t)count;
            numbers[count++] = (uint16_t)number;
        }
    }
}

uint32_t hrt_linux_cpu_count(void) {
    pthread_once(&once, find);
    return count;
}

uint32_t hrt_linux_cpu_number(uint32_t cpu) {
    pthread_once(&once, find);
    return numbers[cpu];
}

uint32_t hrt_linux_cpu_self(void) {
    pthread_once(&once, find);
    int number = sched_getcpu();
    return number < 0 || number >= CPU_SETSIZE ? 0 : reverse[number];
}

void hrt_linux_cpu_set(int32_t cpu, cpu_set_t *set) {
    pthread_once(&once, find);
    *set = allowed;
    if (cpu != HRT_CPU_ANY) {
        CPU_ZERO(set);
        CPU_SET(numbers[cpu], set);
    }
}

static int bind(const cpu_set_t *set) {
    int saved = errno;
    int status = sched_setaffinity(0, sizeof *set, set) == 0 ? HRT_OK : errno;
    errno = saved;
    return status;
}

int hrt_linux_bind_caller(int32_t cpu) {
    cpu_set_t set;
    hrt_linux_cpu_set(cpu, &set);
    return bind(&set);
}

int hrt_linux_bind_caller_to_zone(uint32_t zone) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t cpu = 0; cpu < hrt_linux_cpu_count(); cpu++) {
        if (hrt_linux_zone_of_cpu(cpu) == zone) {
            CPU_SET(numbers[cpu], &set);
        }
    }
    return bind(&set);
}

#define CPU_FILE "/sys/devices/system/cpu/cpu%u/"

// The place of a CPU among those of its core.
static uint32_t thread_of(uint32_t number) {
    char list[256];
    cpu_set_t siblings;
    uint32_t place = 0;
    if (!hrt_sysfs_text(list, sizeof list, CPU_FILE "topology/thread_siblings_list", number)) {
        return 0;
    }
    hrt_sysfs_set(list, &siblings);
    for (uint32_t other = 0; other < number; other++) {
        place += CPU_ISSET(other, &siblings) ? 1 : 0;
    }
    return place;
}

int hrt_linux_cpu_info(uint32_t cpu, struct hrt_cpu_info *info, uint64_t info_bytes) {
    if (cpu >= hrt_linux_cpu_count() || !info || info_bytes != sizeof *info) {
        return HRT_EINVAL;
    }
    uint32_t number = numbers[cpu];
    *info = (struct hrt_cpu_info){
        .cpu = cpu,
        .apic_id = number, // Linux does not tell
        .socket = (uint32_t)hrt_sysfs_number(0, CPU_FILE "topology/physical_package_id", number),
        .core = (uint32_t)hrt_sysfs_number(number, CPU_FILE "topology/core_id", number),
        .thread = thread_of(number),
        .zone = hrt_linux_zone_of_cpu(cpu),
    };
    return HRT_OK;
}

static uint32_t cache_kind(const char *type) {
    return type[0] == 'D' ? HRT_CACHE_DATA : type[0] == 'I' ? HRT_CACHE_INSTRUCTION : HRT_CACHE_UNIFIED;
}

int hrt_linux_cache_info(uint32_t cpu, uint32_t index, struct hrt_cache_info *info, uint64_t info_bytes) {
    if (cpu >= hrt_linux_cpu_count() || !info || info_bytes != sizeof *info) {
        return HRT_EINVAL;
    }
    uint32_t number = numbers[cpu];
    char text[256];
    cpu_set_t sharers;
    if (!hrt_sysfs_text(text, sizeof text, CPU_FILE "cache/index%u/type", number, index)) {
        return HRT_ENODEV;
    }
    *info = (struct hrt_cache_info){
        .level = (uint32_t)hrt_sysfs_number(0, CPU_FILE "cache/index%u/level", number, index),
        .kind = cache_kind(text),
        // The file says 48K.
        .bytes = hrt_sysfs_number(0, CPU_FILE "cache/index%u/size", number, index) * 1024,
        .line_bytes =
            (uint32_t)hrt_sysfs_number(0, CPU_FILE "cache/index%u/coherency_line_size", number, index),
        .ways = (uint32_t)hrt_sysfs_number(0, CPU_FILE "cache/index%u/ways_of_associativity", number, index),
        .first_cpu = cpu,
    };
    if (hrt_sysfs_text(text, sizeof text, CPU_FILE "cache/index%u/shared_cpu_list", number, index)) {
        hrt_sysfs_set(text, &sharers);
        for (uint32_t other = count; other-- > 0;) {
            if (CPU_ISSET(numbers[other], &sharers)) {
                info->first_cpu = other;
                info->cpus++;
            }
        }
    }
    return HRT_OK;
}
