// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The C++20 thread library: threads, locks, futures, atomics that wait, latches, barriers, stop tokens,
// thread-local objects, and exceptions carried from one thread to another.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int THREADS = 6;

void require(bool condition, const char *what) {
    if (!condition) {
        std::fprintf(stderr, "not true: %s\n", what);
        std::_Exit(99);
    }
}

template <typename Function> void on_all(Function function) {
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++) {
        threads.emplace_back(function, i);
    }
    for (auto &thread : threads) {
        thread.join();
    }
}

void mutexes() {
    std::mutex mutex;
    std::recursive_mutex recursive;
    std::shared_mutex shared;
    long locked = 0;
    long nested = 0;
    std::array<long, 2> pair{};
    on_all([&](int) {
        for (int i = 0; i < 500; i++) {
            {
                std::scoped_lock both(mutex, recursive);
                locked++;
                std::lock_guard again(recursive);
                nested++;
            }
            if (i % 8 == 0) {
                std::unique_lock lock(shared);
                pair[0]++;
                pair[1]++;
            } else {
                std::shared_lock lock(shared);
                require(pair[0] == pair[1], "a reader sees whole updates");
            }
        }
    });
    std::timed_mutex timed;
    timed.lock();
    std::thread([&] { require(!timed.try_lock_for(10ms), "a held mutex times out"); }).join();
    timed.unlock();
    std::printf("mutexes: %ld %ld %ld\n", locked, nested, pair[0]);
}

void conditions() {
    std::mutex mutex;
    std::condition_variable_any changed;
    int turn = 0;
    int passes = 0;
    on_all([&](int me) {
        for (int round = 0; round < 20; round++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn == me; });
            passes++;
            turn = (turn + 1) % THREADS;
            changed.notify_all();
        }
    });
    std::condition_variable never;
    std::unique_lock lock(mutex);
    auto before = std::chrono::steady_clock::now();
    require(never.wait_for(lock, 20ms, [] { return false; }) == false, "the wait times out");
    require(std::chrono::steady_clock::now() - before >= 20ms, "not before its time");
    std::printf("conditions: %d passes of the turn\n", passes);
}

void futures() {
    std::vector<std::future<long>> results;
    for (long i = 0; i < 10; i++) {
        results.push_back(std::async(std::launch::async, [i] {
            if (i == 7) {
                throw std::invalid_argument("seven");
            }
            return i * i;
        }));
    }
    long sum = 0;
    std::string thrown;
    for (auto &result : results) {
        try {
            sum += result.get();
        } catch (const std::invalid_argument &error) {
            thrown = error.what();
        }
    }
    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    auto packaged = task.get_future();
    std::thread(std::move(task), 41).join();
    std::promise<std::string> promise;
    auto promised = promise.get_future().share();
    std::thread setter([&] { promise.set_value("kept"); });
    std::printf("futures: %ld, thrown %s, packaged %d, promise %s\n", sum, thrown.c_str(), packaged.get(),
                promised.get().c_str());
    setter.join();
}

void waiting_atomics() {
    std::atomic<int> stage{0};
    std::atomic<long> sum{0};
    std::thread follower([&] {
        for (int i = 1; i <= 50; i++) {
            for (int now = stage.load(); now < 2 * i - 1; now = stage.load()) {
                stage.wait(now);
            }
            sum += stage;
            stage = 2 * i;
            stage.notify_one();
        }
    });
    for (int i = 1; i <= 50; i++) {
        stage = 2 * i - 1;
        stage.notify_one();
        for (int now = stage.load(); now < 2 * i; now = stage.load()) {
            stage.wait(now);
        }
    }
    follower.join();

    std::latch ready(THREADS);
    int phases = 0;
    std::barrier phase(THREADS, [&]() noexcept { phases++; });
    std::counting_semaphore<3> slots(3);
    std::atomic<int> inside{0};
    on_all([&](int) {
        ready.arrive_and_wait();
        for (int i = 0; i < 10; i++) {
            phase.arrive_and_wait();
            slots.acquire();
            require(++inside <= 3, "the semaphore admits three");
            --inside;
            slots.release();
        }
    });
    std::printf("atomics: %ld, phases %d\n", sum.load(), phases);
}

std::atomic<int> destroyed{0};

struct PerThread {
    int value = 11;
    ~PerThread() { destroyed += value; }
};

thread_local PerThread per_thread;

void thread_locals() {
    on_all([&](int me) {
        per_thread.value += me;
        std::this_thread::yield();
        require(per_thread.value == 11 + me, "each thread has its own object");
    });
    require(per_thread.value == 11, "the main thread has its own");
    std::once_flag once;
    int runs = 0;
    on_all([&](int) { std::call_once(once, [&] { runs++; }); });
    std::printf("thread_local: destroyed %d, once %d\n", destroyed.load(), runs);
}

[[noreturn]] void deep(int depth) {
    std::string guard(static_cast<std::size_t>(depth) * 10, '.');
    if (depth == 0) {
        throw std::runtime_error("from the deep");
    }
    deep(depth - 1);
}

void exceptions() {
    std::vector<std::exception_ptr> carried(THREADS);
    on_all([&](int me) {
        try {
            deep(50 + me);
        } catch (...) {
            carried[static_cast<std::size_t>(me)] = std::current_exception();
        }
    });
    int caught = 0;
    for (const auto &pointer : carried) {
        try {
            std::rethrow_exception(pointer);
        } catch (const std::runtime_error &error) {
            caught += std::string(error.what()) == "from the deep";
        }
    }
    std::printf("exceptions: %d of %d carried over\n", caught, THREADS);
}

void stopping() {
    std::mutex mutex;
    std::condition_variable_any wake;
    bool stopped = false;
    {
        std::jthread thread([&](const std::stop_token &token) {
            std::unique_lock lock(mutex);
            wake.wait(lock, token, [] { return false; });
            stopped = token.stop_requested();
        });
        std::this_thread::sleep_for(5ms);
    }
    std::printf("stop token: %s\n", stopped ? "stopped" : "not stopped");
}

} // namespace

int main() {
    mutexes();
    conditions();
    futures();
    waiting_atomics();
    thread_locals();
    exceptions();
    stopping();
    require(std::thread::hardware_concurrency() >= 1, "the machine has a processor");
    return 0;
}
