// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// OpenMP in C++: classes as private variables, declared reductions over containers, exceptions inside a
// region, tasks that capture objects, and iterators as loop variables.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void require(bool condition, const char *what) {
    if (!condition) {
        std::fprintf(stderr, "not true: %s\n", what);
        std::_Exit(99);
    }
}

std::atomic<int> live{0};

// Counts its living copies.
struct Tracked {
    int value;
    explicit Tracked(int initial) : value(initial) { live++; }
    Tracked(const Tracked &other) : value(other.value) { live++; }
    Tracked &operator=(const Tracked &other) = default;
    ~Tracked() { live--; }
};

void private_objects() {
    Tracked object(7);
    int sum = 0;
    int last = 0;
#pragma omp parallel for firstprivate(object) reduction(+ : sum) lastprivate(last)
    for (int i = 0; i < 100; i++) {
        require(object.value >= 7, "the private copy starts from the original");
        sum += 1;
        last = i;
    }
    require(live == 1, "every private copy is destroyed");
    std::printf("private objects: %d %d %d\n", object.value, sum, last);
}

using Histogram = std::map<int, long>;

void add(Histogram &into, const Histogram &from) {
    for (const auto &[key, count] : from) {
        into[key] += count;
    }
}

#pragma omp declare reduction(merge:Histogram : add(omp_out, omp_in)) initializer(omp_priv = Histogram{})
#pragma omp declare reduction(join : std::vector<int> : omp_out.insert(omp_out.end(), omp_in.begin(), omp_in.end()))

void container_reductions() {
    Histogram histogram;
    std::vector<int> odd;
#pragma omp parallel for reduction(merge : histogram) reduction(join : odd) schedule(dynamic, 9)
    for (int i = 0; i < 2000; i++) {
        histogram[i * i % 13]++;
        if (i % 101 == 1) {
            odd.push_back(i);
        }
    }
    std::sort(odd.begin(), odd.end());
    std::printf("histogram:");
    for (const auto &[key, count] : histogram) {
        std::printf(" %d=%ld", key, count);
    }
    std::printf("\nvector: %zu, sum %d\n", odd.size(), std::accumulate(odd.begin(), odd.end(), 0));
}

void exceptions() {
    int caught = 0;
    std::size_t length = 0;
#pragma omp parallel for reduction(+ : caught, length) schedule(dynamic)
    for (int i = 0; i < 200; i++) {
        try {
            std::string text(static_cast<std::size_t>(i), 'x');
            if (i % 3 == 0) {
                throw std::runtime_error(text);
            }
            (void)std::vector<int>(3).at(static_cast<std::size_t>(i % 5));
        } catch (const std::runtime_error &error) {
            caught++;
            length += std::string(error.what()).size();
        } catch (const std::out_of_range &) {
            caught += 1000;
        }
    }
    std::printf("exceptions: %d, length %zu\n", caught, length);
}

void iterators_and_tasks() {
    std::vector<long> numbers(500);
    std::iota(numbers.begin(), numbers.end(), 1);
#pragma omp parallel for schedule(guided)
    for (auto it = numbers.begin(); it < numbers.end(); ++it) {
        *it *= *it;
    }
    std::vector<std::string> words(30);
#pragma omp parallel
#pragma omp single
    for (std::size_t i = 0; i < words.size(); i++) {
        std::string prefix = "task-" + std::to_string(i);
#pragma omp task firstprivate(prefix, i) shared(words)
        words[i] = prefix + "!";
    }
    std::string all;
    for (const auto &word : words) {
        all += word;
    }
    std::printf("iterators: %ld, tasks: %zu %s\n", std::accumulate(numbers.begin(), numbers.end(), 0L),
                all.size(), words.back().c_str());
}

int counter = 3;
#pragma omp threadprivate(counter)

void threadprivate_data() {
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        wrong += counter != 3;
        counter += omp_get_thread_num();
    }
#pragma omp parallel reduction(+ : wrong)
    wrong += counter != 3 + omp_get_thread_num();
    std::printf("threadprivate: %d wrong\n", wrong);
}

} // namespace

int main() {
    private_objects();
    container_reductions();
    exceptions();
    iterators_and_tasks();
    threadprivate_data();
    return 0;
}
