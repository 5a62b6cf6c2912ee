// SPDX-License-Identifier: Apache-2.0 OR MIT
// A lock for a few instructions, whose waiters yield: CPUs may be fewer than workers.
#ifndef NDPC_LOCK_H
#define NDPC_LOCK_H

#include <atomic>
#include <cstdint>

#include "hadal/hrt.h"

namespace ndpc {

class LockGuard {
  public:
    explicit LockGuard(std::atomic<std::uint32_t> &lock) : lock(lock) {
        while (lock.exchange(1, std::memory_order_acquire) != 0) {
            hrt_thread_yield();
        }
    }
    ~LockGuard() { lock.store(0, std::memory_order_release); }
    LockGuard(const LockGuard &) = delete;
    LockGuard &operator=(const LockGuard &) = delete;

  private:
    std::atomic<std::uint32_t> &lock;
};

} // namespace ndpc

#endif
