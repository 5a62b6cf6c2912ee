/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The call table at Linux user level: one function for each entry of struct hrt_calls, where the results and
 * their conditions are documented. */
#ifndef HRT_LINUX_H
#define HRT_LINUX_H

#include <sched.h>
#include <time.h>

#include "../internal.h"

/* Linux's number of a CPU: hrt numbers those that the process may use from 0. Only for cpu < cpu_count. */
uint32_t hrt_linux_cpu_number(uint32_t cpu);
/* The set of one CPU, or with HRT_CPU_ANY of all that the process may use. */
void hrt_linux_cpu_set(int32_t cpu, cpu_set_t *set);
uint32_t hrt_linux_zone_of_cpu(uint32_t cpu);
/* Linux's number of a zone. */
uint32_t hrt_linux_node_of_zone(uint32_t zone);
/* What hrt_alloc has given out from a zone. */
void hrt_linux_memory_counters(uint32_t zone, uint64_t *bytes, uint64_t *allocations);
/* Binds the calling thread to one of hrt's CPUs, or with HRT_CPU_ANY to all that the process may use. */
int hrt_linux_bind_caller(int32_t cpu);
/* The same for the CPUs of a zone. */
int hrt_linux_bind_caller_to_zone(uint32_t zone);
/* A deadline for calls that take an absolute time of CLOCK_MONOTONIC; NULL for HRT_FOREVER. */
const struct timespec *hrt_linux_timespec(uint64_t deadline_ns, struct timespec *time);

/* Threads: thread.c, join.c, control.c, key.c, group.c, clock.c */
int hrt_linux_thread_create(const struct hrt_thread_attr *attr, hrt_thread_fn fn, void *arg,
                            hrt_thread_t *out, struct hrt_slot_kind *need);
struct hrt_reserved hrt_linux_thread_reserve(const struct hrt_thread_attr *attr, struct hrt_slot_kind *need);
int hrt_linux_thread_start(hrt_thread_t thread, hrt_thread_fn fn, void *arg);
struct hrt_reserved hrt_linux_thread_fork(const struct hrt_thread_attr *attr, hrt_thread_fn fn,
                                          struct hrt_slot_kind *need);
struct hrt_work hrt_linux_slot_wait(const struct hrt_slot_kind *kind, void *result);
void hrt_linux_slot_leave(void *result);
int hrt_linux_slot_add_bare(const struct hrt_slot_kind *kind,
                            void (*entry)(const struct hrt_slot_kind *kind));
int hrt_linux_thread_join(hrt_thread_t thread, void **result, uint64_t deadline_ns);
int hrt_linux_thread_join_all(uint64_t deadline_ns);
int hrt_linux_thread_detach(hrt_thread_t thread);
hrt_thread_t hrt_linux_thread_self(void);
void hrt_linux_thread_yield(void);
void hrt_linux_thread_yield_full(void);
int hrt_linux_thread_sleep_until(uint64_t deadline_ns);
int hrt_linux_thread_bind(hrt_thread_t thread, int32_t cpu);
int hrt_linux_thread_migrate(hrt_thread_t thread, int32_t cpu);
int hrt_linux_thread_set_schedule(hrt_thread_t thread, const struct hrt_thread_attr *attr);
int hrt_linux_thread_wait_period(uint64_t *missed);
int hrt_linux_thread_set_name(hrt_thread_t thread, const char *name);
int hrt_linux_thread_info(hrt_thread_t thread, struct hrt_thread_info *info, uint64_t info_bytes);
uint64_t hrt_linux_thread_list(hrt_thread_t *threads, uint64_t capacity);
int hrt_linux_key_create(uint32_t *key, void (*destructor)(void *value));
int hrt_linux_key_delete(uint32_t key);
void *hrt_linux_key_get(uint32_t key);
int hrt_linux_key_set(uint32_t key, void *value);
bool hrt_linux_key_take(void (**destructor)(void *value), void **value);
const char *hrt_linux_admission_text(void);
int hrt_linux_group_create(const struct hrt_group_attr *attr, uint32_t *group);
int hrt_linux_group_join(uint32_t group);
int hrt_linux_group_leave(uint32_t group);
int hrt_linux_group_admit(uint32_t group, const struct hrt_thread_attr *schedule);
int hrt_linux_group_destroy(uint32_t group);

