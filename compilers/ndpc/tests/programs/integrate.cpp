// SPDX-License-Identifier: Apache-2.0 OR MIT
// integrate.ndpc in plain C++.
#include <cmath>

#include "plain.h"

static double g(double x) { return std::exp(-x) * std::sin(8.0 * x) + 1.0 / (x + 0.01); }
static double simpson(double a, double b) { return (b - a) / 6.0 * (g(a) + 4.0 * g((a + b) / 2.0) + g(b)); }

static double integral(double a, double b, double whole, double most) {
    double middle = (a + b) / 2.0;
    double left = simpson(a, middle), right = simpson(middle, b);
    double error = left + right - whole;
    if (std::fabs(error) <= 15.0 * most) {
        return left + right + error / 15.0;
    }
    return integral(a, middle, left, most / 2.0) + integral(middle, b, right, most / 2.0);
}

int main() {
    print(static_cast<int>(std::lround(1000000.0 * integral(0.0, 4.0, simpson(0.0, 4.0), 0.0000000001))),
          "int");
}
