// SPDX-License-Identifier: Apache-2.0 OR MIT
// How members wait: they spin, then yield to other threads of their CPU, then sleep at their thread's door.
//
// Who makes true what a member may wait for calls `notify` after it. A member that is about to sleep counts
// itself among its team's sleepers, closes its door, and looks once more; so one of the two sees the other.
#ifndef HADAL_OMP_SYNC_H
#define HADAL_OMP_SYNC_H

#include "irq.h"

namespace hadal::omp {

inline constexpr uint32_t DOOR_OPEN = 0, DOOR_CLOSED = 1;

// Opens a thread's door if it is closed, and wakes it.
void open_door(Thread &thread);

// Whether members of the team sleep, or are about to. What may wake them has become true by an atomic update,
// or before a full fence.
inline bool has_sleepers(const Team &team) {
    HRT_FENCE_AFTER_UPDATE();
    return HRT_UNLIKELY(HRT_LOAD(&team.sleepers, HRT_RELAXED) != 0);
}

inline void notify(const Team &team, const Member &member) {
    if (has_sleepers(team)) {
        open_door(*HRT_LOAD(&member.thread, HRT_RELAXED));
    }
}
void notify_all(const Team &team);
// For one more task: wakes one member that sleeps.
void notify_one(const Team &team, const Member &but);

// How long a member has waited for one thing.
class Patience {
  public:
    // A team may change how long its members wait while they wait for their next region.
    explicit Patience(const Team &team)
        : spins(HRT_LOAD(&team.spins, HRT_RELAXED)), yields(HRT_LOAD(&team.yields, HRT_RELAXED)),
          eager(spins > EAGER ? EAGER : 0) {}
    // Waits a little; false when it is time to sleep.
    bool wait() {
        if (spins > 0) {
            spins--;
            if (HRT_LIKELY(eager > 0)) {
                eager--;
            } else {
                HRT_PAUSE();
            }
            return true;
        }
        if (yields > 0) {
            yields--;
            hrt_thread_yield();
            return true;
        }
        return false;
    }

  private:
    // Who may spin for long looks so often without a pause first: on hardware a pause takes as long as a
    // barrier of members that come together, and where QEMU emulates the processor several times as long.
    static constexpr uint32_t EAGER = 64;

    uint32_t spins, yields, eager;
};

// Sleeps until the door is opened, unless `ready()` is true.
template <typename Ready> void sleep_unless(Member &me, Thread &thread, Ready ready) {
    Team &team = *me.team;
    HRT_FETCH_ADD(&team.sleepers, 1, HRT_SEQ_CST);
    HRT_EXCHANGE(&thread.door, DOOR_CLOSED, HRT_SEQ_CST);
    HRT_FENCE_AFTER_UPDATE();
    while (!ready() && HRT_LOAD(&thread.door, HRT_ACQUIRE) == DOOR_CLOSED) {
        hrt_wait(&thread.door, DOOR_CLOSED, HRT_FOREVER, 0);
    }
    HRT_STORE(&thread.door, DOOR_OPEN, HRT_RELAXED);
    HRT_FETCH_SUB(&team.sleepers, 1, HRT_RELAXED);
}

// Waits until `ready()` is true. `thread`: the caller's, where `me` may lose it meanwhile.
template <typename Ready> void await_as(Member &me, Thread &thread, Ready ready) {
    if (HRT_LIKELY(ready())) {
        return;
    }
    IrqPause interrupts(thread);
    Patience patience(*me.team);
    while (!ready()) {
        if (!patience.wait()) {
            sleep_unless(me, thread, ready);
            patience = Patience(*me.team);
        }
    }
}

template <typename Ready> void await(Member &me, Ready ready) {
    if (HRT_UNLIKELY(!ready())) {
        await_as(me, *me.thread, ready);
    }
}

// The same, and runs tasks meanwhile.
template <typename Ready> void await_with_tasks(Member &me, Ready ready) {
    if (ready()) {
        return;
    }
    IrqPause interrupts(*me.thread);
    Patience patience(*me.team);
    while (!ready()) {
        if (task_run_one(me)) {
            patience = Patience(*me.team);
        } else if (!patience.wait()) {
            sleep_unless(me, *me.thread, [&] { return ready() || task_may_find(me); });
            patience = Patience(*me.team);
        }
    }
}

} // namespace hadal::omp

#endif
