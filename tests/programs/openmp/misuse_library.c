// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A library that uses OpenMP comes and goes (with -DLIBRARY: the library). Threads of its regions are left.

#include "../common/check.h"

#ifdef LIBRARY
int work(int threads) {
    int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
    count++;
    return count;
}
#else
#include <dlfcn.h>

int main(int argc, char **argv) {
    CHECK_EQUAL(argc, 2);
    for (int turn = 0; turn < 200; turn++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        int (*work)(int);
        *(void **)&work = dlsym(library, "work");
        CHECK(work != NULL);
        CHECK_EQUAL(work(4), 4);
        CHECK_EQUAL(dlclose(library), 0);
    }
    puts("library: ok");
    return 0;
}
#endif
