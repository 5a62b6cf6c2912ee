// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Runs the functions of a vDSO image on the host, with a data page of its own making: `host_test IMAGE`.
//
// The image is mapped as the kernel maps it, the page directly before it. Every rate here is one nanosecond
// per tick or a simple multiple, so that the expected result follows from the time-stamp counter alone.
// Started by
// ../tests/vdso_on_host.rs; ends with status 0 when all is well, and otherwise names the line that failed.

#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <x86intrin.h>

#define PAGE_BYTES 4096
#define ONE_NS (UINT64_C(1) << 32)
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

// As in vdso.c.
struct vvar {
    _Atomic uint32_t sequence;
    uint32_t features;
    uint64_t origin_tsc;
    uint64_t origin_ns;
    uint64_t rate;
    uint64_t rate_before;
    int64_t realtime_offset_ns;
    uint32_t origin_fraction;
    uint32_t reserved;
};

static struct vvar *vvar;
static char *image;
static int (*vdso_clock_gettime)(clockid_t, struct timespec *);
static int (*vdso_clock_getres)(clockid_t, struct timespec *);
static int (*vdso_gettimeofday)(struct timeval *, struct timezone *);
static time_t (*vdso_time)(time_t *);
static long (*vdso_getcpu)(unsigned *, unsigned *, void *);

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    CHECK(file);
    char *pages = mmap(NULL, 16 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    vvar = (struct vvar *)pages;
    image = pages + PAGE_BYTES;
    CHECK(fread(image, 1, 14 * PAGE_BYTES, file) > sizeof(Elf64_Ehdr));
    fclose(file);
    CHECK(mprotect(image, 15 * PAGE_BYTES, PROT_READ | PROT_EXEC) == 0);
}

// Finds a function by its name, through the dynamic section as a C library does.
static void *function(const char *name) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(image + header->e_phoff);
    const Elf64_Dyn *entry = NULL;
    for (int i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_DYNAMIC)
            entry = (const Elf64_Dyn *)(image + segments[i].p_vaddr);
    CHECK(entry);
    const Elf64_Sym *symbols = NULL;
    const char *strings = NULL;
    const uint32_t *hash = NULL;
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = (const Elf64_Sym *)(image + entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB)
            strings = image + entry->d_un.d_ptr;
        if (entry->d_tag == DT_HASH)
            hash = (const uint32_t *)(image + entry->d_un.d_ptr);
    }
    CHECK(symbols && strings && hash);
    for (uint32_t i = 0; i < hash[1]; i++)
        if (strcmp(strings + symbols[i].st_name, name) == 0)
            return image + symbols[i].st_value;
    fprintf(stderr, "no %s in the image\n", name);
    exit(1);
}

