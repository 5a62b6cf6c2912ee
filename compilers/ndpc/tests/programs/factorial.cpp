// SPDX-License-Identifier: Apache-2.0 OR MIT
// factorial.ndpc in plain C++.
#include "plain.h"

static int factorial(int n) {
    return n <= 1 ? 1 : static_cast<int>(static_cast<unsigned>(n) * static_cast<unsigned>(factorial(n - 1)));
}

int main() {
    std::vector<int> some;
    for (int n = 0; n <= 12; n++) {
        some.push_back(factorial(n));
    }
    print(some, "[int]");
    int sum = 0;
    for (int n = 0; n < 1000; n++) {
        sum += factorial(n) % 1000;
    }
    print(sum, "int");
}
