// SPDX-License-Identifier: Apache-2.0 OR MIT
// The run-time's operations on sequences against loops, at lengths around every threshold, with 1 to 8
// workers; sums of floats must be the same with all of them. Prints "primitives ok".
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/resource.h>

#include "ndpc/ndpc.h"

namespace {

using ndpc::Seq;

constexpr ndpc::Site here{"primitives", "primitives.cpp"};
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

void check(bool condition, const char *what, std::int64_t count) {
    if (!condition) {
        std::printf("not so: %s of %lld with %u workers: %s\n", what, static_cast<long long>(count),
                    ndpc::worker_count(), ndpc::failure_text());
        std::exit(1);
    }
}

unsigned random_state = 1;
int next_random() {
    random_state = random_state * 1103515245u + 12345u;
    return static_cast<int>(random_state >> 8);
}

template <class T> bool same(const Seq<T> &items, const std::vector<T> &expected) {
    if (items.count() != static_cast<std::int64_t>(expected.size())) {
        return false;
    }
    for (std::int64_t i = 0; i < items.count(); i++) {
        if (items[i] != expected[static_cast<std::size_t>(i)]) {
            return false;
        }
    }
    return true;
}

template <class Test> void for_all_modes(const Test &test) {
    test(ndpc::Forking());
    test(ndpc::Serial());
    test(ndpc::InOrder());
}

// Conversions against the C library's rounding, around every int that may be special.
void test_conversions() {
    const double limits[] = {
        0.0,          1.0,          2.0,          1e5,          2147483645.0,       2147483646.0,
        2147483647.0, 2147483648.0, 2147483649.0, 4294967296.0, 4503599627370496.0, 1e20};
    const double steps[] = {-2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0};
    auto all_equal = [](double a) {
        check(ndpc::floor_int(a) == ndpc::saturate(std::floor(a)), "floor", 1);
        check(ndpc::ceil_int(a) == ndpc::saturate(std::ceil(a)), "ceil", 1);
        check(ndpc::trunc_int(a) == ndpc::saturate(std::trunc(a)), "trunc", 1);
        check(ndpc::round_int(a) == ndpc::saturate(std::nearbyint(a)), "round", 1);
    };
    for (double limit : limits) {
        for (double step : steps) {
            for (double towards : {-infinite, limit + step, infinite}) {
                double near = std::nextafter(limit + step, towards);
                all_equal(near);
                all_equal(-near);
            }
        }
    }
    for (double a : {infinite, -infinite, not_a_number, 5e-324, -5e-324, -0.0}) {
        all_equal(a);
    }
    for (int i = 0; i < 100000; i++) {
        all_equal(next_random() * (1.0 / 64) - 8000);
    }
    check(ndpc::round_int(2.5) == 2 && ndpc::round_int(-3.5) == -4 && ndpc::round_int(not_a_number) == 0,
          "round", 1);
}

void test_filter(const Seq<int> &items, std::int64_t count) {
    for (int modulus : {1, 2, 7, 1000000}) {
        std::vector<int> expected, indices;
        for (std::int64_t i = 0; i < count; i++) {
            if (items[i] % modulus == 0) {
                expected.push_back(items[i] / 2);
                indices.push_back(static_cast<int>(i));
            }
        }
        Seq<int> kept, selected;
        auto keep = [&](std::int64_t i) { return items[i] % modulus == 0; };
        auto body = [&](std::int64_t i, int &item) { item = items[i] / 2; };
        check(filter_small(kept, count, here, keep, body) == 0 && same(kept, expected), "filter", count);
        auto wanted = [&](ndpc::Mode auto, std::int64_t i, bool &is_wanted) -> int {
            is_wanted = keep(i);
            return ndpc::done;
        };
        for_all_modes([&](ndpc::Mode auto mode) {
            check(select(mode, selected, count, here, wanted) == 0 && same(selected, indices), "select",
                  count);
        });
    }
}

void test_scan_and_reduce(const Seq<int> &items, std::int64_t count) {
    std::vector<int> expected, largest;
    int sum = 0, most = ndpc::Maximum<int>::identity;
    for (int item : items) {
        expected.push_back(sum);
        largest.push_back(most);
        sum = ndpc::add(sum, item);
        most = ndpc::larger(most, item);
    }
    Seq<int> scanned;
    int total = 0;
    check(ndpc::scan<ndpc::Plus<int>>(scanned, items, here) == 0 && same(scanned, expected), "plus_scan",
          count);
    check(ndpc::scan<ndpc::Maximum<int>>(scanned, items, here) == 0 && same(scanned, largest), "max_scan",
          count);
    check(ndpc::reduce<ndpc::Plus<int>>(total, items, here) == 0 && total == sum, "sum", count);
    auto slow = [&](ndpc::Mode auto, std::int64_t i, int &item) -> int {
        item = items[i];
        return ndpc::done;
    };
    for_all_modes([&](ndpc::Mode auto mode) {
        check(ndpc::reduce_each<ndpc::Maximum<int>>(mode, total, count, here, slow) == 0 && total == most,
              "max_val", count);
    });
}

// One item that decides, or none; with one worker little is looked at behind it.
template <class Op> void test_decide(std::int64_t count) {
    for (std::int64_t at : {std::int64_t{-1}, std::int64_t{0}, count / 2, count - 1}) {
        std::atomic<std::int64_t> asked{0};
        bool result = false;
        auto body = [&](std::int64_t i, bool &item) -> int {
            asked.fetch_add(1, std::memory_order_relaxed);
            item = (i == at) != Op::identity;
            return ndpc::done;
        };
        bool decided = at >= 0 && at < count;
        check(ndpc::decide<Op>(result, count, here, body) == 0 && result == (decided != Op::identity),
              "decide", count);
        check(ndpc::worker_count() > 1 || asked <= (decided ? at + ndpc::decide_group : count),
              "as many as it takes", count);
    }
}

void test_moves(const Seq<int> &items, std::int64_t count) {
    std::vector<int> lengths, twice(items.begin(), items.end()), back;
    for (std::int64_t left = count; left > 0;) {
        std::int64_t length = next_random() % 5 == 0 ? left : next_random() % 3;
        length = length > left ? left : length;
        lengths.push_back(static_cast<int>(length));
        left -= length;
    }
    Seq<Seq<int>> parts;
    Seq<int> flat, appended, reversed, gathered;
    auto of_lengths = ndpc::constant(lengths.data(), static_cast<std::int64_t>(lengths.size()));
    check(partition(parts, items, of_lengths, here) == 0, "partition", count);
    check(flatten(flat, parts, here) == 0 && same(flat, twice), "flatten", count);
    twice.insert(twice.end(), items.begin(), items.end());
    check(append(appended, here, items, Seq<int>(), flat) == 0 && same(appended, twice), "append", count);
    for (std::int64_t i = count; i-- > 0;) {
        back.push_back(static_cast<int>(i));
    }
    auto indices = ndpc::constant(back.data(), count);
    check(gather(gathered, items, indices, here) == 0 && reverse(reversed, items, here) == 0 &&
              equal(gathered, reversed),
          "gather", count);
}

// Changes of whole blocks to near places and to far ones, several to most; then one that is out of bounds.
void test_scatter(const Seq<int> &items, std::int64_t count) {
    for (int distance : {1, 100, 1 << 24}) {
        std::vector<int> expected(items.begin(), items.end());
        std::vector<ndpc::Pair<int, int>> list;
        for (std::int64_t i = 0; count != 0 && i < 2 * count; i++) {
            auto place = static_cast<int>((i + next_random() % distance) % count);
            list.push_back({place, next_random()});
            expected[static_cast<std::size_t>(place)] = list.back().second;
        }
        auto changes = ndpc::constant(list.data(), static_cast<std::int64_t>(list.size()));
        Seq<int> changed;
        check(scatter(changed, items, changes, here) == 0 && same(changed, expected), "scatter", count);
        auto change = [&](std::int64_t i, ndpc::Pair<int, int> &item) { item = changes[i]; };
        check(scatter_small(changed, items, changes.count(), here, change) == 0 && same(changed, expected),
              "scatter of what a body gives", count);
        for (std::size_t first : {list.size() - 1, list.size() / 2}) {
            if (list.empty()) {
                continue;
            }
            int bad = first % 2 ? -1 : static_cast<int>(count);
            list[first].first = bad;
            list.back().first = first % 2 ? -1 : static_cast<int>(count);
            char expected_text[120];
            std::snprintf(expected_text, sizeof expected_text, "The index is %d, the length %d.", bad,
                          static_cast<int>(count));
            check(scatter(changed, items, changes, here) != 0 &&
                      std::strstr(ndpc::failure_text(), expected_text) != nullptr,
                  "the first change that is out of bounds", count);
        }
    }
}

// Slices of a sequence and of slices, by several workers, outlive it; items are destroyed once.
void test_slices(const Seq<int> &items, std::int64_t count) {
    for_all_modes([&](ndpc::Mode auto mode) {
        Seq<int> whole, flat;
        Seq<Seq<int>> ones, rows, few;
        check(copy(whole, items, here) == 0, "copy", count);
        auto one = [&](ndpc::Mode auto, std::int64_t i, Seq<int> &item) -> int {
            Seq<int> rest;
            NDPC_TRY(drop(rest, whole, static_cast<int>(i), here));
            return take(item, rest, 1, here);
        };
        check(each(mode, ones, count, here, one) == 0, "slices", count);
        whole = Seq<int>();
        auto some = [&](ndpc::Mode auto, std::int64_t i, Seq<Seq<int>> &item) -> int {
            return subseq(item, ones, static_cast<int>(i), static_cast<int>(i + 1), here);
        };
        Seq<Seq<Seq<int>>> nested;
        check(each(mode, nested, count, here, some) == 0, "slices of slices", count);
        ones = Seq<Seq<int>>();
        check(flatten(rows, nested, here) == 0 && flatten(flat, rows, here) == 0 && equal(flat, items),
              "what slices have", count);
        check(take(few, rows, static_cast<int>(count / 2), here) == 0, "take", count);
    });
}

// A sum whose value depends on the order of its terms.
double rounded_sum(std::int64_t count) {
    double sum = 0;
    auto term = [](std::int64_t i, double &item) -> int {
        item = 1.0 / static_cast<double>(i + 1);
        return ndpc::done;
    };
    check(ndpc::reduce_small<ndpc::Plus<double>>(sum, count, here, term) == 0, "float sum", count);
    for_all_modes([&](ndpc::Mode auto mode) {
        double slow = 0;
        check(ndpc::reduce_each<ndpc::Plus<double>>(
                  mode, slow, count, here,
                  [&](ndpc::Mode auto, std::int64_t i, double &item) -> int { return term(i, item); }) == 0 &&
                  slow == sum,
              "float sum by elements", count);
    });
    return sum;
}

double rounded_sum_of(const std::vector<int> &numbers) {
    double sum = 0;
    for (int n : numbers) {
        sum += 1.0 / n;
    }
    return sum;
}

// A few elements one by one: what is combined from left to right gives the same.
void test_parts() {
    auto term = [](ndpc::Mode auto, int n, double &item) -> int {
        item = 1.0 / n;
        return ndpc::done;
    };
    for_all_modes([&](ndpc::Mode auto mode) {
        double sum = 0;
        check(ndpc::reduce_of<ndpc::Plus<double>>(mode, sum, here, term, 3, 7, 11, 13, 17, 19, 23) == 0 &&
                  sum == rounded_sum_of({3, 7, 11, 13, 17, 19, 23}),
              "parts", 7);
        Seq<double> items;
        check(ndpc::each_of(mode, items, here, term, 4, 2) == 0 && same(items, {0.25, 0.5}), "parts", 2);
    });
}

// The lowest of many failures is told, and everything is given back.
void test_failure(std::int64_t count) {
    Seq<Seq<int>> made;
    auto body = [count](ndpc::Mode auto, std::int64_t i, Seq<int> &item) -> int {
        NDPC_TRY(index(item, static_cast<int>(i % 10), here));
        return i >= count / 2 && i % 3 == 0 ? ndpc::fail(here, "%lld", i) : 0;
    };
    std::int64_t first = (count / 2 + 2) / 3 * 3;
    char expected[80];
    std::snprintf(expected, sizeof expected, "RUNTIME ERROR: %lld\n  in primitives, primitives.cpp",
                  static_cast<long long>(first));
    for_all_modes([&](ndpc::Mode auto mode) {
        int status = each(mode, made, count, here, body);
        check((status != 0) == (first < count), "a failure", count);
        check(status == 0 || std::strcmp(ndpc::failure_text(), expected) == 0, "the first failure", count);
    });
}

std::int64_t most_memory_kib() {
    rusage usage{};
    check(getrusage(RUSAGE_SELF, &usage) == 0, "a look at the memory used", 1);
    return usage.ru_maxrss;
}

// Blocks that one worker makes and another one gives up are used again.
void test_turnover() {
    std::int64_t before_kib = 0;
    for (int round = 0; round < 100; round++) {
        Seq<Seq<int>> made;
        auto body = [](ndpc::Mode auto, std::int64_t i, Seq<int> &item) -> int {
            return index(item, static_cast<int>(i % 10), here);
        };
        check(each(ndpc::Forking(), made, 20000, here, body) == 0, "short sequences", 20000);
        if (round == 20) {
            before_kib = most_memory_kib();
        }
    }
    // More than a chunk for each of eight workers; what is lost each round would be 80 MiB.
    check(!ndpc::pools || most_memory_kib() - before_kib <= 40 << 10, "memory used again", 20000);
}

// A block has room for what it was asked for, and little more: a cache line, less than a step if it is small,
// else less than a quarter of it.
void test_classes() {
    auto fits = [](std::size_t bytes) {
        std::size_t room = ndpc::class_bytes(ndpc::class_of(bytes));
        std::size_t most = bytes <= ndpc::least_bytes   ? ndpc::least_bytes - bytes
                           : bytes <= ndpc::small_bytes ? ndpc::class_step - 1
                                                        : (bytes - 1) / 4;
        check(room >= bytes && room - bytes <= most, "the room of a block", static_cast<long long>(bytes));
    };
    for (std::size_t bytes = 1; bytes < 20000; bytes++) {
        fits(bytes);
    }
    for (std::size_t power = 1 << 14; power < std::size_t{1} << 40; power *= 2) {
        for (std::size_t part = 4; part < 8; part++) {
            std::size_t bytes = power / 4 * part;
            fits(bytes - 1);
            fits(bytes);
            fits(bytes + 1);
        }
    }
    for (std::uint32_t number = 0; number < ndpc::size_classes; number++) {
        check(ndpc::class_of(ndpc::class_bytes(number)) == number, "a class of blocks", number);
    }
}

} // namespace

