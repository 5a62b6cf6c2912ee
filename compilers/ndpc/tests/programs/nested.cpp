// SPDX-License-Identifier: Apache-2.0 OR MIT
// nested.ndpc in plain C++.
#include "plain.h"

static std::vector<int> sums(const std::vector<std::vector<int>> &vv) {
    std::vector<int> all;
    for (const std::vector<int> &v : vv) {
        unsigned sum = 0;
        for (int x : v) {
            sum += static_cast<unsigned>(x);
        }
        all.push_back(static_cast<int>(sum));
    }
    return all;
}

int main() {
    print(sums({{1, 2, 3}, {}, {4}, {5, 6}}), "[int]");
    std::vector<std::vector<int>> ragged(3000), parts;
    for (int i = 0; i < 3000; i++) {
        for (int k = 0; k < i * i % 97; k++) {
            ragged[i].push_back(k);
        }
    }
    unsigned sum = 0;
    for (int part : sums(ragged)) {
        sum += static_cast<unsigned>(part);
    }
    print(static_cast<int>(sum), "int");
    int next = 0;
    for (int length : {1, 0, 99990, 9}) {
        parts.emplace_back();
        for (int k = 0; k < length; k++) {
            parts.back().push_back(next++);
        }
    }
    print(sums(parts), "[int]");
}
