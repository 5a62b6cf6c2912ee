// SPDX-License-Identifier: Apache-2.0 OR MIT
// The two clones with several workers: what the serial one runs is shared out when somebody is hungry, long
// elements run side by side however few they are, and a failure ends loops of the serial clone that nobody
// needs. Prints "clones ok".
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hadal/hrt.h"
#include "ndpc/ndpc.h"

namespace {

constexpr ndpc::Site here{"clones", "clones.cpp"};
// For machines with much else to do.
constexpr double patience_seconds = 60;

void check(bool condition, const char *what) {
    if (!condition) {
        std::printf("not so: %s: %s\n", what, ndpc::failure_text());
        std::exit(1);
    }
}

template <class Condition> bool wait_for(const Condition &condition) {
    for (double before = ndpc::seconds(); !condition();) {
        if (ndpc::seconds() - before > patience_seconds) {
            return false;
        }
        hrt_thread_yield();
    }
    return true;
}

// What was offered shortly before delays the next offers by some microseconds each.
void rest() {
    double before = ndpc::seconds();
    while (ndpc::seconds() - before < 1e-3) {
        hrt_thread_yield();
    }
}

// So many elements, each of which ends only when all have begun.
void test_side_by_side(std::int64_t count) {
    std::atomic<std::int64_t> begun{0};
    int sum = 0;
    int status = ndpc::reduce_each<ndpc::Plus<int>>(
        ndpc::Forking(), sum, count, here, [&](ndpc::Mode auto, std::int64_t, int &item) -> int {
            begun.fetch_add(1);
            item = wait_for([&] { return begun.load() == count; }) ? 1 : 0;
            return ndpc::done;
        });
    check(status == 0 && sum == count, "long elements run side by side");
}

// A loop begun in the serial clone goes on there until another worker has had a part of it.
template <class Begin> void test_shared(const char *what, const Begin &begin) {
    std::atomic<ndpc::Worker *> first{nullptr};
    std::atomic<bool> is_shared{false};
    double before = ndpc::seconds();
    auto visit = [&] {
        hrt_thread_yield();
        ndpc::Worker *nobody = nullptr, *mine = &ndpc::worker();
        if (!first.compare_exchange_strong(nobody, mine) && nobody != mine) {
            is_shared.store(true);
        }
    };
    auto goes_on = [&] { return !is_shared.load() && ndpc::seconds() - before < patience_seconds; };
    while (goes_on()) {
        check(begin(visit, goes_on) == 0, what);
    }
    check(is_shared.load(), what);
}

int test_tree(ndpc::Mode auto mode, int &result, int depth, const auto &visit) {
    if (depth == 0) {
        visit();
        result = 1;
        return ndpc::done;
    }
    auto body = [&](ndpc::Mode auto mode, int below, int &item) -> int {
        return test_tree(mode, item, below, visit);
    };
    return ndpc::reduce_of<ndpc::Plus<int>>(mode, result, here, body, depth - 1, depth - 1);
}

// Element 0 fails when element 1 is in a loop of the serial clone that would never end.
void test_cancelled() {
    rest();
    std::atomic<bool> is_inside{false};
    ndpc::Seq<int> made;
    int status =
        ndpc::each(ndpc::Forking(), made, 2, here, [&](ndpc::Mode auto, std::int64_t i, int &) -> int {
            if (i == 0) {
                bool was_inside = wait_for([&] { return is_inside.load(); });
                return ndpc::fail(here, was_inside ? "on purpose" : "nobody came");
            }
            std::int64_t endless = ndpc::longest_sequence;
            return ndpc::each_element(ndpc::Serial(), endless, here,
                                      [&](ndpc::Mode auto, std::int64_t) -> int {
                                          is_inside.store(true);
                                          hrt_thread_yield();
                                          return ndpc::done;
                                      });
        });
    check(status == ndpc::failed && std::strstr(ndpc::failure_text(), "on purpose"),
          "a failure ends what is behind it");
    check(ndpc::scheduler.attention.load() < ndpc::Scheduler::one_failing, "no failure is left");
}

} // namespace

int main() {
    for (int round = 0; round < 20; round++) {
        for (std::uint32_t workers : {2u, 4u}) {
            check(ndpc::start(workers, false) == 0, "a start");
            rest();
            // At once one after the other: the others may not have said yet that they have nothing to do.
            for (int i = 0; i < 5; i++) {
                test_side_by_side(2);
            }
            rest();
            test_side_by_side(workers);
            test_shared("a loop of the serial clone", [](const auto &visit, const auto &goes_on) -> int {
                return ndpc::each_element(ndpc::Serial(), 1000, here,
                                          [&](ndpc::Mode auto, std::int64_t) -> int {
                                              if (goes_on()) {
                                                  visit();
                                              }
                                              return ndpc::done;
                                          });
            });
            test_shared("a filter of the serial clone", [](const auto &visit, const auto &goes_on) -> int {
                ndpc::Seq<int> kept;
                NDPC_TRY(ndpc::select(ndpc::Serial(), kept, 1000, here,
                                      [&](ndpc::Mode auto, std::int64_t i, bool &wanted) -> int {
                                          if (goes_on()) {
                                              visit();
                                          }
                                          wanted = i % 3 == 0;
                                          return ndpc::done;
                                      }));
                for (int k = 0; k < 334; k++) {
                    check(kept[k] == 3 * k, "what is kept is in order");
                }
                return kept.count() == 334 ? ndpc::done : ndpc::failed;
            });
            test_shared("a tree of the serial clone", [](const auto &visit, const auto &) -> int {
                int leaves = 0;
                NDPC_TRY(test_tree(ndpc::Serial(), leaves, 10, visit));
                return leaves == 1024 ? ndpc::done : ndpc::failed;
            });
            test_cancelled();
            ndpc::stop();
        }
    }
    std::puts("clones ok");
}
