// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads of the C++ library: all are created, then all are joined.

#include "fork_join.h"

#include <thread>
#include <vector>

void fork_join_multiply(int32_t *elements, size_t count) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (size_t i = 0; i < count; i++) {
        threads.emplace_back([elements, i] { elements[i] = 3 * static_cast<int32_t>(i); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}
