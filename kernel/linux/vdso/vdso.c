// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The vDSO: the calls that a program answers itself, from the page that the kernel keeps up to date.
//
// The kernel maps this image into every program, with the data page directly before it, and passes its
// address in AT_SYSINFO_EHDR; libc finds the functions by name. The page's layout and meaning are those of
// `VvarData` in kernel/time/src/vvar.rs. Clocks that the page does not hold, and everything else that cannot
// be answered here, go to the kernel by the system call of the same name.
//
// The code needs no relocation, no other library and no floating-point register. The kernel's build script
// compiles it (see ../build.rs).

#include <stdint.h>

enum {
    SYS_clock_gettime = 228,
    SYS_clock_getres = 229,
    SYS_getcpu = 309,
};

enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC = 1,
    CLOCK_MONOTONIC_RAW = 4,
    CLOCK_REALTIME_COARSE = 5,
    CLOCK_MONOTONIC_COARSE = 6,
    CLOCK_BOOTTIME = 7,
};

#define NS_PER_SECOND UINT64_C(1000000000)
#define FRACTION_BITS 32
// TSC_AUX holds zone << 12 | cpu.
#define AUX_CPU_BITS 12

struct timespec {
    int64_t tv_sec;
    int64_t tv_nsec;
};

struct timeval {
    int64_t tv_sec;
    int64_t tv_usec;
};

struct timezone {
    int32_t tz_minuteswest;
    int32_t tz_dsttime;
};

#define FEATURE_RDTSCP UINT32_C(1)

struct vvar {
    uint32_t sequence;
    uint32_t features;
    uint64_t origin_tsc;
    uint64_t origin_ns;
    uint64_t rate;
    uint64_t rate_before;
    int64_t realtime_offset_ns;
    uint32_t origin_fraction;
    uint32_t reserved;
};

_Static_assert(__builtin_offsetof(struct vvar, origin_tsc) == 8, "layout of VvarData");
_Static_assert(__builtin_offsetof(struct vvar, rate) == 24, "layout of VvarData");
_Static_assert(__builtin_offsetof(struct vvar, realtime_offset_ns) == 40, "layout of VvarData");
_Static_assert(__builtin_offsetof(struct vvar, origin_fraction) == 48, "layout of VvarData");
_Static_assert(sizeof(struct vvar) == 56, "layout of VvarData");

// Placed by vdso.lds one page before the image.
extern const volatile struct vvar vvar_page __attribute__((visibility("hidden")));

static inline long system_call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

// x86 keeps loads in order, so only the compiler must be told to.
static inline void keep_load_order(void) { __asm__ volatile("" ::: "memory"); }

static inline uint64_t read_tsc(void) {
    uint32_t low, high;
    // The fence keeps the counter from being read before the sequence number.
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline uint64_t scaled(uint64_t ticks, uint64_t rate, uint32_t fraction) {
    return (uint64_t)(((unsigned __int128)ticks * rate + fraction) >> FRACTION_BITS);
}

// Monotonic nanoseconds before the origin of the rate in force: the same value, to the last bit, as the rate
// before it gave.
static uint64_t ns_before_origin(const struct vvar *state, uint64_t ticks) {
    unsigned __int128 origin = (unsigned __int128)state->origin_ns << FRACTION_BITS | state->origin_fraction;
    unsigned __int128 back = (unsigned __int128)ticks * state->rate_before;
    return back > origin ? 0 : (uint64_t)((origin - back) >> FRACTION_BITS);
}

// Monotonic nanoseconds; what to add for the wall clock goes to `*offset_ns`.
static inline uint64_t read_clock(int64_t *offset_ns) {
    struct vvar state;
    uint64_t tsc;
    do {
        while ((state.sequence = vvar_page.sequence) & 1)
            __builtin_ia32_pause();
        keep_load_order();
        state.origin_tsc = vvar_page.origin_tsc;
        state.origin_ns = vvar_page.origin_ns;
        state.rate = vvar_page.rate;
        state.rate_before = vvar_page.rate_before;
        state.realtime_offset_ns = vvar_page.realtime_offset_ns;
        state.origin_fraction = vvar_page.origin_fraction;
        tsc = read_tsc();
        keep_load_order();
    } while (vvar_page.sequence != state.sequence);
    *offset_ns = state.realtime_offset_ns;
    if (__builtin_expect(tsc >= state.origin_tsc, 1))
        return state.origin_ns + scaled(tsc - state.origin_tsc, state.rate, state.origin_fraction);
    return ns_before_origin(&state, state.origin_tsc - tsc);
}

static inline uint64_t read_realtime(void) {
    int64_t offset_ns;
    uint64_t monotonic_ns = read_clock(&offset_ns);
    return monotonic_ns + (uint64_t)offset_ns;
}

// The coarse clocks are the fine ones: without a periodic tick there is nothing cheaper to read.
int __vdso_clock_gettime(int32_t clock, struct timespec *time) {
    uint64_t ns;
    int64_t offset_ns;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        ns = read_realtime();
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        ns = read_clock(&offset_ns);
        break;
    default:
        return (int)system_call(SYS_clock_gettime, clock, (long)time, 0);
    }
    time->tv_sec = (int64_t)(ns / NS_PER_SECOND);
    time->tv_nsec = (int64_t)(ns % NS_PER_SECOND);
    return 0;
}

int __vdso_clock_getres(int32_t clock, struct timespec *resolution) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        break;
    default:
        return (int)system_call(SYS_clock_getres, clock, (long)resolution, 0);
    }
    if (resolution) {
        resolution->tv_sec = 0;
        resolution->tv_nsec = 1;
    }
    return 0;
}

int __vdso_gettimeofday(struct timeval *time, struct timezone *zone) {
    if (time) {
        uint64_t ns = read_realtime();
        time->tv_sec = (int64_t)(ns / NS_PER_SECOND);
        time->tv_usec = (int64_t)(ns % NS_PER_SECOND / 1000);
    }
    if (zone) {
        zone->tz_minuteswest = 0;
        zone->tz_dsttime = 0;
    }
    return 0;
}

int64_t __vdso_time(int64_t *time) {
    int64_t seconds = (int64_t)(read_realtime() / NS_PER_SECOND);
    if (time)
        *time = seconds;
    return seconds;
}

// The third argument, a cache, has had no meaning since Linux 2.6.24.
long __vdso_getcpu(uint32_t *cpu, uint32_t *node, void *unused) {
    uint32_t low, high, aux;
    if (!(vvar_page.features & FEATURE_RDTSCP))
        return system_call(SYS_getcpu, (long)cpu, (long)node, (long)unused);
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux));
    if (cpu)
        *cpu = aux & ((1u << AUX_CPU_BITS) - 1);
    if (node)
        *node = aux >> AUX_CPU_BITS;
    return 0;
}

// libc looks for the names with the prefix; those without it are for debuggers and for programs that link
// directly.
#define ALIAS(name) __attribute__((weak, alias("__vdso_" #name)))
int clock_gettime(int32_t clock, struct timespec *time) ALIAS(clock_gettime);
int clock_getres(int32_t clock, struct timespec *resolution) ALIAS(clock_getres);
int gettimeofday(struct timeval *time, struct timezone *zone) ALIAS(gettimeofday);
int64_t time(int64_t *time) ALIAS(time);
long getcpu(uint32_t *cpu, uint32_t *node, void *unused) ALIAS(getcpu);
