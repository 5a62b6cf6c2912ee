// SPDX-License-Identifier: Apache-2.0 OR MIT
// mergesort.ndpc in plain C++.
#include <algorithm>

#include "plain.h"

static std::vector<int> mergesort(const std::vector<int> &s) {
    if (s.size() < 2) {
        return s;
    }
    auto half = s.begin() + static_cast<std::ptrdiff_t>((s.size() + 1) / 2);
    std::vector<int> a = mergesort({s.begin(), half}), b = mergesort({half, s.end()}), merged(s.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin());
    return merged;
}

int main() {
    print(mergesort({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}), "[int]");
    std::vector<int> numbers, some;
    for (int i = 0; i < 10007; i++) {
        numbers.push_back(i * 7919 % 10007);
    }
    std::vector<int> sorted = mergesort(numbers);
    for (int i = 0; i < 10007; i += 1000) {
        some.push_back(sorted[i]);
    }
    print(some, "[int]");
}