/* Waiting on words: wait.c */
int hrt_linux_wait(const uint32_t *word, uint32_t expected, uint64_t deadline_ns, uint32_t flags);
uint32_t hrt_linux_wake(const uint32_t *word, uint32_t count, uint32_t flags);
int hrt_linux_requeue(const uint32_t *word, uint32_t expected, uint32_t count, const uint32_t *target);

/* Events: event.c */
int hrt_linux_event_register(hrt_handler_fn action, void *arg, uint32_t flags, uint32_t *event);
int hrt_linux_event_unregister(uint32_t event);
int hrt_linux_event_notify(uint32_t event, int32_t cpu);
int hrt_linux_event_notify_set(uint32_t event, const uint64_t *cpus, uint32_t words);
int hrt_linux_event_notify_all(uint32_t event, uint32_t flags);
int hrt_linux_event_wait(uint32_t event, uint64_t *seen, uint64_t deadline_ns);
int hrt_linux_memory_wait(const volatile uint64_t *word, uint64_t old, uint64_t deadline_ns);

/* Interrupts: irq.c */
int hrt_linux_ipi_register(hrt_handler_fn handler, void *arg, uint32_t flags, uint32_t *vector);
int hrt_linux_ipi_unregister(uint32_t vector);
int hrt_linux_ipi_send(uint32_t vector, int32_t cpu);
int hrt_linux_irq_register(uint32_t line, hrt_handler_fn handler, void *arg, uint32_t flags);
int hrt_linux_irq_unregister(uint32_t line);
int hrt_linux_irq_steer(uint32_t line, int32_t cpu);
int hrt_linux_irq_mask(uint32_t line, bool masked);
int hrt_linux_irq_info(uint32_t index, struct hrt_irq_info *info, uint64_t info_bytes);
uint64_t hrt_linux_irq_disable(void);
void hrt_linux_irq_restore(uint64_t state);

/* Clocks and timers: clock.c, timer.c */
uint64_t hrt_linux_now_ns(void);
int hrt_linux_timer_start(int32_t cpu, uint64_t deadline_ns, hrt_handler_fn callback, void *arg,
                          uint32_t flags, uint64_t *timer);
int hrt_linux_timer_cancel(uint64_t timer);
int hrt_linux_hpet_read(uint64_t *count, uint64_t *hz);
int hrt_linux_pit_read(uint16_t *count, uint64_t *hz);

/* Topology: cpu.c, zone.c */
uint32_t hrt_linux_cpu_count(void);
uint32_t hrt_linux_cpu_self(void);
int hrt_linux_cpu_info(uint32_t cpu, struct hrt_cpu_info *info, uint64_t info_bytes);
int hrt_linux_cache_info(uint32_t cpu, uint32_t index, struct hrt_cache_info *info, uint64_t info_bytes);
uint32_t hrt_linux_zone_count(void);
int hrt_linux_zone_info(uint32_t zone, struct hrt_zone_info *info, uint64_t info_bytes);
uint32_t hrt_linux_zone_distance(uint32_t from, uint32_t to);

/* Memory: memory.c */
void *hrt_linux_alloc(uint64_t bytes, uint64_t align, int32_t zone, uint32_t flags);
int hrt_linux_free(void *memory);
uint64_t hrt_linux_usable_bytes(const void *memory);
int32_t hrt_linux_zone_of(const void *memory);

/* What the boot brought: module.c */
int hrt_linux_module(uint32_t index, struct hrt_module *module, uint64_t module_bytes);
const char *hrt_linux_command_line(void);

/* Marks in traces: trace.c */
extern const bool hrt_linux_tracing;
void hrt_linux_trace_mark(uint64_t first, uint64_t second);

#endif
