// SPDX-License-Identifier: Apache-2.0 OR MIT
// Functions that hadal/hrt.h has inline, for callers that are not C.
#include <hadal/hrt.h>

#define INLINE(result, name, parameters, ...)                                                                \
    result hrt_rs_##name parameters { return hrt_##name(__VA_ARGS__); }

INLINE(int, thread_create,
       (hrt_thread_t * thread, const struct hrt_thread_attr *attr, hrt_thread_fn fn, void *arg), thread, attr,
       fn, arg)
INLINE(int, thread_join_until, (hrt_thread_t thread, void **result, uint64_t deadline_ns), thread, result,
       deadline_ns)
INLINE(int, thread_detach, (hrt_thread_t thread), thread)
INLINE(hrt_thread_t, thread_self, (void))
INLINE(void, thread_yield, (void))
INLINE(int, thread_sleep_until, (uint64_t deadline_ns), deadline_ns)
INLINE(int, thread_bind, (hrt_thread_t thread, int32_t cpu), thread, cpu)
INLINE(int, thread_migrate, (hrt_thread_t thread, int32_t cpu), thread, cpu)
INLINE(int, thread_set_schedule, (hrt_thread_t thread, const struct hrt_thread_attr *attr), thread, attr)
INLINE(const char *, admission_text, (void))
INLINE(int, thread_wait_period, (uint64_t * missed), missed)
INLINE(int, thread_set_name, (hrt_thread_t thread, const char *name), thread, name)
INLINE(int, thread_info, (hrt_thread_t thread, struct hrt_thread_info *info), thread, info)
INLINE(uint64_t, thread_list, (hrt_thread_t * threads, uint64_t capacity), threads, capacity)

INLINE(void, spin_lock, (hrt_spin_t * lock), lock)
INLINE(int, spin_trylock, (hrt_spin_t * lock), lock)
INLINE(void, spin_unlock, (hrt_spin_t * lock), lock)
INLINE(int, mutex_lock_until, (hrt_mutex_t * mutex, uint64_t deadline_ns), mutex, deadline_ns)
INLINE(int, mutex_trylock, (hrt_mutex_t * mutex), mutex)
INLINE(int, mutex_unlock, (hrt_mutex_t * mutex), mutex)
INLINE(int, rwlock_rdlock_until, (hrt_rwlock_t * lock, uint64_t deadline_ns), lock, deadline_ns)
INLINE(int, rwlock_wrlock_until, (hrt_rwlock_t * lock, uint64_t deadline_ns), lock, deadline_ns)
INLINE(int, rwlock_unlock, (hrt_rwlock_t * lock), lock)
INLINE(int, cond_signal, (hrt_cond_t * cond, uint32_t flags), cond, flags)
INLINE(int, cond_broadcast, (hrt_cond_t * cond, uint32_t flags), cond, flags)
INLINE(int, sem_trywait, (hrt_sem_t * sem), sem)
INLINE(int, sem_wait_until, (hrt_sem_t * sem, uint64_t deadline_ns), sem, deadline_ns)
INLINE(int, sem_post, (hrt_sem_t * sem), sem)

INLINE(int, event_register, (hrt_handler_fn action, void *arg, uint32_t flags, uint32_t *event), action, arg,
       flags, event)
INLINE(int, event_unregister, (uint32_t event), event)
INLINE(int, event_notify, (uint32_t event, int32_t cpu), event, cpu)
INLINE(int, event_notify_all, (uint32_t event, uint32_t flags), event, flags)
INLINE(int, event_wait, (uint32_t event, uint64_t *seen, uint64_t deadline_ns), event, seen, deadline_ns)
INLINE(int, ipi_register, (hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector), handler, arg,
       flags, vector)
INLINE(int, ipi_unregister, (uint32_t vector), vector)
INLINE(int, ipi_send, (uint32_t vector, int32_t cpu), vector, cpu)
INLINE(int, timer_start,
       (int32_t cpu, uint64_t deadline_ns, hrt_handler_fn callback, void *arg, uint32_t flags,
        uint64_t *timer),
       cpu, deadline_ns, callback, arg, flags, timer)
INLINE(int, timer_cancel, (uint64_t timer), timer)

INLINE(uint64_t, now_ns, (void))
INLINE(uint32_t, cpu_count, (void))
INLINE(uint32_t, core_count, (void))
INLINE(uint32_t, cpu_self, (void))
INLINE(void, trace_mark, (const char *text), text)
INLINE(int, cpu_info, (uint32_t cpu, struct hrt_cpu_info *info), cpu, info)
INLINE(int, cache_info, (uint32_t cpu, uint32_t index, struct hrt_cache_info *info), cpu, index, info)
INLINE(uint32_t, zone_count, (void))
INLINE(int, zone_info, (uint32_t zone, struct hrt_zone_info *info), zone, info)
INLINE(uint32_t, zone_distance, (uint32_t from, uint32_t to), from, to)
INLINE(void *, alloc_aligned, (uint64_t bytes, uint64_t align, int32_t zone, uint32_t flags), bytes, align,
       zone, flags)
INLINE(int, free, (void *memory), memory)
INLINE(uint64_t, usable_bytes, (const void *memory), memory)
INLINE(int32_t, zone_of, (const void *memory), memory)
INLINE(int, module, (uint32_t index, struct hrt_module *module), index, module)
INLINE(const char *, command_line, (void))

uint64_t hrt_rs_barrier_bytes(void) { return sizeof(hrt_barrier_t); }
uint64_t hrt_rs_barrier_align(void) { return _Alignof(hrt_barrier_t); }
uint32_t hrt_rs_place(void) { return hrt_calls->place; }
