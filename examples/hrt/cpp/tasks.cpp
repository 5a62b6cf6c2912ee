// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sorts by halves: one half is a task that any idle CPU may take.
#include <hadal/hrt.h>

#include <algorithm>
#include <iostream>
#include <span>
#include <vector>

static void sort(std::span<unsigned> part) {
    if (part.size() < 1000) {
        std::sort(part.begin(), part.end());
        return;
    }
    std::span<unsigned> low = part.first(part.size() / 2), high = part.subspan(part.size() / 2);
    hrt_task_t task;
    auto sort_low = [](void *arg) -> void * {
        sort(*static_cast<std::span<unsigned> *>(arg));
        return nullptr;
    };
    hrt_task_submit(&task, sort_low, &low, HRT_CPU_ANY, static_cast<uint32_t>(50 * low.size()));
    sort(high);
    hrt_task_wait(&task, nullptr);
    std::inplace_merge(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(low.size()), part.end());
}

int main() {
    std::vector<unsigned> numbers(200000);
    unsigned state = 1;
    for (auto &number : numbers) {
        number = state = state * 1664525 + 1013904223;
    }
    sort(numbers);
    std::cout << (std::is_sorted(numbers.begin(), numbers.end()) ? "sorted" : "not sorted") << '\n';
    return 0;
}
