// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loops with static schedules, sections (loops over their numbers), and `distribute`: each member or team
// computes its part by itself.
#include "static_init.h"

#include "ident.h"
#include "leave.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

constexpr bool is_distribute(int32_t schedule) {
    return schedule == KMP_DISTRIBUTE || schedule == KMP_DISTRIBUTE_CHUNKED;
}

template <typename Value>
[[gnu::noinline]] void begin_with_tool(Member &me, const Ident *place, int32_t schedule,
                                       const StaticLoop<Value> &loop) {
    typename StaticLoop<Value>::Unsigned last = 0;
    bool has_any = last_position(*loop.lower, *loop.upper, loop.step, &last);
    uint32_t flags = place != nullptr ? place->flags : 0;
    ompt::WorkKind kind = (flags & IDENT_SECTIONS) != 0 ? ompt::WorkKind::Sections
                          : (flags & IDENT_DISTRIBUTE) != 0 || is_distribute(parts_of(schedule).schedule)
                              ? ompt::WorkKind::Distribute
                              : ompt::WorkKind::Loop;
    ompt::work_begin(me, kind, has_any ? static_cast<uint64_t>(last) + 1 : 0);
}

template <typename Value> void init(const Ident *place, int32_t schedule, const StaticLoop<Value> &loop) {
    Member &me = self();
    if (ompt::is_on()) {
        begin_with_tool(me, place, schedule, loop);
    }
    schedule = parts_of(schedule).schedule;
    if (is_distribute(schedule)) {
        const Team &league = league_of(*me.team);
        deal(loop, schedule, league.league_size, league.league_number);
        return;
    }
    // What members have to agree on is only whether the construct is cancelled.
    if (__builtin_expect(settings.cancellation, false)) {
        enter_cancellable(me);
    }
    deal(loop, schedule, me.size, me.number);
}

// `distribute parallel for` in one: the caller's part of its team's block.
template <typename Value>
void init_both(const Ident *place, int32_t schedule, Value *team_upper, StaticLoop<Value> loop) {
    Member &me = self();
    if (ompt::is_on()) {
        begin_with_tool(me, place, schedule, loop);
    }
    StaticLoop<Value> block = loop;
    block.stride = nullptr;
    const Team &league = league_of(*me.team);
    deal(block, KMP_DISTRIBUTE, league.league_size, league.league_number);
    int32_t is_last_team = loop.is_last != nullptr && *loop.is_last != 0;
    *team_upper = *loop.upper;
    deal(loop, parts_of(schedule).schedule, me.size, me.number);
    if (loop.is_last != nullptr) {
        *loop.is_last = *loop.is_last != 0 && is_last_team;
    }
}

} // namespace

#define STATIC_INIT(SUFFIX, VALUE, SIGNED)                                                                   \
    OMP_EXPORT void __kmpc_for_static_init_##SUFFIX(const Ident *place, Gtid, int32_t schedule,              \
                                                    int32_t *is_last, VALUE *lower, VALUE *upper,            \
                                                    SIGNED *stride, SIGNED step, SIGNED chunk) {             \
        OMPT_ENTRY();                                                                                        \
        init<VALUE>(place, schedule, {is_last, lower, upper, stride, step, chunk});                          \
    }                                                                                                        \
    OMP_EXPORT void __kmpc_dist_for_static_init_##SUFFIX(                                                    \
        const Ident *place, Gtid, int32_t schedule, int32_t *is_last, VALUE *lower, VALUE *upper,            \
        VALUE *team_upper, SIGNED *stride, SIGNED step, SIGNED chunk) {                                      \
        OMPT_ENTRY();                                                                                        \
        init_both<VALUE>(place, schedule, team_upper, {is_last, lower, upper, stride, step, chunk});         \
    }                                                                                                        \
    OMP_EXPORT void __kmpc_team_static_init_##SUFFIX(const Ident *place, Gtid, int32_t *is_last,             \
                                                     VALUE *lower, VALUE *upper, SIGNED *stride,             \
                                                     SIGNED step, SIGNED chunk) {                            \
        OMPT_ENTRY();                                                                                        \
        init<VALUE>(place, KMP_DISTRIBUTE_CHUNKED, {is_last, lower, upper, stride, step, chunk});            \
    }

STATIC_INIT(4, int32_t, int32_t)
STATIC_INIT(4u, uint32_t, int32_t)
STATIC_INIT(8, int64_t, int64_t)
STATIC_INIT(8u, uint64_t, int64_t)

OMP_EXPORT void __kmpc_for_static_fini(const Ident *, Gtid) {
    if (__builtin_expect(settings.cancellation, false)) {
        leave(self());
    }
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::work_close(self()); });
    }
}
