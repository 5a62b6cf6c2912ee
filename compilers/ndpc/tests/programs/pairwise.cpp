// SPDX-License-Identifier: Apache-2.0 OR MIT
// pairwise.ndpc in plain C++.
#include "plain.h"

int main() {
    std::vector<int> products;
    for (int i = 1; i <= 4; i++) {
        products.push_back(i * 10 * i);
    }
    print(products, "[int]");
    std::vector<std::vector<int>> outer;
    for (int x : {1, 2, 3}) {
        outer.push_back({x * 4, x * 5});
    }
    print(outer, "[[int]]");
    unsigned sum = 0;
    for (unsigned i = 0; i < 20000; i++) {
        sum += i * (i + 1);
    }
    print(static_cast<int>(sum), "int");
    int all = 0;
    for (int x = 0; x < 90; x++) {
        for (int y = 0; y < 90; y++) {
            all += x * y;
        }
    }
    print(all, "int");
}
