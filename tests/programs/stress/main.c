// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stress: options, workers, the watchdog, progress and the table at the end.
#include "stress.h"

#include <getopt.h>
#include <unistd.h>

const struct part PARTS[] = {
    {"thread", threads_round, NULL, threads_finish},
    {"bare", bare_round, NULL, NULL},
    {"place", place_round, NULL, NULL},
    {"fork", fork_round, NULL, NULL},
    {"key", key_round, NULL, NULL},
    {"spin", spin_round, NULL, spin_finish},
    {"ticket", ticket_round, NULL, NULL},
    {"mcs", mcs_round, NULL, NULL},
    {"mutex", mutex_round, mutex_prepare, mutex_finish},
    {"rwlock", rwlock_round, rwlock_prepare, rwlock_finish},
    {"cond", cond_round, NULL, cond_finish},
    {"sem", sem_round, sem_prepare, sem_finish},
    {"queue", queue_round, NULL, NULL},
    {"word", word_round, NULL, NULL},
    {"requeue", requeue_round, NULL, NULL},
    {"once", once_round, NULL, NULL},
    {"central", central_round, NULL, NULL},
    {"dissem", dissemination_round, NULL, NULL},
    {"tree", tree_round, NULL, NULL},
    {"fiber", fiber_round, NULL, NULL},
    {"task", task_round, NULL, NULL},
    {"event", event_round, event_prepare, event_finish},
    {"evwait", event_wait_round, NULL, NULL},
    {"memwait", memory_wait_round, NULL, NULL},
    {"ipi", ipi_round, ipi_prepare, ipi_finish},
    {"timer", timer_round, timer_prepare, timer_finish},
    {"tmthread", timer_thread_round, NULL, NULL},
    {"memory", memory_round, NULL, memory_finish},
    {"libc", libc_round, NULL, NULL},
    {"realtime", realtime_round, NULL, NULL},
    {"group", group_round, NULL, NULL},
};
const uint32_t PART_COUNT = sizeof PARTS / sizeof *PARTS;
_Static_assert(sizeof PARTS / sizeof *PARTS <= PARTS_MAX, "a counter for each part");

#define SECOND_NS 1000000000ull
#define PROGRESS_NS (10 * SECOND_NS)

static struct {
    uint64_t seconds, seed, stall_s;
    uint32_t threads;
    bool hold;
    bool wanted[PARTS_MAX];
} options = {.seconds = 10, .stall_s = 20};

static struct worker workers[WORKERS_MAX];
static uint64_t start_ns;
static uint32_t stop;

static double seconds_since(uint64_t then_ns) { return (double)(hrt_now_ns() - then_ns) / 1e9; }

// --- failures

static uint32_t failing;

// The first to fail reports, the others wait for the end. No lock and no buffer is taken: the program may be
// in any state.
static void begin_report(void) {
    if (__atomic_exchange_n(&failing, 1, __ATOMIC_ACQ_REL)) {
        for (;;) {
            hrt_thread_sleep_until(HRT_FOREVER);
        }
    }
}

__attribute__((noreturn)) static void end_report(void) {
    dprintf(2, "stress: seed %llu, %u threads, %u CPUs, after %.1f s\n", (unsigned long long)options.seed,
            options.threads, hrt_cpu_count(), seconds_since(start_ns));
    for (uint32_t index = 0; index < options.threads; index++) {
        const struct worker *worker = &workers[index];
        const struct part *part = __atomic_load_n(&worker->part, __ATOMIC_RELAXED);
        struct hrt_thread_info info = {0};
        hrt_thread_info(worker->thread, &info);
        dprintf(2, "  worker %2u: %-8s line %3u, %5.1f s ago, state %u on CPU %d\n", index,
                part == NULL ? "-" : part->name, worker->line, seconds_since(worker->stepped_ns), info.state,
                info.cpu);
    }
    while (options.hold) {
        hrt_thread_sleep_until(HRT_FOREVER);
    }
    _exit(1);
}

