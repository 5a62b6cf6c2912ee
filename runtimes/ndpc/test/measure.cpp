// SPDX-License-Identifier: Apache-2.0 OR MIT
// Measures translated functions beside the same in plain C++: with one worker what NDPC costs, with more what
// it gains; and the fork and join of one element beside those of std::thread.
//
// usage: measure [WORKERS [forks]]: forks is the latter alone
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "measure.h"

namespace {

using Row = std::vector<std::pair<int, double>>;

double plain_dot(const std::vector<double> &a, const std::vector<double> &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

std::vector<double> plain_scaled(const std::vector<double> &a, double k) {
    std::vector<double> result(a.size());
    for (std::size_t i = 0; i < a.size(); i++) {
        result[i] = k * a[i] + 1.0;
    }
    return result;
}

std::vector<int> plain_quicksort(const std::vector<int> &s) {
    if (s.size() < 2) {
        return s;
    }
    int pivot = s[s.size() / 2];
    std::vector<int> lesser, equal, greater;
    for (int e : s) {
        (e < pivot ? lesser : e == pivot ? equal : greater).push_back(e);
    }
    std::vector<int> sorted = plain_quicksort(lesser), high = plain_quicksort(greater);
    sorted.insert(sorted.end(), equal.begin(), equal.end());
    sorted.insert(sorted.end(), high.begin(), high.end());
    return sorted;
}

int plain_fib(int n) { return n < 2 ? n : plain_fib(n - 1) + plain_fib(n - 2); }

int plain_ways(int n, std::vector<int> &placed) {
    int row = static_cast<int>(placed.size());
    if (row == n) {
        return 1;
    }
    int sum = 0;
    for (int column = 0; column < n; column++) {
        bool is_free = true;
        for (int i = 0; i < row && is_free; i++) {
            is_free = column != placed[i] && std::abs(column - placed[i]) != row - i;
        }
        if (is_free) {
            placed.push_back(column);
            sum += plain_ways(n, placed);
            placed.pop_back();
        }
    }
    return sum;
}

double curve_at(double x) { return std::exp(-x) * std::sin(8.0 * x) + 1.0 / (x + 0.01); }
double plain_simpson(double a, double b) {
    return (b - a) / 6.0 * (curve_at(a) + 4.0 * curve_at((a + b) / 2.0) + curve_at(b));
}
double plain_integral(double a, double b, double whole, double most) {
    double middle = (a + b) / 2.0;
    double left = plain_simpson(a, middle), right = plain_simpson(middle, b);
    double error = left + right - whole;
    if (std::fabs(error) <= 15.0 * most) {
        return left + right + error / 15.0;
    }
    return plain_integral(a, middle, left, most / 2.0) + plain_integral(middle, b, right, most / 2.0);
}

std::vector<double> plain_multiply(const std::vector<Row> &rows, const std::vector<double> &x) {
    std::vector<double> product(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++) {
        double sum = 0;
        for (auto [column, value] : rows[i]) {
            sum += value * x[static_cast<std::size_t>(column)];
        }
        product[i] = sum;
    }
    return product;
}

__attribute__((noinline)) int plain_step(int n, int x) {
    unsigned y = static_cast<unsigned>(x);
    for (; n != 0; n--) {
        y = y * 1664525u + 1013904223u;
    }
    return static_cast<int>(y);
}

constexpr int rounds = 9;

template <class Work> double once(const Work &work) {
    double before = ndpc::seconds();
    work();
    return ndpc::seconds() - before;
}

template <class Work> double best(const Work &work) {
    double least = 1e9;
    for (int i = 0; i < rounds; i++) {
        least = std::min(least, once(work));
    }
    return least;
}

// Results go here, so that nothing is left out.
volatile double sink;

void check(int status) {
    if (status != 0) {
        std::printf("%s\n", ndpc::failure_text());
        std::exit(1);
    }
}

std::uint32_t workers;

// One after another in each round, so that a machine with other things to do disturbs all of them.
template <class Plain, class Translated>
void compare(const char *name, const Plain &plain, const Translated &translated) {
    double least[3] = {1e9, 1e9, 1e9};
    for (int i = 0; i < rounds; i++) {
        least[0] = std::min(least[0], once(plain));
        for (int many = 0; many < 2; many++) {
            ndpc::start(many != 0 ? workers : 1, false);
            translated(); // the threads are there then
            least[1 + many] = std::min(least[1 + many], once(translated));
            ndpc::stop();
        }
    }
    std::printf(
        "%-20s plain %9.3f ms  1 worker %9.3f ms (ratio %5.2f)  %u workers %9.3f ms (speed-up %.2f)\n", name,
        1e3 * least[0], 1e3 * least[1], least[1] / least[0], workers, 1e3 * least[2], least[1] / least[2]);
}

template <class T> ndpc::Seq<T> seq(const std::vector<T> &items) {
    return ndpc::constant(items.data(), static_cast<std::int64_t>(items.size()));
}

void compare_all(const std::vector<int> &numbers) {
    std::vector<double> a(4000000), b(4000000);
    for (std::size_t i = 0; i < a.size(); i++) {
        a[i] = static_cast<double>(i % 100);
        b[i] = static_cast<double>(i % 7);
    }
    compare(
        "dot 4e6", [&] { sink = plain_dot(a, b); },
        [&] {
            double result;
            check(dot(result, seq(a), seq(b)));
            sink = result;
        });
    compare(
        "scaled 4e6", [&] { sink = plain_scaled(a, 3.0)[5]; },
        [&] {
            ndpc::Seq<double> result;
            check(scaled(result, seq(a), 3.0));
            sink = result[5];
        });
    compare(
        "quicksort 1e6", [&] { sink = plain_quicksort(numbers)[5]; },
        [&] {
            ndpc::Seq<int> result;
            check(quicksort(result, seq(numbers)));
            sink = result[5];
        });
    compare(
        "fib 30", [&] { sink = plain_fib(30); },
        [&] {
            int result;
            check(fib(result, 30));
            sink = result;
        });
    compare(
        "queens 10",
        [&] {
            std::vector<int> placed;
            sink = plain_ways(10, placed);
        },
        [&] {
            int result;
            check(ways(result, 10, {}));
            sink = result;
        });
    compare(
        "integral", [&] { sink = plain_integral(0, 4, plain_simpson(0, 4), 1e-13); },
        [&] {
            double result, whole;
            check(simpson(whole, 0, 4));
            check(integral(result, 0, 4, whole, 1e-13));
            sink = result;
        });
    std::vector<Row> rows(20000);
    std::vector<std::vector<ndpc::Pair<int, double>>> pairs(rows.size());
    std::vector<ndpc::Seq<ndpc::Pair<int, double>>> views;
    for (std::size_t i = 0; i < rows.size(); i++) {
        for (std::size_t k = 0; k < i % 120; k++) {
            rows[i].push_back({static_cast<int>((i * 31 + k * k) % 20000), 0.5});
            pairs[i].push_back({rows[i].back().first, 0.5});
        }
        views.push_back(seq(pairs[i]));
    }
    compare(
        "sparse 20000 x 60", [&] { sink = plain_multiply(rows, a)[5]; },
        [&] {
            ndpc::Seq<double> result;
            check(multiply(result, seq(views), seq(a)));
            sink = result[5];
        });
    std::vector<int> few(numbers.begin(), numbers.begin() + 100000);
    compare(
        "1e5 elements of 100",
        [&] {
            std::vector<int> result(few.size());
            for (std::size_t i = 0; i < few.size(); i++) {
                result[i] = plain_step(100, few[i]);
            }
            sink = result[5];
        },
        [&] {
            ndpc::Seq<int> result;
            check(steps(result, seq(few), 100));
            sink = result[5];
        });
}

} // namespace

int main(int argc, char **argv) {
    workers = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 2;
    std::vector<int> numbers(1000000);
    unsigned random = 1;
    for (int &number : numbers) {
        random = random * 1103515245u + 12345u;
        number = static_cast<int>(random >> 8);
    }
    if (argc < 3) {
        compare_all(numbers);
    }
    std::vector<int> thousand(numbers.begin(), numbers.begin() + 1000);
    double threads = best([&] {
        std::vector<std::thread> all;
        for (int &number : thousand) {
            all.emplace_back([&number] { number = plain_step(1, number); });
        }
        for (std::thread &one : all) {
            one.join();
        }
    });
    ndpc::start(workers, false);
    double elements = best([&] {
        ndpc::Seq<int> result;
        check(steps(result, seq(thousand), 1));
        sink = result[5];
    });
    ndpc::stop();
    ndpc::start(1, true);
    double forked = best([&] {
        ndpc::Seq<int> result;
        check(steps(result, seq(thousand), 1));
        sink = result[5];
    });
    ndpc::stop();
    std::printf("fork and join of an element: std::thread %.0f ns, a forked thread %.0f ns, ndpc %.1f ns\n",
                1e6 * threads, 1e6 * forked, 1e6 * elements);
}
