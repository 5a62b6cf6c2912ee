// SPDX-License-Identifier: Apache-2.0 OR MIT
// quicksort.ndpc in plain C++.
#include <cstdlib>

#include "plain.h"

static std::vector<int> quicksort(const std::vector<int> &s) {
    if (s.size() < 2) {
        return s;
    }
    int pivot = s[s.size() / 2];
    std::vector<int> lesser, equal, greater;
    for (int e : s) {
        (e < pivot ? lesser : e == pivot ? equal : greater).push_back(e);
    }
    std::vector<int> sorted = quicksort(lesser), high = quicksort(greater);
    sorted.insert(sorted.end(), equal.begin(), equal.end());
    sorted.insert(sorted.end(), high.begin(), high.end());
    return sorted;
}

static int scramble(int i) {
    int mixed = static_cast<int>(static_cast<unsigned>(i) * 1103515245u + 12345u);
    return std::abs(mixed) / 64 % 300003;
}

int main() {
    print(quicksort({8, 14, -8, -9, 5, -9, -3, 0, 17, 19}), "[int]");
    std::vector<int> numbers;
    for (int i = 0; i < 30000; i++) {
        numbers.push_back(scramble(i));
    }
    std::vector<int> sorted = quicksort(numbers), some;
    bool ascending = true;
    for (std::size_t i = 1; i < sorted.size(); i++) {
        ascending = ascending && sorted[i - 1] <= sorted[i];
    }
    print(ascending, "bool");
    for (int i = 0; i < 30000; i += 6000) {
        some.push_back(sorted[i]);
    }
    print(some, "[int]");
}