int main() {
    test_classes();
    const std::int64_t counts[] = {0,    1,    2,    7,    8,    9,    31,   32,   33,   63,    64,    65,
                                   1023, 1024, 1025, 2047, 2048, 2049, 4096, 4097, 8191, 10240, 10241, 40000};
    std::vector<double> sums;
    for (std::uint32_t workers : {1u, 2u, 4u, 8u}) {
        check(ndpc::start(workers, false) == 0, "a start", workers);
        std::size_t number = 0;
        test_parts();
        test_conversions();
        test_turnover();
        for (std::int64_t count : counts) {
            for (int round = 0; round < 3; round++) {
                std::vector<int> numbers;
                for (std::int64_t i = 0; i < count; i++) {
                    numbers.push_back(next_random());
                }
                auto items = ndpc::constant(numbers.data(), count);
                test_filter(items, count);
                test_scan_and_reduce(items, count);
                test_moves(items, count);
                test_scatter(items, count);
                test_slices(items, count);
                test_decide<ndpc::And<bool>>(count);
                test_decide<ndpc::Or<bool>>(count);
                test_failure(count);
            }
            double sum = rounded_sum(count);
            if (workers == 1) {
                sums.push_back(sum);
            }
            check(sums[number++] == sum, "the float sum with one worker", count);
        }
        ndpc::stop();
    }
    std::puts("primitives ok");
}
