// SPDX-License-Identifier: Apache-2.0 OR MIT
// primes.ndpc in plain C++.
#include "plain.h"

static std::vector<int> primes(int n) {
    std::vector<char> flags(static_cast<std::size_t>(n), 1);
    for (int p = 2; p * p < n; p++) {
        for (int m = 2 * p; flags[p] && m < n; m += p) {
            flags[m] = 0;
        }
    }
    std::vector<int> all;
    for (int i = 2; i < n; i++) {
        if (flags[i]) {
            all.push_back(i);
        }
    }
    return all;
}

int main() {
    print(primes(100), "[int]");
    print(static_cast<int>(primes(20000).size()), "int");
}
