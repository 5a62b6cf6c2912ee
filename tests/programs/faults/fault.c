// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Programs that end by a fault, each in a function whose name the report must show, called from another.
//
//   fault null|write|abort|divide|illegal|overflow|execute|bus|kernel|thread

#include "../common/check.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

volatile int *null_pointer;
volatile int zero;
// A depth that the recursion does not reach.
volatile int never = -1;

__attribute__((noinline)) static int read_through_null(void) { return null_pointer[2]; }

__attribute__((noinline)) static void write_to_constant(void) {
    static const int constant[4096] = {1};
    volatile int *place = (volatile int *)(uintptr_t)&constant[7];
    __asm__ volatile("" : "+r"(place));
    *place = 3;
}

__attribute__((noinline)) static int divide_by_zero(int number) { return number / zero; }

__attribute__((noinline)) static void run_illegal_instruction(void) { __asm__ volatile("ud2"); }

__attribute__((noinline)) static int recurse_without_end(volatile int *below) {
    volatile int here[64];
    here[0] = below[0] + 1;
    if (here[0] == never) {
        return 0;
    }
    return recurse_without_end(here) + here[0];
}

__attribute__((noinline)) static void execute_data(void) {
    static unsigned char data[16] = {0xc3};
    void (*function)(void) = (void (*)(void))(uintptr_t)data;
    function();
    __asm__ volatile("");
}

__attribute__((noinline)) static int touch_beyond_file(void) {
    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK_EQUAL(ftruncate(fileno(file), 100), 0);
    char *map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    CHECK(map != MAP_FAILED);
    volatile char *past = map + 5000;
    return *past;
}

__attribute__((noinline)) static int read_kernel_memory(void) {
    volatile int *kernel = (volatile int *)(uintptr_t)0x8000000000001000u;
    return *kernel;
}

__attribute__((noinline)) static void call_abort(void) { abort(); }

__attribute__((noinline)) static void *fault_on_thread(void *argument) {
    (void)argument;
    return (void *)(long)(read_through_null() + 1);
}

__attribute__((noinline)) static int outer_function(const char *kind) {
    int result = 0;
    if (strcmp(kind, "null") == 0) {
        result = read_through_null();
    } else if (strcmp(kind, "write") == 0) {
        write_to_constant();
    } else if (strcmp(kind, "abort") == 0) {
        call_abort();
    } else if (strcmp(kind, "divide") == 0) {
        result = divide_by_zero(5);
    } else if (strcmp(kind, "illegal") == 0) {
        run_illegal_instruction();
    } else if (strcmp(kind, "overflow") == 0) {
        result = recurse_without_end(&zero);
    } else if (strcmp(kind, "execute") == 0) {
        execute_data();
    } else if (strcmp(kind, "bus") == 0) {
        result = touch_beyond_file();
    } else if (strcmp(kind, "kernel") == 0) {
        result = read_kernel_memory();
    } else if (strcmp(kind, "thread") == 0) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, fault_on_thread, NULL), 0);
        pthread_join(thread, NULL);
    } else {
        fprintf(stderr, "fault: no kind \"%s\"\n", kind);
        exit(2);
    }
    __asm__ volatile("");
    return result + 1;
}

int main(int argc, char **argv) {
    printf("before the fault\n");
    fflush(stdout);
    return outer_function(argc > 1 ? argv[1] : "null");
}
