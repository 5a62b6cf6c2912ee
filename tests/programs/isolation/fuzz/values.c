// SPDX-License-Identifier: Apache-2.0 OR MIT
// One argument by its kind, and the arena that most addresses are in.
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// The pieces of the arena: what lies there at first, in pages.
static const struct {
    uint16_t first;
    uint16_t pages;
    int protection;
    int flags;
} pieces[] = {
    {0, 48, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS},
    {48, 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS},
    {64, 8, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS},
    {72, 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE},
    {80, 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS},
    // The rest is unmapped.
};

void map_arena(struct worker *worker) {
    (void)worker;
    raw(SYS_munmap, (uint64_t)ARENA, ARENA_BYTES, 0, 0, 0, 0);
    for (size_t i = 0; i < COUNT(pieces); i++) {
        raw(SYS_mmap, (uint64_t)ARENA + pieces[i].first * PAGE, pieces[i].pages * PAGE,
            (uint64_t)pieces[i].protection, (uint64_t)(pieces[i].flags | MAP_FIXED), (uint64_t)-1, 0);
    }
}

// The kernel's image, its direct map, device memory, the ends of the halves, what is no address, and numbers
// that overflow.
static const uint64_t wild_values[] = {
    0xffffffff80000000,
    0xffffffff80100000,
    0xffffffff81000000,
    0xffff800000000000,
    0xffff800000100000,
    0xffff888000100000,
    0xffffc000fee00000,
    0xffffffffff5fc000,
    0xffffffffff600000,
    0xfffffffffffff000,
    0xffffffffffffffff,
    0xfffffffffffffff8,
    0x800000000000,
    0x7ffffffff000,
    0x7fffffffffff,
    0x7ffffffffff0,
    0xffff7fffffffffff,
    0x8000000000000000,
    0x7fffffffffffffff,
    0xdeadbeefdeadbeef,
    0,
    1,
    8,
    0xfff,
    0x1000,
    0xfee00000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x10000000000,
    0x4000000000000000,
    0xfffffffffffff001,
    0xffffffff00000000,
};

uint64_t wild(struct worker *worker) {
    uint64_t found = wild_values[below(worker, COUNT(wild_values))];
    switch (below(worker, 8)) {
    case 0:
        found = next(worker) >> below(worker, 64);
        // Not the program itself.
        return found - 0x400000 < 0x4000000 ? found + 0x10000000 : found;
    case 1:
        return found + below(worker, 2 * PAGE) - PAGE;
    default:
        return found;
    }
}

static uint64_t page(struct worker *worker) { return (uint64_t)ARENA + below(worker, ARENA_PAGES) * PAGE; }

// Mostly where something can be read and written, at times over the end of it.
static uint64_t buffer(struct worker *worker) {
    switch (below(worker, 16)) {
    case 0:
        return page(worker) + PAGE - 1 - below(worker, 64);
    case 1:
        return (uint64_t)ARENA + below(worker, ARENA_BYTES);
    case 2:
        return (uint64_t)ARENA + (below(worker, 2) ? 48 : 96) * PAGE - below(worker, 64);
    case 3:
        return worker->mapped;
    case 4:
        return 0;
    default:
        return (uint64_t)ARENA + below(worker, 48 * PAGE / 16) * 16;
    }
}

static uint64_t length(struct worker *worker) {
    static const uint64_t lengths[] = {0,    1,    7,    8,     16,     64,   100,  128,        4095,
                                       4096, 4097, 8192, 65536, 196608, 1000, 2000, 0x7ffff000, 0x7fffffff};
    return once_in(worker, 3) ? below(worker, 256) : lengths[below(worker, COUNT(lengths))];
}

// Mappings stay small enough for a machine of many workers, beside some that no machine has room for.
static uint64_t map_length(struct worker *worker) {
    static const uint64_t huge[] = {0x1fffff0, 0x10000000000, 0x7fffffff0000, 0xfffffffffffff000, 0,
                                    1,         0x200000};
    return once_in(worker, 12) ? huge[below(worker, COUNT(huge))] : (1 + below(worker, 24)) * PAGE;
}

static uint64_t descriptor(struct worker *worker) {
    static const uint64_t odd[] = {(uint64_t)-1, (uint64_t)AT_FDCWD, 1023,       1024,
                                   INT_MAX,      0x80000000,         0x100000003};
    return once_in(worker, 20) ? odd[below(worker, COUNT(odd))] : below(worker, once_in(worker, 4) ? 64 : 32);
}

static uint64_t mostly(struct worker *worker, uint64_t first, uint64_t count) {
    return once_in(worker, 4) ? descriptor(worker) : first + below(worker, count);
}

