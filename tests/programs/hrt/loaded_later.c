// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads use data of a library that was loaded by dlopen() (tests/programs/openmp/loaded_later.cpp, -DDATA),
// one after the other: none finds what the one before has made of it, or what its destructors have left.

#include <dlfcn.h>
#include <stdbool.h>

#include <hadal/hrt.h>

#include "../common/check.h"

enum { THREADS = 500 };

static bool (*use_data)(void);

static void *use_it(void *whole) {
    for (int i = 0; i < 3; i++) {
        if (!use_data()) {
            return NULL;
        }
    }
    return whole;
}

int main(int argc, char **argv) {
    CHECK_EQUAL(argc, 2);
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    *(void **)&use_data = dlsym(library, "use_data");
    CHECK(use_data != NULL && use_data());
    for (int i = 0; i < THREADS; i++) {
        hrt_thread_t thread;
        struct hrt_thread_attr attr;
        hrt_thread_attr_init(&attr);
        CHECK_EQUAL(hrt_thread_create(&thread, &attr, use_it, &attr), HRT_OK);
        void *result = NULL;
        CHECK_EQUAL(hrt_thread_join(thread, &result), HRT_OK);
        CHECK(result == &attr);
    }
    puts("loaded later: ok");
    return 0;
}
