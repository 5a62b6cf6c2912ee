// SPDX-License-Identifier: Apache-2.0 OR MIT
// sparse.ndpc in plain C++.
#include <utility>

#include "plain.h"

using Row = std::vector<std::pair<int, double>>;

static std::vector<double> multiply(const std::vector<Row> &rows, const std::vector<double> &x) {
    std::vector<double> product;
    for (const Row &row : rows) {
        double sum = 0;
        for (auto [column, value] : row) {
            sum += value * x[column];
        }
        product.push_back(sum);
    }
    return product;
}

int main() {
    print(multiply({{{0, 2.0}, {2, 1.0}}, {}, {{1, -0.5}}}, {1.0, 2.0, 3.0}), "[float]");
    const int n = 3000;
    std::vector<Row> rows(n);
    std::vector<double> x;
    for (int i = 0; i < n; i++) {
        x.push_back(i % 7);
        for (int k = 0; k < i % 31; k++) {
            rows[i].push_back({(i * 31 + k * k) % n, (i + k) % 16 / 2.0});
        }
    }
    double sum = 0;
    for (double part : multiply(rows, x)) {
        sum += part;
    }
    print(sum, "float");
}
