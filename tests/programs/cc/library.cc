// SPDX-License-Identifier: Apache-2.0 OR MIT
// The C++ library in an image: streams, exceptions through frames, thread_local, threads.
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

thread_local int own = 5;

struct Guard {
    const char *name;
    ~Guard() { std::cout << "left " << name << "\n"; }
};

void thrower(int depth) {
    Guard guard{depth ? "outer" : "inner"};
    if (depth) {
        thrower(depth - 1);
    }
    throw std::runtime_error("thrown");
}

} // namespace

int main() {
    try {
        thrower(1);
    } catch (const std::exception &error) {
        std::cout << "caught " << error.what() << "\n";
    }
    std::vector<std::thread> threads;
    std::vector<int> results(4);
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&results, i] {
            own += i;
            try {
                throw i;
            } catch (int caught) {
                results[i] = own * 10 + caught;
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    for (int result : results) {
        std::cout << result << " ";
    }
    std::cout << own << std::endl;
    return 0;
}
