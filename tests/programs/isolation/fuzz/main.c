// SPDX-License-Identifier: Apache-2.0 OR MIT
// A fuzzer of system calls: `fuzz SEED CALLS PROCESSES`. The parent keeps as many processes as are wanted,
// whose workers issue calls that follow from the seed. It starts another one for each that ends, ends those
// that wait for ever, and shows in the end that the machine still works.
#define _GNU_SOURCE
#include "fuzz.h"

#include "../../common/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

// Milliseconds: a worker that issues nothing for so long is ended, and one that then does not end is a
// failure.
enum { LOOK_MS = 5, MOST_STILL_MS = 600, MOST_ENDING_MS = 60000, PROGRESS = 100000 };
enum { MEMORY = 600 << 20, FILE_BYTES = 64 << 20, NOBODY = 65534 };

struct process {
    pid_t id;
    uint64_t begun;
    uint64_t seen;
    uint64_t still_since_ms;
    int killed;
    char home[64];
};

static struct process processes[MOST_PROCESSES];
static struct slot *slots = (struct slot *)SLOTS;
static enum tameness tameness;
static uint64_t restarted;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void limit(int resource, rlim_t most) {
    struct rlimit both = {most, most};
    setrlimit((__rlimit_resource_t)resource, &both);
}

static void start(unsigned index, uint64_t seed, uint64_t share) {
    struct process *process = &processes[index];
    // Of neighbouring seeds, workers and turns none has the numbers of another one.
    struct worker mixer = {.random = seed * 1000003 + index};
    mixer.random = next(&mixer) + process->begun++;
    uint64_t own_seed = next(&mixer);
    make_home(process->home);
    process->killed = 0;
    process->still_since_ms = now_ms();
    process->id = fork();
    CHECK(process->id >= 0);
    if (process->id == 0) {
        setsid();
        limit(RLIMIT_CORE, 0);
        limit(RLIMIT_AS, MEMORY);
        limit(RLIMIT_FSIZE, FILE_BYTES);
        open_files();
        work(&slots[index], own_seed, tameness, share, process->home);
    }
}

static void tell(const struct process *process, const struct slot *slot, const char *what) {
    fprintf(stderr, "fuzz: process %d %s, last in call %lu(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx)\n",
            process->id, what, slot->number, slot->arguments[0], slot->arguments[1], slot->arguments[2],
            slot->arguments[3], slot->arguments[4], slot->arguments[5]);
}

// Ends a process that does not get on.
static void watch(struct process *process, struct slot *slot) {
    uint64_t issued = __atomic_load_n(&slot->issued, __ATOMIC_RELAXED);
    uint64_t still_ms = now_ms() - process->still_since_ms;
    if (issued != process->seen && !process->killed) {
        process->seen = issued;
        process->still_since_ms = now_ms();
    } else if (!process->killed && still_ms > MOST_STILL_MS) {
        process->killed = 1;
        process->still_since_ms = now_ms();
        kill(process->id, SIGKILL);
    } else if (process->killed && still_ms > MOST_ENDING_MS) {
        tell(process, slot, "does not end");
        exit(1);
    }
}

// Starts another one for each that has ended. Children that workers have given to the parent are just taken.
static void collect(unsigned count, uint64_t seed, uint64_t share) {
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        for (unsigned i = 0; i < count; i++) {
            if (processes[i].id == ended) {
                // What it has forked.
                kill(-ended, SIGKILL);
                restarted += !WIFEXITED(status) || WEXITSTATUS(status) != DONE;
                processes[i].id = 0;
                if (slots[i].issued < share) {
                    start(i, seed, share);
                }
            }
        }
    }
}

static int is_worker(unsigned count, pid_t id) {
    for (unsigned i = 0; i < count; i++) {
        if (processes[i].id == id) {
            return 1;
        }
    }
    return 0;
}

// What a worker has forked may have stopped itself, in a group of its own.
static void end_orphans(unsigned count, pid_t neighbour) {
    // Other people's Linux has orphans of its own.
    DIR *directory = tameness == HARMLESS ? NULL : opendir("/proc");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char name[300];
        pid_t id = atoi(entry->d_name);
        pid_t parent = 0;
        snprintf(name, sizeof name, "/proc/%d/stat", id);
        FILE *file = id > 0 ? fopen(name, "r") : NULL;
        if (file != NULL) {
            if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) == 1 && (parent == 1 || parent == getpid()) &&
                id > 1 && id != getpid() && id != neighbour && !is_worker(count, id)) {
                kill(id, SIGKILL);
            }
            fclose(file);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