static uint64_t tsc(void) {
    unsigned aux;
    _mm_lfence();
    uint64_t ticks = __rdtscp(&aux);
    _mm_lfence();
    return ticks;
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec time = {-1, -1};
    CHECK(vdso_clock_gettime(clock, &time) == 0);
    CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void clocks_follow_the_page(void) {
    const clockid_t monotonic[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE,
                                   CLOCK_BOOTTIME};
    const int64_t offset_ns = INT64_C(1795266855123456789);
    *vvar = (struct vvar){.origin_tsc = tsc(), .origin_ns = 5000000000, .rate = 3 * ONE_NS / 2};
    vvar->realtime_offset_ns = offset_ns;
    for (int i = 0; i < 4; i++) {
        uint64_t before = 5000000000 + (tsc() - vvar->origin_tsc) * 3 / 2;
        uint64_t ns = read_clock(monotonic[i]);
        uint64_t after = 5000000000 + (tsc() - vvar->origin_tsc) * 3 / 2;
        CHECK(before <= ns && ns <= after);
    }
    uint64_t before = read_clock(CLOCK_MONOTONIC);
    uint64_t real = read_clock(CLOCK_REALTIME);
    uint64_t coarse = read_clock(CLOCK_REALTIME_COARSE);
    struct timeval day;
    struct timezone zone = {1, 1};
    CHECK(vdso_gettimeofday(&day, &zone) == 0 && zone.tz_minuteswest == 0 && zone.tz_dsttime == 0);
    time_t stored, returned = vdso_time(&stored);
    uint64_t after = read_clock(CLOCK_MONOTONIC);
    uint64_t low = before + (uint64_t)offset_ns, high = after + (uint64_t)offset_ns;
    CHECK(low <= real && real <= coarse && coarse <= high);
    uint64_t day_us = (uint64_t)day.tv_sec * 1000000 + (uint64_t)day.tv_usec;
    CHECK(day_us >= coarse / 1000 && day_us <= high / 1000);
    CHECK(stored == returned && (uint64_t)returned == high / 1000000000);
    CHECK(vdso_time(NULL) == returned && vdso_gettimeofday(NULL, NULL) == 0);
}

static void times_before_the_origin(void) {
    uint64_t ahead = UINT64_C(1) << 50;
    *vvar = (struct vvar){.origin_tsc = tsc() + ahead, .origin_ns = ahead, .rate_before = ONE_NS};
    uint64_t first = vvar->origin_tsc - ahead;
    uint64_t before = tsc() - first;
    uint64_t ns = read_clock(CLOCK_MONOTONIC);
    CHECK(before <= ns && ns <= tsc() - first);
    vvar->rate_before = 2 * ONE_NS;
    CHECK(read_clock(CLOCK_MONOTONIC) == 0);
}

static void a_century_does_not_overflow(void) {
    uint64_t century_ns = UINT64_C(100) * 366 * 86400 * 1000000000;
    *vvar = (struct vvar){.origin_tsc = tsc(), .origin_ns = century_ns, .rate = UINT64_MAX / 2};
    CHECK(read_clock(CLOCK_MONOTONIC) >= century_ns);
    vvar->origin_tsc = 0;
    vvar->origin_ns = 0;
    vvar->rate = 0;
    vvar->origin_fraction = UINT32_MAX;
    CHECK(read_clock(CLOCK_MONOTONIC) == 0);
}

static void other_clocks_go_to_the_kernel(void) {
    *vvar = (struct vvar){.origin_tsc = 0};
    CHECK(read_clock(CLOCK_PROCESS_CPUTIME_ID) > 0);
    struct timespec time;
    CHECK(vdso_clock_gettime(9999, &time) == -EINVAL);
    CHECK(vdso_clock_getres(9999, &time) == -EINVAL);
    CHECK(vdso_clock_getres(CLOCK_MONOTONIC, &time) == 0 && time.tv_sec == 0 && time.tv_nsec == 1);
    CHECK(vdso_clock_getres(CLOCK_REALTIME, NULL) == 0);
}

static void cpu_number(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)sched_getcpu(), &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
    unsigned cpu = ~0u, node = ~0u, aux;
    vvar->features = 0;
    CHECK(vdso_getcpu(&cpu, &node, NULL) == 0 && cpu == (unsigned)sched_getcpu() && node != ~0u);
    vvar->features = 1;
    __rdtscp(&aux);
    CHECK(vdso_getcpu(&cpu, &node, NULL) == 0 && cpu == (aux & 0xfff) && node == aux >> 12);
    CHECK(vdso_getcpu(NULL, NULL, NULL) == 0);
}

static atomic_bool done;

// Changes the page all the time, always so that the wall clock shows zero.
static void *writer(void *unused) {
    for (uint64_t round = 0; !atomic_load(&done); round++) {
        atomic_fetch_add(&vvar->sequence, 1);
        ((volatile struct vvar *)vvar)->origin_ns = round * 1000000007;
        ((volatile struct vvar *)vvar)->realtime_offset_ns = -(int64_t)(round * 1000000007);
        atomic_fetch_add(&vvar->sequence, 1);
    }
    return unused;
}

static void no_mixture_is_seen(void) {
    pthread_t thread;
    *vvar = (struct vvar){.origin_tsc = 0};
    CHECK(pthread_create(&thread, NULL, writer, NULL) == 0);
    for (int round = 0; round < 1000000; round++)
        CHECK(read_clock(CLOCK_REALTIME) == 0);
    atomic_store(&done, true);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    load(arguments[1]);
    *(void **)&vdso_clock_gettime = function("__vdso_clock_gettime");
    *(void **)&vdso_clock_getres = function("__vdso_clock_getres");
    *(void **)&vdso_gettimeofday = function("__vdso_gettimeofday");
    *(void **)&vdso_time = function("__vdso_time");
    *(void **)&vdso_getcpu = function("__vdso_getcpu");
    clocks_follow_the_page();
    times_before_the_origin();
    a_century_does_not_overflow();
    other_clocks_go_to_the_kernel();
    no_mixture_is_seen();
    cpu_number();
    puts("ok");
    return 0;
}
