// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The parts of the system-call fuzzer. A parent (main.c) keeps processes with workers (worker.c) that issue
// calls of a table (calls.c); the arguments come by kind (values.c, structures.c, choices.c), and steer.c
// turns away what would end the fuzzing instead of the kernel.
//
// Workers use no libc after their start: calls may take their thread-local storage away.

#ifndef HADAL_TEST_FUZZ_H
#define HADAL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum { MOST_PROCESSES = 16, MOST_ARGUMENTS = 6, PAGE = 4096 };

// Seen by the parent: how far a worker's process is, and with what.
struct slot {
    uint64_t issued;
    uint64_t number;
    uint64_t arguments[MOST_ARGUMENTS];
};

// How much harm a call may try to do.
enum tameness {
    // Ring 3: wild code addresses, frames and stacks, too, as they can hit the program alone.
    WILD,
    // Ring 0: the program shares the kernel's privilege, so it must not go on at a wild address.
    TAME,
    // Linux that others use: calls of the table alone.
    HARMLESS,
};

// What a worker knows of itself.
struct worker {
    struct slot *slot;
    uint64_t share;
    // Of two threads.
    uint64_t index;
    uint64_t random;
    enum tameness tameness;
    // Addresses for arguments: a thread's own stage, and the arena that all of a process share.
    uint8_t *stage;
    size_t staged;
    int64_t process;
    int64_t thread;
    int64_t parent;
    int64_t child;
    // Calls until the end.
    uint64_t left;
    // An address that mmap has chosen.
    uint64_t mapped;
    // A System V object.
    uint64_t object;
};

// --- random.c: numbers that follow from a seed ---

uint64_t next(struct worker *worker);
uint64_t below(struct worker *worker, uint64_t limit);
// True once in `times`.
int once_in(struct worker *worker, uint64_t times);

// --- calls.c: numbers and the kinds of their arguments ---

enum kind {
    NOTHING,
    // Numbers.
    ANY,
    SMALL,
    LENGTH,
    MAP_LENGTH,
    OFFSET,
    MODE,
    DESCRIPTOR,
    DIRECTORY,
    NEW_DESCRIPTOR,
    // Mostly those that a worker begins with.
    SOCKET,
    EPOLL,
    TIMER_FILE,
    QUEUE,
    PROCESS_FILE,
    SHORT,
    KEY,
    OBJECT,
    PROCESS,
    SIGNAL,
    USER,
    CPU,
    BREAK,
    SIZE_OF_SET,
    SIZE_OF_LIST,
    // Addresses in the arena: of anything, of pages, of a word that several threads use.
    BUFFER,
    PAGES,
    WORD,
    // Addresses of what the stage holds.
    TEXT,
    PATH,
    PROGRAM,
    STRINGS,
    QUEUE_NAME,
    VECTORS,
    MESSAGE,
    MESSAGES,
    SOCKET_ADDRESS,
    SOCKET_LENGTH,
    TIME,
    TIMES,
    INTERVALS,
    MICROSECONDS,
    SETS,
    POLLED,
    EPOLL_EVENT,
    SIGNAL_SET,
    MASK_AND_SIZE,
    SIGNAL_ACTION,
    SIGNAL_STACK,
    SIGNAL_INFO,
    SIGNAL_EVENT,
    POSITION,
    LIMIT,
    OPEN_HOW,
    CLONE_ARGUMENTS,
    QUEUE_ATTRIBUTES,
    OPERATIONS,
    CAPABILITIES,
    CPUS,
    NUMBERS,
    ROBUST_LIST,
    // Choices of choices.c.
    FIRST_CHOICE,
    OPEN_FLAGS = FIRST_CHOICE,
    AT_FLAGS,
    PROTECTION,
    MAP_FLAGS,
    REMAP_FLAGS,
    ADVICE,
    SYNC_FLAGS,
    LOCK_FLAGS,
    CLONE_FLAGS,
    FUTEX_OPERATION,
    FCNTL_COMMAND,
    IOCTL_REQUEST,
    PRCTL_OPTION,
    ARCH_OPTION,
    DOMAIN,
    SOCKET_TYPE,
    LEVEL,
    OPTION,
    SHUTDOWN,
    MESSAGE_FLAGS,
    EPOLL_OPERATION,
    DESCRIPTOR_FLAGS,
    CLOCK,
    TIMER,
    TIMER_FLAGS,
    WHENCE,
    POLICY,
    RESOURCE,
    WAIT_FLAGS,
    ID_TYPE,
    RENAME_FLAGS,
    FALLOCATE_MODE,
    MEMBARRIER,
    MEMORY_POLICY,
    HOW_MASK,
    WHO,
    FLOCK,
    RANGE_FLAGS,
    UNSHARE_FLAGS,
    RWF,
    RANDOM_FLAGS,
    STATX_MASK,
    PIDFD_FLAGS,
    MEMFD_FLAGS,
    PERSONALITY,
    OBJECT_FLAGS,
    OBJECT_COMMAND,
    ATTACH_FLAGS,
    MSG_FLAGS,
};

