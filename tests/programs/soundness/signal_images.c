// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What becomes of the vector state in a signal frame that the handler has edited: it is loaded as the
// processor would load it, or the program gets a SIGSEGV. Nothing that a program writes there, also while the
// handler returns, does more.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// Offsets in the state, and bytes of Linux's longest.
enum { MXCSR = 24, XMM7 = 160 + 7 * 16, MARKER = 464, MARKED_BYTES = 480, HEADER = 512, MOST_BYTES = 16384 };
enum { PAGE = 4096, ROUNDS = 3000 };
#define MAGIC_1 0x46505853u

static sigjmp_buf refused;
static void (*edit)(unsigned char **state);
static unsigned char *room;
static unsigned char pattern[16];

static void on_segv(int number) {
    (void)number;
    siglongjmp(refused, 1);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    ucontext_t *interrupted = context;
    unsigned char *state = (unsigned char *)interrupted->uc_mcontext.fpregs;
    edit(&state);
    interrupted->uc_mcontext.fpregs = (void *)state;
}

static uint32_t word(const unsigned char *state, int at) {
    uint32_t value;
    memcpy(&value, state + at, sizeof value);
    return value;
}

static int is_marked(const unsigned char *state) { return word(state, MARKER) == MAGIC_1; }

static size_t bytes(const unsigned char *state) {
    return is_marked(state) ? word(state, MARKED_BYTES) + 4 : (size_t)HEADER;
}

// A signal to this thread, with a register that a call may change before it and after it.
static void interrupt(unsigned char seventh[16]) {
    long result = SYS_tgkill;
    __asm__ volatile("movdqu (%[seventh]), %%xmm7\n\tsyscall\n\tmovdqu %%xmm7, (%[seventh])"
                     : "+a"(result)
                     : "D"((long)getpid()), "S"((long)gettid()), "d"((long)SIGUSR1), [seventh] "b"(seventh)
                     : "rcx", "r11", "memory", "xmm7");
    CHECK_EQUAL(result, 0);
}

// Whether the handler's return worked; what the register holds then.
static int returns(void (*how)(unsigned char **), unsigned char seventh[16]) {
    edit = how;
    memset(seventh, 0x11, 16);
    if (sigsetjmp(refused, 1) != 0) {
        return 0;
    }
    interrupt(seventh);
    return 1;
}

static void leave(unsigned char **state) { (void)state; }
static void change_register(unsigned char **state) { memcpy(*state + XMM7, pattern, 16); }
static void set_reserved_mxcsr(unsigned char **state) { (*state)[MXCSR + 3] = 0x80; }
static void take_away(unsigned char **state) { *state = NULL; }
static void misalign(unsigned char **state) { *state += 8; }
static void name_unknown_component(unsigned char **state) { (*state)[HEADER + 7] = 0x20; }
static void name_compact_format(unsigned char **state) { (*state)[HEADER + 15] = 0x80; }
static void use_reserved_word(unsigned char **state) { (*state)[HEADER + 16] = 1; }
static void point_to_nothing(unsigned char **state) { *state = room + 4 * PAGE; }
static void point_beyond(unsigned char **state) { *state = (unsigned char *)0x8000000000000000u; }
static void point_to_kernel(unsigned char **state) { *state = (unsigned char *)0xffffffff80000000u; }

static void copy_to(unsigned char **state, unsigned char *to) {
    memcpy(to, *state, bytes(*state));
    *state = to;
    change_register(state);
}

static void move(unsigned char **state) { copy_to(state, room); }
static void move_by_16(unsigned char **state) { copy_to(state, room + 16); }

// What lies behind the legacy part counts only with an end mark.
static void end_without_mark(unsigned char **state) {
    copy_to(state, room);
    if (is_marked(*state)) {
        memset(*state + bytes(*state) - 4, 0, 4);
        memset(*state + HEADER, 0xff, 64);
    }
}

// There is no memory behind the header.
static void cut(unsigned char **state) {
    unsigned char *to = room + 4 * PAGE - (HEADER + 64);
    memcpy(to, *state, HEADER + 64);
    *state = to;
}

static void expect(const char *what, void (*how)(unsigned char **), int works,
                   const unsigned char *register_value) {
    unsigned char seventh[16];
    CHECK_EQUAL(returns(how, seventh), works);
    if (works) {
        CHECK_EQUAL(memcmp(seventh, register_value, 16), 0);
    }
    printf("%s: %s\n", what, works ? "returns" : "SIGSEGV");
}

static volatile int stop;

// Writes words that the processor or the kernel looks at.
static void *scribble(void *argument) {
    static const uint64_t headers[] = {0, 1, 2, 3, 7, 1ull << 62, 1ull << 63, 0x2e7, ~0ull};
    (void)argument;
    for (uint64_t i = 0; !stop; i++) {
        memcpy(room + HEADER + 8 * (i % 3), &headers[i * 7 % 9], 8);
        memcpy(room + HEADER + 8, &headers[0], 8);
        memcpy(room + HEADER + 16, &headers[0], 8);
        room[MARKED_BYTES + 1] ^= i % 16 == 0;
        room[MARKER + 8] ^= i % 32 == 0 ? 4 : 0;
    }
    return NULL;
}

int main(void) {
    static const unsigned char old[16] = {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                                          0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11};
    static const unsigned char fresh[16];
    memset(pattern, 0x77, sizeof pattern);
    room = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && MOST_BYTES <= 4 * PAGE);
    CHECK_EQUAL(munmap(room + 4 * PAGE, PAGE), 0);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK(signal(SIGSEGV, on_segv) != SIG_ERR);

    expect("as it was", leave, 1, old);
    expect("another value", change_register, 1, pattern);
    expect("in another place", move, 1, pattern);
    expect("without end mark", end_without_mark, 1, pattern);
    expect("none", take_away, 1, fresh);
    expect("impossible control word", set_reserved_mxcsr, 0, NULL);
    expect("not aligned", misalign, 0, NULL);
    expect("nowhere", point_to_nothing, 0, NULL);
    expect("no address", point_beyond, 0, NULL);
    expect("the kernel's", point_to_kernel, 0, NULL);
    unsigned char seventh[16];
    if (__builtin_cpu_supports("avx")) {
        CHECK_EQUAL(returns(cut, seventh), 0);
        CHECK_EQUAL(returns(move_by_16, seventh), 0);
        CHECK_EQUAL(returns(name_unknown_component, seventh), 0);
        CHECK_EQUAL(returns(name_compact_format, seventh), 0);
        CHECK_EQUAL(returns(use_reserved_word, seventh), 0);
    }
    expect("as it was", leave, 1, old);

    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, scribble, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        returns(move, seventh);
    }
    stop = 1;
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    expect("as it was, after changes by another thread", leave, 1, old);
    return 0;
}