static uint64_t issued_by(unsigned count) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += __atomic_load_n(&slots[i].issued, __ATOMIC_RELAXED);
    }
    return sum;
}

static uint64_t free_mib(void) {
    struct sysinfo info;
    sysinfo(&info);
    return info.freeram * info.mem_unit >> 20;
}

static void run(uint64_t seed, uint64_t calls, unsigned count, pid_t neighbour, uint64_t *rounds) {
    uint64_t share = (calls + count - 1) / count;
    uint64_t shown = 0;
    uint64_t least_free = free_mib();
    for (unsigned i = 0; i < count; i++) {
        start(i, seed, share);
    }
    for (;;) {
        collect(count, seed, share);
        int running = 0;
        for (unsigned i = 0; i < count; i++) {
            if (processes[i].id != 0) {
                running = 1;
                watch(&processes[i], &slots[i]);
            }
        }
        uint64_t issued = issued_by(count);
        uint64_t now_free = free_mib();
        least_free = now_free < least_free ? now_free : least_free;
        if (issued / PROGRESS > shown) {
            shown = issued / PROGRESS;
            printf("fuzz: %lu calls, %lu workers restarted, neighbour in round %lu, %lu MiB free, at least "
                   "%lu\n",
                   issued, restarted, __atomic_load_n(rounds, __ATOMIC_RELAXED), now_free, least_free);
            fflush(stdout);
            least_free = now_free;
            end_orphans(count, neighbour);
        }
        if (!running) {
            return;
        }
        struct timespec moment = {0, LOOK_MS * 1000000};
        nanosleep(&moment, NULL);
    }
}

// Ring 3 keeps harm to the program; ring 0 does not; and other people use a Linux.
static enum tameness find_tameness(void) {
    struct utsname system;
    CHECK_EQUAL(uname(&system), 0);
    unsigned selector;
    __asm__("mov %%cs, %0" : "=r"(selector));
    if (strstr(system.release, "-hadal") == NULL) {
        return HARMLESS;
    }
    return (selector & 3) == 3 ? WILD : TAME;
}

static void become_nobody(void) {
    if (geteuid() == 0) {
        CHECK_EQUAL(setgid(NOBODY), 0);
        CHECK_EQUAL(setuid(NOBODY), 0);
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "end") == 0) {
        return 0;
    }
    uint64_t seed = argc == 4 ? strtoull(argv[1], NULL, 0) : 0;
    uint64_t calls = argc == 4 ? strtoull(argv[2], NULL, 0) : 0;
    unsigned count = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;
    if (calls == 0 || count == 0 || count > MOST_PROCESSES) {
        fprintf(stderr, "usage: fuzz SEED CALLS PROCESSES (at most %d)\n", MOST_PROCESSES);
        return 2;
    }
    tameness = find_tameness();
    if (tameness == HARMLESS) {
        become_nobody();
    }
    char directory[32];
    snprintf(directory, sizeof directory, "/tmp/fuzz.%d", getpid());
    CHECK_EQUAL(mkdir(directory, 0700), 0);
    for (unsigned i = 0; i < count; i++) {
        snprintf(processes[i].home, sizeof processes[i].home, "%s/%u", directory, i);
    }
    // Children of workers that become the parent's may have chosen these for their end.
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    void *shared = mmap(SLOTS, MOST_PROCESSES * sizeof *slots + sizeof(uint64_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(shared == SLOTS);
    uint64_t *rounds = (uint64_t *)(slots + MOST_PROCESSES);
    struct neighbour neighbour = begin_neighbour(rounds);
    run(seed, calls, count, (pid_t)neighbour.process, rounds);
    end_neighbour(neighbour);
    CHECK_EQUAL(chdir(directory), 0);
    check_machine();
    CHECK_EQUAL(chdir("/"), 0);
    remove_all(directory);
    mq_unlink("/fuzz.a");
    mq_unlink("/fuzz.b");
    printf("fuzz: %lu calls, %lu workers restarted, ok\n", issued_by(count), restarted);
    return 0;
}
