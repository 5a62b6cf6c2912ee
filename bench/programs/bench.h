/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What every benchmark program shares: sampling, output, pinned threads that start together.
 *
 *   PROGRAM [quick-]path|[quick-]parallel CPUS FIGURE...
 *
 * A program is a table of figures and a main that calls bench_main(). A figure's function measures and hands
 * each sample to bench_sample(), in ticks of the time-stamp counter per operation. Under `-icount shift=0` a
 * tick is an instruction; otherwise samples become nanoseconds, by a rate that is measured between the
 * program's start and the figure's end. The cost of an empty measurement is subtracted once per sample:
 * bench_overhead().
 *
 * Each figure is a line of JSON on standard output (read by bench/src/protocol.rs).
 */
#ifndef HADAL_BENCH_H
#define HADAL_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_LINE_BYTES 128 /* two cache lines: the unit of adjacent-line prefetching */
#define BENCH_ALIGNED __attribute__((aligned(BENCH_LINE_BYTES)))
#define BENCH_SAMPLES_MAX 8192
#define BENCH_WARM_UP 64 /* samples that are thrown away, unless a figure says otherwise */
/* A quick run takes this part of the samples, but so many at least. */
#define BENCH_QUICK_PART 10
#define BENCH_QUICK_LEAST 5
/* The harness defines it for images of Hadal. */
#ifndef BENCH_IMAGE
#define BENCH_IMAGE 0
#endif

enum bench_mode { BENCH_PATH, BENCH_PARALLEL };

struct bench_figure {
    const char *name; /* group.figure */
    void (*measure)(const char *name);
};

/* The run; set by bench_main() and never changed after. */
static struct {
    enum bench_mode mode;
    bool is_quick;
    unsigned cpus;
    uint64_t overhead_ticks;
    uint64_t start_ticks;
    uint64_t start_ns;
} bench;

/* What a figure's computation gave, for the harness to check. */
static struct bench_answer {
    bool is_known;
    int32_t value;
} bench_answer;

static double bench_samples[BENCH_SAMPLES_MAX];
static size_t bench_count;
static unsigned bench_warm_up = BENCH_WARM_UP;
static unsigned bench_dropped;

