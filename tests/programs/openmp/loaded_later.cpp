// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A program without OpenMP loads a library with thread_local data, uses it, and then loads one that brings in
// the run-time, as Python does (with -DDATA and -DWORK: the libraries). Threads that work for one team after
// the other find their data whole: initial values, or what they have made of it themselves, never what has
// been destroyed.

#ifdef DATA
#include <string>

namespace {

const std::string initial = "text that does not fit into the object itself";

// More than what libc keeps in reserve for libraries with data at a fixed place.
struct Own {
    std::string text = initial;
    size_t uses = 0;
    char filling[8192] = {};
};
thread_local Own own;
thread_local size_t numbers[512] = {1, 2, 3};

} // namespace

extern "C" bool use_data() {
    bool is_whole = own.text == initial + std::string(own.uses, 'x') && numbers[2] == 3 + own.uses;
    own.uses++;
    own.text += 'x';
    numbers[2]++;
    return is_whole;
}

#elif defined(WORK)

extern "C" int work(int threads, bool (*use)()) {
    int whole = 0;
#pragma omp parallel num_threads(threads) reduction(+ : whole)
    whole += use();
    return whole;
}

#else
#include <dlfcn.h>

#include <thread>

#include "../common/check.h"

template <typename Function> static Function *loaded(const char *file, const char *name) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    void *symbol = dlsym(library, name);
    CHECK(symbol != nullptr);
    return reinterpret_cast<Function *>(symbol);
}

int main(int argc, char **argv) {
    CHECK_EQUAL(argc, 3);
    auto *use_data = loaded<bool()>(argv[1], "use_data");
    CHECK(use_data());
    auto *work = loaded<int(int, bool (*)())>(argv[2], "work");
    for (int turn = 0; turn < 20; turn++) {
        std::thread([=] {
            for (int threads = 1; threads <= 4; threads++) {
                CHECK_EQUAL(work(threads, use_data), threads);
            }
        }).join();
        CHECK_EQUAL(work(3, use_data), 3);
    }
    puts("loaded later: ok");
}
#endif
