// SPDX-License-Identifier: Apache-2.0 OR MIT
// What clang's code and the run-time pass to each other. The numbers of bytes in comments are offsets.
#ifndef HADAL_OMP_KMPC_IDENT_H
#define HADAL_OMP_KMPC_IDENT_H

#include <cstddef>
#include <cstdint>

#include "core/abi.h"
#include "core/lock.h"
#include "ompt/ompt.h"

namespace hadal::omp::kmpc {

// A place in the source, read-only, shared by many calls.
struct Ident {
    int32_t reserved;
    uint32_t flags;
    int32_t reserved_too;
    int32_t source_len;
    const char *source; // ";file;function;line;column;;"
};
static_assert(sizeof(Ident) == 24);
// What a statically scheduled loop is.
inline constexpr uint32_t IDENT_SECTIONS = 0x400, IDENT_DISTRIBUTE = 0x800;
// The caller of a reduction can combine by atomic operations, too.
inline constexpr uint32_t IDENT_ATOMIC_REDUCTION = 0x10;

// What the compiler passes with nearly every call: the number of the calling thread. The run-time does not
// need it: it knows the calling thread by itself.
using Gtid = int32_t;

// The code of a parallel or teams region: variables of the region follow.
using Outlined = void (*)(int32_t *gtid, int32_t *number, ...);

// Zeroed memory that all critical regions of one name share.
struct CriticalName {
    Lock lock;
    uint32_t unused[6];
};
static_assert(sizeof(CriticalName) == 32);

struct KmpTask;
using TaskEntry = int32_t (*)(Gtid gtid, KmpTask *task);

// A task as the compiler knows it; its private variables follow.
struct KmpTask {
    void *shareds;   // the addresses of its shared variables
    TaskEntry entry; // 8
    int32_t part;    // 16: where an untied task goes on
    union {
        TaskEntry destructors;
    } first; // 24
    union {
        int32_t priority;
    } second; // 32
};
static_assert(sizeof(KmpTask) == 40);

// Of __kmpc_omp_task_alloc.
enum KmpTaskFlags : uint32_t {
    KMP_TIED = 0x1,
    KMP_FINAL = 0x2,
    KMP_DESTRUCTORS = 0x8,
    KMP_PRIORITY = 0x20,
    KMP_DETACHABLE = 0x40,
};

struct KmpDependence {
    uintptr_t address;
    size_t bytes;
    uint8_t flags;
};
static_assert(sizeof(KmpDependence) == 24);

// A dimension of a loop nest with cross-iteration dependences.
struct KmpDimension {
    int64_t lower, upper, step;
};

// A list item of a reduction that tasks take part in.
struct KmpReductionItem {
    void *shared;
    void *original;                                 // 8
    size_t bytes;                                   // 16
    void (*initialise)(void *copy, void *original); // 24; null: zeros
    void (*finish)(void *copy);                     // 32; may be null
    void (*combine)(void *into, void *from);        // 40
    uint32_t flags;                                 // 48
};
static_assert(sizeof(KmpReductionItem) == 56);

} // namespace hadal::omp::kmpc

#endif
