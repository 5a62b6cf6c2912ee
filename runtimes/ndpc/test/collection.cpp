// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls translated functions with a container of the program's own, and with a simple vector; starts and
// stops the run-time several times. Prints "collection ok".
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "measure.h"

namespace {

class Deque final : public ndpc::Collection<int> {
  public:
    std::int64_t count() const override { return static_cast<std::int64_t>(items.size()); }
    const int &at(std::int64_t index) const override { return items[static_cast<std::size_t>(index)]; }
    int *place(std::int64_t index) override {
        if (index >= count()) {
            items.resize(static_cast<std::size_t>(index) + 1);
        }
        return &items[static_cast<std::size_t>(index)];
    }
    bool resize(std::int64_t count) override {
        items.resize(static_cast<std::size_t>(count));
        return true;
    }

    std::deque<int> items;
};

void check(bool condition, const char *what) {
    if (!condition) {
        std::printf("not so: %s\n", what);
        std::exit(1);
    }
}

} // namespace

int main() {
    for (std::uint32_t workers = 1; workers <= 4; workers++) {
        check(ndpc::start(workers, false) == 0, "the run-time starts");
        Deque numbers;
        ndpc::Vector<int> sorted;
        for (int i = 0; i < 20000; i++) {
            numbers[i] = i * 7919 % 20011; // past the end it grows
        }
        check(quicksort(sorted, numbers) == 0, "the numbers are sorted");
        check(sorted.count() == 20000, "none is lost");
        for (std::int64_t i = 1; i < sorted.count(); i++) {
            check(sorted[i - 1] <= sorted[i], "each is in its place");
        }
        ndpc::Vector<int> few{3, 1, 2};
        check(quicksort(numbers, few) == 0 && numbers.count() == 3 && numbers[2] == 3, "the result shrinks");
        few[5] = 9;
        check(few.count() == 6 && few[4] == 0 && few[5] == 9, "a vector grows");
        ndpc::stop();
    }
    std::puts("collection ok");
}
