// SPDX-License-Identifier: Apache-2.0 OR MIT
// fibonacci.ndpc in plain C++.
#include "plain.h"

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main() {
    std::vector<int> some;
    for (int n = 0; n < 16; n++) {
        some.push_back(fib(n));
    }
    print(some, "[int]");
    print(fib(16), "int");
}