// A touch of memory by the program itself, which faults.
enum { TOUCH = 0xffff };

struct call {
    uint16_t number;
    // How often it is chosen, beside others.
    uint16_t weight;
    uint8_t kinds[MOST_ARGUMENTS];
};

extern const struct call calls[];
extern const size_t call_count;
// A call of the table by weight.
const struct call *choose_call(struct worker *worker);
const struct call *find_call(uint64_t number);

// The descriptors that a worker begins with, in the order in which they are opened.
enum {
    FIRST_FILE = 3,
    FIRST_SOCKET = 9,
    DIRECTORY_AT = 20,
    EVENT_AT,
    TIMER_AT,
    SIGNAL_AT,
    EPOLL_AT,
    MEMORY_AT,
    TERMINALS_AT,
    QUEUE_AT = TERMINALS_AT + 2,
    PROCESS_AT,
    ZERO_AT,
};

// --- values.c, structures.c, signals.c, choices.c: arguments ---

// Where address arguments point to.
#define ARENA ((uint8_t *)0x100000000000)
// Far from it and from each other: the stages of the threads, and what workers share with the parent.
#define STAGES ((uint8_t *)0x200000000000)
#define SLOTS ((uint8_t *)0x300000000000)
enum {
    ARENA_PAGES = 128,
    ARENA_BYTES = ARENA_PAGES * PAGE,
    STAGE_BYTES = 16 * PAGE,
    STAGE_DISTANCE = 1 << 24
};

uint64_t value(struct worker *worker, enum kind kind);
// An address or a number that means nothing, or the kernel's.
uint64_t wild(struct worker *worker);
uint64_t structure(struct worker *worker, enum kind kind);
uint64_t choice(struct worker *worker, enum kind kind);
uint64_t of_signals(struct worker *worker, enum kind kind);
// Words of random bits, of which few are set.
uint64_t bits(struct worker *worker, int count);
// Bytes of the stage; the oldest ones are used again.
void *stage(struct worker *worker, size_t bytes);
// A path below the worker's directory, or of /dev and /proc.
const char *path(struct worker *worker);
// Gives the arena its first mappings again.
void map_arena(struct worker *worker);

// --- steer.c ---

// Changes what must not be issued; 0 if nothing is left of the call.
int steer(const struct worker *worker, uint64_t *number, uint64_t *arguments);
// True if the kinds of the table are the only arguments that the call may get.
int keeps_table(const struct worker *worker, uint64_t number);

// --- worker.c ---

void nap(int signal);
// Where handlers return to.
void back(void);
// Stacks, which no call writes to as such: of handlers for each thread, and of clones, which take turns.
enum { SPARE_BYTES = 4 * PAGE, SPARE_STACKS = 8 };
extern uint8_t handler_stacks[2][SPARE_STACKS][SPARE_BYTES];
uint8_t *clone_stack(void);

// How a worker ends that has done its quota, and not one more.
enum { DONE = 77 };
// Issues calls in the current process, whose directory is at `home`, until its share or the quota is done.
// Does not return.
void work(struct slot *slot, uint64_t seed, enum tameness tameness, uint64_t share, const char *home);

// --- home.c: where a worker begins ---

void remove_all(const char *path);
void make_home(const char *home);
void open_files(void);

// --- checks.c: whether the machine still works ---

struct neighbour {
    int64_t process;
    int stop;
};

struct neighbour begin_neighbour(uint64_t *rounds);
void end_neighbour(struct neighbour neighbour);
void check_machine(void);

// --- a call without libc ---

static inline int64_t raw(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                          uint64_t f) {
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    int64_t result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

#endif
