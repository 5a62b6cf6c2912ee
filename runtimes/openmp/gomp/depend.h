// SPDX-License-Identifier: Apache-2.0 OR MIT
// gcc's arrays of dependences.
#ifndef HADAL_OMP_GOMP_DEPEND_H
#define HADAL_OMP_GOMP_DEPEND_H

#include "core/depend.h"
#include "gomp.h"

namespace hadal::omp::gomp {

// A `depend` clause as the core wants it, for as long as the object lives.
class Depend {
  public:
    // May be null: nothing.
    explicit Depend(void *const *array);
    ~Depend();
    Depend(const Depend &) = delete;
    Depend &operator=(const Depend &) = delete;

    const Dependence *list() const { return items; }
    uint32_t count() const { return item_count; }

    // Waits for all tasks that a task with these dependences must follow. The caller generates no task until
    // it has executed that task, so nobody else can get in the way of what it excludes.
    void wait(Member &me);

  private:
    void add(void *address, DependKind kind);

    static constexpr uint32_t FEW = 16;
    Dependence few[FEW];
    Dependence *items = few;
    uint32_t item_count = 0;
};

} // namespace hadal::omp::gomp

#endif