void stress_failed(const char *file, int line, const char *what, uint64_t left, uint64_t right) {
    const char *base = strrchr(file, '/');
    begin_report();
    dprintf(2, "stress: %s:%d: not true: %s (%llu and %llu)\n", base == NULL ? file : base + 1, line, what,
            (unsigned long long)left, (unsigned long long)right);
    end_report();
}

// --- workers

// For half a second many workers are at the same part: that makes contention.
static uint32_t focus(void) {
    struct dice dice = {options.seed + hrt_now_ns() / (SECOND_NS / 2)};
    return below(&dice, PART_COUNT);
}

static const struct part *drawn(struct dice *dice) {
    uint32_t index = one_in(dice, 3) ? focus() : below(dice, PART_COUNT);
    while (!options.wanted[index]) {
        index = (index + 1) % PART_COUNT;
    }
    return &PARTS[index];
}

static void *work(void *arg) {
    struct worker *worker = arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const struct part *part = drawn(&worker->dice);
        uint64_t begin_ns = hrt_now_ns();
        __atomic_store_n(&worker->part, part, __ATOMIC_RELAXED);
        STEP(worker);
        part->round(worker);
        uint64_t took_ns = hrt_now_ns() - begin_ns;
        uint64_t *longest_ns = &worker->longest_ns[part - PARTS];
        *longest_ns = took_ns > *longest_ns ? took_ns : *longest_ns;
    }
    __atomic_store_n(&worker->part, NULL, __ATOMIC_RELAXED);
    return NULL;
}

static void start_workers(void) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.stack_bytes = 1u << 20; // a waiter for a task runs other tasks, which may wait
    for (uint32_t index = 0; index < options.threads; index++) {
        struct worker *worker = &workers[index];
        struct dice dice = {options.seed + index};
        worker->dice.state = roll(&dice);
        worker->index = index;
        STEP(worker);
        CHECK_EQUAL(hrt_thread_create(&worker->thread, &attr, work, worker), HRT_OK);
    }
}

// --- the watchdog

static uint64_t operations_of(uint32_t part) {
    uint64_t sum = 0;
    for (uint32_t index = 0; index < options.threads; index++) {
        sum += __atomic_load_n(&workers[index].operations[part], __ATOMIC_RELAXED);
    }
    return sum;
}

static uint64_t shown[PARTS_MAX];

static void show_progress(void) {
    char line[PARTS_MAX * 32];
    int length = snprintf(line, sizeof line, "%5.0f s:", seconds_since(start_ns));
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        if (options.wanted[part]) {
            uint64_t now = operations_of(part);
            length += snprintf(line + length, sizeof line - (size_t)length, " %s %llu", PARTS[part].name,
                               (unsigned long long)(now - shown[part]));
            shown[part] = now;
        }
    }
    puts(line);
    fflush(stdout);
}

static uint64_t counted[PARTS_MAX], advanced_ns[PARTS_MAX];

static void look_for_stalls(void) {
    uint64_t now_ns = hrt_now_ns(), limit_ns = options.stall_s * SECOND_NS;
    for (uint32_t index = 0; index < options.threads; index++) {
        const struct worker *worker = &workers[index];
        const struct part *part = __atomic_load_n(&worker->part, __ATOMIC_RELAXED);
        uint64_t stepped_ns = __atomic_load_n(&worker->stepped_ns, __ATOMIC_RELAXED);
        if (part != NULL && stepped_ns + limit_ns < now_ns) {
            begin_report();
            dprintf(2, "stress: worker %u does not get on in %s, line %u\n", index, part->name, worker->line);
            end_report();
        }
    }
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        uint64_t count = operations_of(part);
        if (count != counted[part] || advanced_ns[part] == 0) {
            counted[part] = count;
            advanced_ns[part] = now_ns;
        } else if (options.wanted[part] && !stop && advanced_ns[part] + limit_ns < now_ns) {
            begin_report();
            dprintf(2, "stress: nothing done in %s for %llu s\n", PARTS[part].name,
                    (unsigned long long)options.stall_s);
            end_report();
        }
    }
}

