/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Handlers that break the rules of interrupt context, and a program that forgets to turn interrupts on again.
 * The program is to end with a report; it must not get past the fault. */
#define _GNU_SOURCE
#include "event.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile char *absent;
static volatile int after;

static HRT_HANDLER void touch_absent(void *arg) {
    (void)arg;
    *absent = 1;
    after = 1;
}

static HRT_HANDLER void touch_null(void *arg) {
    *(volatile int *)arg = 1;
    after = 1;
}

static HRT_HANDLER void make_system_call(void *arg) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(39), "m"(arg) : "rcx", "r11", "memory");
    after = 1;
}

static HRT_HANDLER void never_return(void *arg) {
    (void)arg;
    for (;;) {
    }
}

static HRT_HANDLER void run_illegal(void *arg) {
    (void)arg;
    __asm__ volatile("ud2");
    after = 1;
}

static void wait_for_the_end(void) {
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    struct {
        const char *name;
        hrt_handler_fn function;
    } kinds[] = {{"absent", touch_absent},
                 {"null", touch_null},
                 {"call", make_system_call},
                 {"loop", never_return},
                 {"illegal", run_illegal}};
    hrt_handler_fn function = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            function = kinds[i].function;
        }
    }
    absent = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(absent != MAP_FAILED);
    int32_t last = (int32_t)cpus() - 1;
    uint32_t number;
    uint64_t timer;
    if (strcmp(argv[2], "event") == 0) {
        CHECK(hrt_event_register(function, NULL, 0, &number) == HRT_OK);
        CHECK(hrt_event_notify(number, last) == HRT_OK);
    } else if (strcmp(argv[2], "vectors") == 0) {
        CHECK(hrt_event_register(function, NULL, HRT_HANDLER_VECTORS, &number) == HRT_OK);
        CHECK(hrt_event_notify_all(number, HRT_EVENT_SELF) == HRT_OK);
    } else if (strcmp(argv[2], "ipi") == 0) {
        CHECK(hrt_ipi_register(function, NULL, 0, &number) == HRT_OK);
        CHECK(hrt_ipi_send(number, last) == HRT_OK);
    } else if (strcmp(argv[2], "timer") == 0) {
        CHECK(hrt_timer_start(last, 0, function, NULL, 0, &timer) == HRT_OK);
    } else {
        run_on(atoi(argv[2]));
        hrt_irq_disable();
        for (;;) {
        }
    }
    wait_for_the_end();
}