__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* For calls that return 0 or an error number, as pthreads and hadal/hrt.h do. */
#define BENCH_CHECK(call)                                                                                    \
    do {                                                                                                     \
        int bench_status = (call);                                                                           \
        if (bench_status != 0) {                                                                             \
            bench_fail("%s:%d: %s gave %d", __FILE__, __LINE__, #call, bench_status);                        \
        }                                                                                                    \
    } while (0)

static inline uint64_t bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time-stamp counter. Not serialising: under TCG there is nothing to serialise, and on real CPUs the
 * samples are of stretches long against the depth of a pipeline. */
static inline uint64_t bench_ticks(void) {
    uint64_t ticks = __builtin_ia32_rdtsc();
    __asm__ volatile("" ::: "memory");
    return ticks;
}

/* Keeps the compiler from moving memory accesses across. */
static inline void bench_fence(void) { __asm__ volatile("" ::: "memory"); }

static inline void bench_pause(void) { __builtin_ia32_pause(); }

/* Whether this is an image of Hadal and not a Linux program, which may run on Hadal too: for figures whose
 * counterpart in Linux programs is another mechanism. */
static inline bool bench_on_hadal(void) { return BENCH_IMAGE; }

static inline bool bench_is_path(void) { return bench.mode == BENCH_PATH; }

/* Whether there is one CPU, on which a thread that waits for another one must give way. */
static inline bool bench_is_alone(void) { return bench.cpus == 1; }

/* `path` in path mode, `parallel` in the other: numbers of samples and of repetitions. */
static inline unsigned bench_choose(unsigned path, unsigned parallel) {
    return bench_is_path() ? path : parallel;
}

/* A sample that took no measurement of its own: `ticks` for `operations`. */
static inline void bench_sample_raw(double ticks, double operations) {
    if (bench_dropped < bench_warm_up) {
        bench_dropped++;
    } else if (bench_count < BENCH_SAMPLES_MAX) {
        bench_samples[bench_count++] = ticks / operations;
    }
}

/* The ticks between two calls of bench_ticks(), around `operations`. */
static inline void bench_sample(uint64_t ticks, double operations) {
    bench_sample_raw((double)ticks - (double)bench.overhead_ticks, operations);
}

/* How often a figure must measure for `samples` samples that count. */
static inline unsigned bench_rounds(unsigned samples) {
    if (bench.is_quick && samples > BENCH_QUICK_LEAST) {
        samples =
            samples / BENCH_QUICK_PART > BENCH_QUICK_LEAST ? samples / BENCH_QUICK_PART : BENCH_QUICK_LEAST;
    }
    return samples + bench_warm_up;
}

static inline void bench_reset(void) {
    bench_count = 0;
    bench_dropped = 0;
    bench_warm_up = BENCH_WARM_UP;
    bench_answer.is_known = false;
}

static inline double bench_ns_per_tick(void) {
    /* Long enough that reading the clocks does not matter. */
    while (bench_now_ns() - bench.start_ns < 20000000u) {
        bench_pause();
    }
    uint64_t ticks = bench_ticks() - bench.start_ticks;
    return (double)(bench_now_ns() - bench.start_ns) / (double)ticks;
}

static inline void bench_print(const char *name, const char *unit, double scale) {
    printf("{\"name\":\"%s\",\"unit\":\"%s\",\"cpus\":%u,\"overhead\":%llu,", name, unit, bench.cpus,
           (unsigned long long)bench.overhead_ticks);
    if (bench_answer.is_known) {
        printf("\"answer\":%d,", bench_answer.value);
    }
    printf("\"samples\":[");
    for (size_t i = 0; i < bench_count; i++) {
        /* Six digits are more than any clock is worth. */
        printf("%s%.6g", i == 0 ? "" : ",", bench_samples[i] * scale);
    }
    printf("]}\n");
    fflush(stdout);
    bench_reset();
}

/* Ends a figure whose samples are ticks. */
static inline void bench_report(const char *name) {
    if (bench_is_path()) {
        bench_print(name, "instructions", 1.0);
    } else {
        bench_print(name, "ns", bench_ns_per_tick());
    }
}

/* Ends a figure whose samples are nanoseconds. */
static inline void bench_report_ns(const char *name) { bench_print(name, "ns", 1.0); }

/* Ends a figure whose samples have no dimension. */
static inline void bench_report_ratio(const char *name) { bench_print(name, "ratio", 1.0); }

/* This place has no such figure. */
static inline void bench_skip(const char *name, const char *why) {
    printf("{\"name\":\"%s\",\"unit\":\"\",\"cpus\":%u,\"skipped\":\"%s\"}\n", name, bench.cpus, why);
    fflush(stdout);
    bench_reset();
}

static inline int bench_compare_ticks(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Median of two clock readings with nothing in between. */
static inline uint64_t bench_overhead(void) {
    enum { READINGS = 201 };
    uint64_t readings[READINGS];
    for (int i = 0; i < READINGS; i++) {
        uint64_t start = bench_ticks();
        readings[i] = bench_ticks() - start;
    }
    qsort(readings, READINGS, sizeof readings[0], bench_compare_ticks);
    return readings[READINGS / 2];
}

/* Spins for a while, for somebody else to fall asleep. */
static inline void bench_delay_ns(uint64_t ns) {
    for (uint64_t end = bench_now_ns() + ns; bench_now_ns() < end;) {
        bench_pause();
    }
}

/* CPU of a second thread: another one where there is one. */
static inline unsigned bench_other_cpu(void) { return bench_is_alone() ? 0 : 1; }

/* Lets the calling thread run anywhere. */
static inline void bench_unpin(void) {
    cpu_set_t set;
    memset(&set, 0xff, sizeof set);
    BENCH_CHECK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
}

/* Binds the calling thread to a CPU. */
static inline void bench_pin(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    BENCH_CHECK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
}

/* One iteration of a loop that waits for another thread. */
static inline void bench_give_way(void) {
    if (bench_is_alone()) {
        sched_yield();
    } else {
        bench_pause();
    }
}

/* Waits until a word has a value. */
static inline void bench_await(const uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        bench_give_way();
    }
}

/* Threads that start together: the caller on CPU 0 and one on each further CPU. */
struct bench_team {
    void (*work)(unsigned member, void *arg);
    void *arg;
    unsigned members;
    BENCH_ALIGNED uint32_t ready;
    BENCH_ALIGNED uint32_t go;
};

struct bench_member {
    struct bench_team *team;
    unsigned index;
};

static inline void bench_start_together(struct bench_team *team) {
    if (__atomic_add_fetch(&team->ready, 1, __ATOMIC_ACQ_REL) == team->members) {
        __atomic_store_n(&team->go, 1, __ATOMIC_RELEASE);
    }
    bench_await(&team->go, 1);
}

static inline void *bench_member_main(void *arg) {
    struct bench_member *self = arg;
    bench_pin(self->index);
    bench_start_together(self->team);
    self->team->work(self->index, self->team->arg);
    return NULL;
}

/* Runs work(member, arg) on `members` CPUs at once and returns when all have ended. */
static inline void bench_run_team(unsigned members, void (*work)(unsigned member, void *arg), void *arg) {
    struct bench_team team = {.work = work, .arg = arg, .members = members};
    pthread_t threads[members];
    struct bench_member selves[members];
    for (unsigned i = 1; i < members; i++) {
        selves[i] = (struct bench_member){.team = &team, .index = i};
        BENCH_CHECK(pthread_create(&threads[i], NULL, bench_member_main, &selves[i]));
    }
    bench_pin(0);
    bench_start_together(&team);
    work(0, arg);
    for (unsigned i = 1; i < members; i++) {
        BENCH_CHECK(pthread_join(threads[i], NULL));
    }
}

/* Takes the mode and the CPUs from the command line. */
static inline void bench_start(int argc, char **argv) {
    if (argc < 4) {
        bench_fail("usage: %s [quick-]path|[quick-]parallel CPUS FIGURE...", argv[0]);
    }
    bench.start_ns = bench_now_ns();
    bench.start_ticks = bench_ticks();
    static const char quick[] = "quick-";
    bench.is_quick = strncmp(argv[1], quick, strlen(quick)) == 0;
    bench.mode =
        strcmp(argv[1] + (bench.is_quick ? strlen(quick) : 0), "path") == 0 ? BENCH_PATH : BENCH_PARALLEL;
    bench.cpus = (unsigned)strtoul(argv[2], NULL, 10);
    bench.overhead_ticks = bench_overhead();
}

/* Measures the figures that the command line names, by the thread that calls it. */
static inline int bench_run_figures(int argc, char **argv, const struct bench_figure *figures,
                                    size_t figure_count) {
    bench_start(argc, argv);
    for (int i = 3; i < argc; i++) {
        size_t f = 0;
        while (f < figure_count && strcmp(figures[f].name, argv[i]) != 0) {
            f++;
        }
        if (f == figure_count) {
            bench_fail("%s: %s has no such figure", argv[i], argv[0]);
        }
        figures[f].measure(figures[f].name);
    }
    return 0;
}

static inline int bench_main(int argc, char **argv, const struct bench_figure *figures, size_t figure_count) {
    bench_pin(0);
    return bench_run_figures(argc, argv, figures, figure_count);
}

/* Takes samples of a statement: `path` of them in path mode, `parallel` in the other. */
#define BENCH_TIME(path, parallel, ...)                                                                      \
    for (unsigned bench_round = 0; bench_round < bench_rounds(bench_choose(path, parallel));                 \
         bench_round++) {                                                                                    \
        uint64_t bench_start = bench_ticks();                                                                \
        __VA_ARGS__;                                                                                         \
        bench_sample(bench_ticks() - bench_start, 1);                                                        \
    }

/* For system calls, which return -1 and set errno. The comparison is part of what is measured. */
#define BENCH_EXPECT(call, expected)                                                                         \
    do {                                                                                                     \
        if ((call) != (expected)) {                                                                          \
            bench_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call, strerror(errno));                         \
        }                                                                                                    \
    } while (0)

#define BENCH_REPEAT_4(statement) statement statement statement statement
/* So often that a loop around it costs next to nothing per operation. */
#define BENCH_REPEAT_64(statement) BENCH_REPEAT_4(BENCH_REPEAT_4(BENCH_REPEAT_4(statement)))

#define BENCH_MAIN(figures)                                                                                  \
    int main(int argc, char **argv) {                                                                        \
        return bench_main(argc, argv, figures, sizeof(figures) / sizeof((figures)[0]));                      \
    }

/* For programs with hadal/hrt.h: libhrt-linux takes for the machine's CPUs those that the process may use
 * when it is first asked, so it is asked before this thread is bound to one. */
#define BENCH_HRT_MAIN(figures)                                                                              \
    int main(int argc, char **argv) {                                                                        \
        if (hrt_cpu_count() == 0) {                                                                          \
            bench_fail("a machine without CPUs");                                                            \
        }                                                                                                    \
        return bench_main(argc, argv, figures, sizeof(figures) / sizeof((figures)[0]));                      \
    }

#endif
