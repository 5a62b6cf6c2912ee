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
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
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

// A worker may have taken the directory's permissions away.
static void remove_all(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        chmod(path, 0700);
        DIR *directory = opendir(path);
        for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
            char inner[512];
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner) {
                remove_all(inner);
            }
        }
        if (directory != NULL) {
            closedir(directory);
        }
    }
    remove(path);
}

// The directory of a worker, as each finds it.
static void make_home(const char *home) {
    remove_all(home);
    mkdir(home, 0700);
    CHECK_EQUAL(chdir(home), 0);
    mkdir("e", 0700);
    CHECK_EQUAL(symlink("e", "f") | symlink("a", "link") | symlink("loop", "loop"), 0);
}

// One of every kind of file, at the numbers that arguments have.
static void open_files(void) {
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) {
        dup2(null, i);
    }
    syscall(SYS_close_range, 3, ~0u, 0);
    int pairs[2];
    for (int i = 0; i < 2; i++) {
        int file = open(i == 0 ? "a" : "e/b", O_CREAT | O_RDWR, 0600);
        CHECK_EQUAL(ftruncate(file, 3 * PAGE + 100), 0);
        CHECK_EQUAL(pipe(pairs), 0);
    }
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (int i = 0; i < 3; i++) {
        socketpair(AF_UNIX, types[i], 0, pairs);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    open(".", O_RDONLY | O_DIRECTORY);
    eventfd(1, 0);
    timerfd_create(CLOCK_MONOTONIC, 0);
    syscall(SYS_signalfd4, -1, &set, 8, 0);
    epoll_create1(0);
    syscall(SYS_memfd_create, "fuzz", 0);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal >= 0) {
        grantpt(terminal);
        unlockpt(terminal);
        open(ptsname(terminal), O_RDWR | O_NOCTTY);
    }
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
    mq_open("/fuzz.a", O_CREAT | O_RDWR, 0600, &attributes);
    syscall(SYS_pidfd_open, getpid(), 0);
    open("/dev/zero", O_RDWR);
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

static void run(uint64_t seed, uint64_t calls, unsigned count, uint64_t *rounds) {
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
    run(seed, calls, count, rounds);
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