// The first thread; more urgent than all others that have no deadlines.
static void watch(void) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.priority = HRT_PRIORITIES - 1;
    CHECK_EQUAL(hrt_thread_set_schedule(hrt_thread_self(), &attr), HRT_OK);
    uint64_t end_ns = start_ns + options.seconds * SECOND_NS, progress_ns = start_ns + PROGRESS_NS;
    while (hrt_now_ns() < end_ns) {
        uint64_t next_ns = hrt_now_ns() + SECOND_NS / 2;
        hrt_thread_sleep_until(next_ns < end_ns ? next_ns : end_ns);
        look_for_stalls();
        if (hrt_now_ns() >= progress_ns) {
            show_progress();
            progress_ns += PROGRESS_NS;
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (uint32_t index = 0; index < options.threads; index++) {
        int status;
        while ((status = hrt_thread_join_until(workers[index].thread, NULL, hrt_now_ns() + SECOND_NS / 2)) ==
               HRT_ETIMEDOUT) {
            look_for_stalls();
        }
        CHECK_EQUAL(status, HRT_OK);
    }
}

static void show_table(void) {
    printf("%-10s %14s %12s\n", "part", "operations", "longest ms");
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        uint64_t longest_ns = 0;
        for (uint32_t index = 0; index < options.threads; index++) {
            uint64_t own_ns = workers[index].longest_ns[part];
            longest_ns = own_ns > longest_ns ? own_ns : longest_ns;
        }
        if (options.wanted[part]) {
            printf("%-10s %14llu %12.1f\n", PARTS[part].name, (unsigned long long)operations_of(part),
                   (double)longest_ns / 1e6);
        }
    }
}

// --- options

static void usage(const char *name) {
    fprintf(stderr,
            "usage: %s [--seconds N] [--threads N] [--seed S] [--only PART,...] [--stall SECONDS] [--hold]\n"
            "parts:",
            name);
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        fprintf(stderr, " %s", PARTS[part].name);
    }
    fprintf(stderr, "\n");
    exit(2);
}

static void want(char *names, const char *program) {
    for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
        uint32_t part = 0;
        while (part < PART_COUNT && strcmp(PARTS[part].name, name) != 0) {
            part++;
        }
        if (part == PART_COUNT) {
            usage(program);
        }
        options.wanted[part] = true;
    }
}

static void read_options(int argc, char **argv) {
    static const struct option known[] = {{"seconds", required_argument, NULL, 's'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"seed", required_argument, NULL, 'e'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"stall", required_argument, NULL, 'a'},
                                          {"hold", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    bool all = true;
    options.seed = hrt_cycles();
    options.threads = 3 * hrt_cpu_count();
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case 's':
            options.seconds = strtoull(optarg, NULL, 0);
            break;
        case 't':
            options.threads = (uint32_t)strtoul(optarg, NULL, 0);
            break;
        case 'e':
            options.seed = strtoull(optarg, NULL, 0);
            break;
        case 'a':
            options.stall_s = strtoull(optarg, NULL, 0);
            break;
        case 'h':
            options.hold = true;
            break;
        case 'o':
            want(optarg, argv[0]);
            all = false;
            break;
        default:
            usage(argv[0]);
        }
    }
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        options.wanted[part] = options.wanted[part] || all;
    }
    if (options.threads == 0 || options.seconds == 0 || optind != argc) {
        usage(argv[0]);
    }
    options.threads = options.threads > WORKERS_MAX ? WORKERS_MAX : options.threads;
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    if (hrt_cpu_count() > CPUS_MAX) {
        fprintf(stderr, "stress: at most %u CPUs\n", CPUS_MAX);
        return 2;
    }
    printf("stress: %llu s, %u threads on %u CPUs, seed %llu\n", (unsigned long long)options.seconds,
           options.threads, hrt_cpu_count(), (unsigned long long)options.seed);
    fflush(stdout);
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        if (PARTS[part].prepare != NULL) {
            PARTS[part].prepare();
        }
    }
    start_ns = hrt_now_ns();
    start_workers();
    watch();
    for (uint32_t part = 0; part < PART_COUNT; part++) {
        if (PARTS[part].finish != NULL) {
            PARTS[part].finish();
        }
    }
    show_table();
    printf("stress: passed\n");
    return 0;
}
