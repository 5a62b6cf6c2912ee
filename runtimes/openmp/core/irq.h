// SPDX-License-Identifier: Apache-2.0 OR MIT
// HADAL_OMP_IRQ=off: a member's CPU takes no interrupts while it runs the code of a region. While a member
// waits they are on.
#ifndef HADAL_OMP_IRQ_H
#define HADAL_OMP_IRQ_H

#include "team.h"

namespace hadal::omp {

// No interrupts while it exists, if the user wants that.
class IrqGuard {
  public:
    explicit IrqGuard(Thread &guarded) : thread(guarded), was_off(guarded.is_irq_off) {
        if (HRT_UNLIKELY(settings.irq_off) && !was_off) {
            thread.irq_state = hrt_irq_disable();
            thread.is_irq_off = true;
        }
    }
    ~IrqGuard() {
        if (HRT_UNLIKELY(thread.is_irq_off) && !was_off) {
            thread.is_irq_off = false;
            hrt_irq_restore(thread.irq_state);
        }
    }

  private:
    Thread &thread;
    bool was_off;
};

// Interrupts while it exists, if a guard has turned them off.
class IrqPause {
  public:
    explicit IrqPause(Thread &paused) : thread(paused), was_off(paused.is_irq_off) {
        if (HRT_UNLIKELY(was_off)) {
            thread.is_irq_off = false;
            hrt_irq_restore(thread.irq_state);
        }
    }
    ~IrqPause() {
        if (HRT_UNLIKELY(was_off)) {
            thread.irq_state = hrt_irq_disable();
            thread.is_irq_off = true;
        }
    }

  private:
    Thread &thread;
    bool was_off;
};

} // namespace hadal::omp

#endif
