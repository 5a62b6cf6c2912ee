// SPDX-License-Identifier: Apache-2.0 OR MIT
// queens.ndpc in plain C++.
#include <cstdlib>

#include "plain.h"

static bool is_free(int column, const std::vector<int> &placed) {
    int row = static_cast<int>(placed.size());
    for (int i = 0; i < row; i++) {
        if (column == placed[i] || std::abs(column - placed[i]) == row - i) {
            return false;
        }
    }
    return true;
}

static int ways(int n, std::vector<int> &placed) {
    if (static_cast<int>(placed.size()) == n) {
        return 1;
    }
    int sum = 0;
    for (int column = 0; column < n; column++) {
        if (is_free(column, placed)) {
            placed.push_back(column);
            sum += ways(n, placed);
            placed.pop_back();
        }
    }
    return sum;
}

int main() {
    std::vector<int> counts;
    for (int n = 1; n < 9; n++) {
        std::vector<int> placed;
        counts.push_back(ways(n, placed));
    }
    print(counts, "[int]");
}
