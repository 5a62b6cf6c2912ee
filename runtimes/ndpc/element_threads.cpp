// SPDX-License-Identifier: Apache-2.0 OR MIT
// One thread for each element, forked by the thread that runs the loop, which joins all of them: what NDPC
// was published with, kept to compare with.
#include "hadal/hrt.h"
#include "ndpc/loop.h"
#include "steal.h"

namespace ndpc {
namespace {

struct Elements {
    Join join;
    const void *body;
    int (*element)(const void *body, std::int64_t index);
};

// Out of line: compilers must look up thread-local data anew in the thread that a fork has made.
__attribute__((noinline)) std::uintptr_t run_element(Elements &elements, std::int64_t index) {
    Join &join = elements.join;
    if (join.failed_at.load(std::memory_order_relaxed) < index) {
        return cancelled;
    }
    Worker &mine = worker();
    Loop loop{.next = index + 1,
              .end = index + 1,
              .running = index,
              .join = &join,
              .outer = join.outer,
              .depth = 0,
              .older = nullptr,
              .newer = nullptr};
    Loop *before = mine.current;
    mine.current = &loop;
    int status = elements.element(elements.body, index);
    if (status != done) {
        note_failure(mine, loop, index, status);
    }
    mine.current = before;
    return static_cast<std::uintptr_t>(status);
}

// The child goes on in a copy of this function's frame, and ends where it returns.
__attribute__((noinline)) std::uintptr_t fork_element(Elements &elements, std::int64_t index,
                                                      hrt_thread_t *child) {
    int status = hrt_thread_fork(nullptr, child);
    if (status == HRT_FORK_CHILD) {
        return run_element(elements, index);
    }
    return static_cast<std::uintptr_t>(status);
}

} // namespace

int run_element_threads(std::int64_t count, const void *body,
                        int (*element)(const void *body, std::int64_t index)) {
    Worker &mine = worker();
    Elements elements{.join = {.run = nullptr, .body = body, .owner = &mine, .outer = mine.current},
                      .body = body,
                      .element = element};
    std::size_t bytes = static_cast<std::size_t>(count) * sizeof(hrt_thread_t);
    auto *children = static_cast<hrt_thread_t *>(allocate_block(mine.pool, bytes));
    bool is_cancelled = false;
    for (std::int64_t i = 0; i < count; i++) {
        // Without a thread or a place for its name the element runs here.
        if (!children || fork_element(elements, i, &children[i]) != HRT_OK) {
            is_cancelled |= run_element(elements, i) == cancelled;
            if (children) {
                children[i] = 0;
            }
        }
    }
    for (std::int64_t i = 0; children && i < count; i++) {
        void *result = nullptr;
        if (children[i] != 0 && hrt_thread_join(children[i], &result) == HRT_OK) {
            is_cancelled |= reinterpret_cast<std::uintptr_t>(result) == cancelled;
        }
    }
    if (children) {
        free_block(mine.pool, children, class_of(bytes));
    }
    return finish_loop(mine, elements.join, is_cancelled ? cancelled : done);
}

} // namespace ndpc