// Descriptors of one kind.
static uint64_t special(struct worker *worker, enum kind kind) {
    switch (kind) {
    case SOCKET:
        return mostly(worker, FIRST_SOCKET, DIRECTORY_AT - FIRST_SOCKET);
    case EPOLL:
        return mostly(worker, EPOLL_AT, 1);
    case TIMER_FILE:
        return mostly(worker, TIMER_AT, 1);
    case QUEUE:
        return mostly(worker, QUEUE_AT, 1);
    default:
        return mostly(worker, PROCESS_AT, 1);
    }
}

static uint64_t process(struct worker *worker) {
    const uint64_t some[] = {0,
                             (uint64_t)worker->process,
                             (uint64_t)worker->process,
                             (uint64_t)worker->thread,
                             (uint64_t)worker->child,
                             (uint64_t)worker->child,
                             -(uint64_t)worker->process,
                             99999999,
                             (uint64_t)INT_MIN};
    return some[below(worker, COUNT(some))];
}

static uint64_t signal_number(struct worker *worker) {
    static const uint64_t usual[] = {0,       SIGUSR1, SIGUSR2, SIGCHLD, SIGWINCH, SIGALRM,
                                     SIGCONT, SIGPIPE, SIGURG,  34,      35,       64};
    return once_in(worker, 24) ? below(worker, 67) : usual[below(worker, COUNT(usual))];
}

static uint64_t offset(struct worker *worker) {
    static const uint64_t offsets[] = {
        0, 1, 4095, 4096, 65536, 0x7fffffff, 0x100000000, 0x7fffffffffffffff, (uint64_t)-1, (uint64_t)-4096};
    return once_in(worker, 3) ? offsets[below(worker, COUNT(offsets))] : below(worker, 4 * PAGE);
}

static uint64_t number(struct worker *worker, enum kind kind) {
    if (kind >= SOCKET && kind <= PROCESS_FILE) {
        return special(worker, kind);
    }
    static const uint64_t modes[] = {0, 0644, 0755, 0777, 0100644, 0040755, 0010644, 0020644, 0140644, 07777};
    switch (kind) {
    case SMALL:
        return below(worker, 10);
    case LENGTH:
        return length(worker);
    case MAP_LENGTH:
        return map_length(worker);
    case OFFSET:
        return offset(worker);
    case MODE:
        return modes[below(worker, COUNT(modes))];
    case DESCRIPTOR:
        return descriptor(worker);
    case DIRECTORY:
        return once_in(worker, 3) ? descriptor(worker) : (uint64_t)AT_FDCWD;
    case NEW_DESCRIPTOR:
        return once_in(worker, 3) ? 3 + below(worker, 61) : ZERO_AT + below(worker, 40);
    case SHORT:
        return below(worker, 80);
    case KEY:
        return once_in(worker, 16) ? 0 : 0x46555a00 + below(worker, 6);
    case OBJECT:
        return once_in(worker, 4) ? below(worker, 6) : worker->object;
    case PROCESS:
        return process(worker);
    case SIGNAL:
        return signal_number(worker);
    case USER:
        return once_in(worker, 4) ? below(worker, 3) : (uint64_t)-1;
    case CPU:
        return below(worker, 5);
    case BREAK:
        return once_in(worker, 3) ? 0 : (uint64_t)raw(SYS_brk, 0, 0, 0, 0, 0, 0) + below(worker, 16 * PAGE);
    case SIZE_OF_SET:
        return once_in(worker, 16) ? below(worker, 200) : 8;
    case SIZE_OF_LIST:
        return once_in(worker, 16) ? below(worker, 200) : 24;
    case BUFFER:
        return buffer(worker);
    case PAGES:
        return once_in(worker, 12) ? buffer(worker) : once_in(worker, 8) ? worker->mapped : page(worker);
    case WORD:
        // Shared with the process's threads and with what it has forked.
        return (uint64_t)ARENA + 48 * PAGE + below(worker, 4) * 4;
    default:
        return 0;
    }
}

uint64_t value(struct worker *worker, enum kind kind) {
    if (kind == NOTHING) {
        return 0;
    }
    if (kind == ANY) {
        switch (below(worker, 4)) {
        case 0:
            return number(worker, BUFFER);
        case 1:
            return number(worker, DESCRIPTOR);
        case 2:
            return (uint64_t)stage(worker, 256);
        default:
            return wild(worker);
        }
    }
    if (once_in(worker, 24)) {
        return wild(worker);
    }
    return kind >= FIRST_CHOICE ? choice(worker, kind)
           : kind >= TEXT       ? structure(worker, kind)
                                : number(worker, kind);
}
