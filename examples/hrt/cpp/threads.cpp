// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads from lambdas, with thread_local objects and exceptions that reach whoever joins.
#include <hadal/hrt.h>

#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A thread that gives a T; joined when it goes out of scope.
template <typename T> class Thread {
  public:
    explicit Thread(std::function<T()> function) : work(std::make_unique<Work>()) {
        work->function = std::move(function);
        if (int status = hrt_thread_create(&name, nullptr, run, work.get()); status != HRT_OK) {
            work.reset();
            throw std::runtime_error("hrt_thread_create: status " + std::to_string(status));
        }
    }
    Thread(Thread &&) = default;
    ~Thread() {
        if (work) {
            hrt_thread_join(name, nullptr);
        }
    }

    T get() {
        hrt_thread_join(name, nullptr);
        auto done = std::move(work);
        if (done->error) {
            std::rethrow_exception(done->error);
        }
        return std::move(*done->result);
    }

  private:
    struct Work {
        std::function<T()> function;
        std::optional<T> result;
        std::exception_ptr error;
    };

    static void *run(void *arg) {
        auto *work = static_cast<Work *>(arg);
        try {
            work->result = work->function();
        } catch (...) {
            work->error = std::current_exception();
        }
        return nullptr;
    }

    std::unique_ptr<Work> work;
    hrt_thread_t name = 0;
};

static thread_local std::vector<int> scratch;

int main() {
    std::vector<Thread<int>> threads;
    for (int i = 1; i <= 8; i++) {
        threads.emplace_back([i] {
            for (int number = 1; number <= 100 * i; number++) {
                scratch.push_back(number); // this thread's own, empty at its start
            }
            if (i == 7) {
                throw std::runtime_error("seven");
            }
            return static_cast<int>(scratch.size());
        });
    }
    for (auto &thread : threads) {
        try {
            std::cout << thread.get() << '\n';
        } catch (const std::exception &error) {
            std::cout << error.what() << '\n';
        }
    }
    return 0;
}
