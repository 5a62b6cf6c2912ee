// SPDX-License-Identifier: Apache-2.0 OR MIT
// What C++ adds: thread_local objects, made and destroyed once for each thread, also when its memory was
// another one's before; exceptions in threads, forked children and fibers.
#include <hadal/hrt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::fprintf(stderr, "objects.cpp:%d: not true: %s\n", __LINE__, #condition);                    \
            std::_Exit(99);                                                                                  \
        }                                                                                                    \
    } while (0)

static std::atomic<long> made, destroyed;

struct Counted {
    std::vector<int> content{1, 2, 3};
    Counted() { made++; }
    ~Counted() {
        CHECK(content.size() >= 3);
        destroyed++;
    }
};

static thread_local Counted counted;
static thread_local std::string text = "a text that is too long for the object itself";
static thread_local int plain = 17;

static void *number(long value) { return reinterpret_cast<void *>(value); }

static long joined(hrt_thread_t thread) {
    void *result = nullptr;
    CHECK(hrt_thread_join(thread, &result) == HRT_OK);
    return reinterpret_cast<long>(result);
}

static void *uses_objects(void *arg) {
    CHECK(counted.content.size() == 3);
    CHECK(text.size() == 45);
    CHECK(plain == 17);
    counted.content.push_back(4);
    text += " changed";
    plain = 0;
    if (arg) {
        hrt_thread_exit(arg);
    }
    return arg;
}

static void *throws_and_catches(void *arg) {
    try {
        throw std::runtime_error(std::to_string(reinterpret_cast<long>(arg)));
    } catch (const std::exception &error) {
        return number(std::atol(error.what()));
    }
}

// Yields inside a handler: the exceptions in flight of two fibers do not mix.
static void *yields_in_handler(void *arg) {
    try {
        throw reinterpret_cast<long>(arg);
    } catch (long value) {
        for (int i = 0; i < 5; i++) {
            hrt_fiber_yield();
            try {
                throw std::bad_alloc();
            } catch (const std::bad_alloc &) {
                hrt_fiber_yield();
            }
        }
        try {
            throw;
        } catch (long again) {
            CHECK(again == value);
            return number(again);
        }
    }
}

__attribute__((noinline)) static long forks(hrt_thread_t *child, long value) {
    long local = value;
    int status = hrt_thread_fork(nullptr, child);
    if (status == HRT_FORK_CHILD) {
        try {
            local++;
            throw local;
        } catch (long thrown) {
            return thrown;
        }
    }
    CHECK(status == HRT_OK);
    return local;
}

int main() {
    hrt_thread_t thread;
    for (long i = 0; i < 20; i++) {
        CHECK(hrt_thread_create(&thread, nullptr, uses_objects, number(i % 2)) == HRT_OK);
        CHECK(joined(thread) == i % 2);
        CHECK(made == i + 1);
        CHECK(destroyed == i + 1);
    }
    std::puts("thread_local objects: ok");
    for (long i = 0; i < 20; i++) {
        CHECK(hrt_thread_create(&thread, nullptr, throws_and_catches, number(i)) == HRT_OK);
        CHECK(joined(thread) == i);
        CHECK(forks(&thread, i) == i);
        CHECK(joined(thread) == i + 1);
    }
    std::puts("exceptions in threads: ok");
    hrt_fiber_t *fibers[10];
    for (long i = 0; i < 10; i++) {
        CHECK(hrt_fiber_create(&fibers[i], yields_in_handler, number(i), 0) == HRT_OK);
    }
    for (long i = 0; i < 10; i++) {
        void *result;
        CHECK(hrt_fiber_join(fibers[i], &result) == HRT_OK);
        CHECK(reinterpret_cast<long>(result) == i);
    }
    std::puts("exceptions in fibers: ok");
    return 0;
}
