/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What stands behind hadal/hrt/atomic.h in the model checker: each access is a step of the explored schedule.
 */
#ifndef HADAL_RUNTIMES_HRT_MODEL_ATOMIC_H
#define HADAL_RUNTIMES_HRT_MODEL_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum model_order { HRT_RELAXED, HRT_ACQUIRE, HRT_RELEASE, HRT_ACQ_REL, HRT_SEQ_CST };

uint64_t model_load(const void *object, unsigned bytes, enum model_order order);
void model_store(void *object, unsigned bytes, uint64_t value, enum model_order order);
uint64_t model_exchange(void *object, unsigned bytes, uint64_t value, enum model_order order);
uint64_t model_fetch_add(void *object, unsigned bytes, uint64_t value, enum model_order order);
bool model_cas(void *object, unsigned bytes, void *expected, uint64_t desired, enum model_order order);
void model_fence(enum model_order order);
void model_pause(void);
unsigned model_spins(void);

#ifdef __cplusplus
}
#endif

#define HRT_VALUE(value) ((uint64_t)(uintptr_t)(value))
#define HRT_LOAD(object, order) ((__typeof__(*(object)))model_load((object), sizeof *(object), (order)))
#define HRT_STORE(object, value, order) model_store((object), sizeof *(object), HRT_VALUE(value), (order))
#define HRT_EXCHANGE(object, value, order)                                                                   \
    __extension__(                                                                                           \
        { (__typeof__(*(object)))model_exchange((object), sizeof *(object), HRT_VALUE(value), (order)); })
#define HRT_FETCH_ADD(object, value, order)                                                                  \
    __extension__(                                                                                           \
        { (__typeof__(*(object)))model_fetch_add((object), sizeof *(object), HRT_VALUE(value), (order)); })
#define HRT_FETCH_SUB(object, value, order) HRT_FETCH_ADD((object), -HRT_VALUE(value), (order))
#define HRT_CAS(object, expected, desired, order)                                                            \
    model_cas((object), sizeof *(object), (expected), HRT_VALUE(desired), (order))
#define HRT_FENCE(order) model_fence(order)
#define HRT_FENCE_AFTER_UPDATE() model_fence(HRT_SEQ_CST)
#define HRT_SPINS model_spins()
#define HRT_TASKS_OWN 2u
#define HRT_TASKS_SENT 2u
#define HRT_PAUSE() model_pause()

#endif
