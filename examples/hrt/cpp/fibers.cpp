// SPDX-License-Identifier: Apache-2.0 OR MIT
// A generator: a fiber that hands out one value at a time, from within whatever it has called.
#include <hadal/hrt.h>

#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>

template <typename T> class Generator {
  public:
    using Yield = std::function<void(T)>;

    explicit Generator(std::function<void(const Yield &)> body) : body(std::move(body)) {
        if (hrt_fiber_create(&fiber, run, this, 0) != HRT_OK) {
            throw std::bad_alloc();
        }
    }
    Generator(const Generator &) = delete;
    ~Generator() {
        stopped = true;
        hrt_fiber_join(fiber, nullptr);
    }

    std::optional<T> next() {
        value.reset();
        while (!value && !ended) {
            hrt_fiber_yield_to(fiber);
        }
        return value;
    }

  private:
    struct Stop {};

    static void *run(void *arg) {
        auto *self = static_cast<Generator *>(arg);
        try {
            self->body([self](T value) {
                self->value = std::move(value);
                while (self->value && !self->stopped) {
                    hrt_fiber_yield();
                }
                if (self->stopped) {
                    throw Stop(); // unwinds what the body has called
                }
            });
        } catch (const Stop &) {
        }
        self->ended = true;
        return nullptr;
    }

    std::function<void(const Yield &)> body;
    std::optional<T> value;
    bool ended = false, stopped = false;
    hrt_fiber_t *fiber = nullptr;
};

// The moves that carry a tower of Hanoi over.
static void hanoi(int height, char from, char to, char over, const Generator<std::string>::Yield &yield) {
    if (height > 0) {
        hanoi(height - 1, from, over, to, yield);
        yield({from, '>', to});
        hanoi(height - 1, over, to, from, yield);
    }
}

int main() {
    Generator<std::string> tower([](const auto &yield) { hanoi(3, 'a', 'c', 'b', yield); });
    while (auto move = tower.next()) {
        std::cout << *move << '\n';
    }
    Generator<std::string> high([](const auto &yield) { hanoi(60, 'a', 'c', 'b', yield); });
    for (int i = 0; i < 5; i++) {
        std::cout << *high.next() << '\n';
    }
    return 0;
}
