// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threadprivate variables of programs that do without thread-local storage (-fnoopenmp-use-tls, Fortran). The
// initial thread has the original; others get copies of what it was at first, when they ask.
//
// Threads of the run-time live as long as the program; destructors run for those that the program ends.
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

struct Variable {
    Variable *next;
    void *original;
    size_t bytes = 0;
    void *image = nullptr; // its first value, where there is no constructor
    void *(*constructor)(void *) = nullptr;
    void (*destructor)(void *) = nullptr;
    uint32_t index = 0; // in each thread's copies
};

Lock variables_lock;
Variable *variables = nullptr;
uint32_t variable_count = 0, end_key = 0;
bool has_end_key = false;

struct Copies {
    uint32_t capacity;
    void *of[];
};

// Of the calling thread, by the variables' numbers.
thread_local constinit Copies *copies [[gnu::tls_model("initial-exec")]] = nullptr;

void *memory_for(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr) {
        fatal("there is no memory for a threadprivate variable of %zu bytes", bytes);
    }
    return memory;
}

// With the lock held.
Variable &variable_of(void *original) {
    for (Variable *variable = variables; variable != nullptr; variable = variable->next) {
        if (variable->original == original) {
            return *variable;
        }
    }
    variables = ::new (memory_for(sizeof(Variable))) Variable{variables, original};
    variables->index = variable_count++;
    return *variables;
}

// The first thread to use it, which may change it from now on.
Variable *first_use(void *original, size_t bytes) {
    lock(variables_lock);
    Variable &variable = variable_of(original);
    if (variable.bytes == 0) {
        variable.bytes = bytes;
        if (variable.constructor == nullptr) {
            variable.image = memcpy(memory_for(bytes), original, bytes);
        }
    }
    unlock(variables_lock);
    return &variable;
}

void on_thread_end(void *value) {
    Copies *ended = static_cast<Copies *>(value);
    lock(variables_lock);
    Variable *all = variables;
    unlock(variables_lock);
    for (Variable *variable = all; variable != nullptr; variable = variable->next) {
        if (variable->index >= ended->capacity || ended->of[variable->index] == nullptr) {
            continue;
        }
        if (variable->destructor != nullptr) {
            variable->destructor(ended->of[variable->index]);
        }
        free(ended->of[variable->index]);
    }
    free(ended);
    copies = nullptr;
}

void extend(uint32_t index) {
    uint32_t old = copies != nullptr ? copies->capacity : 0, capacity = 2 * (index + 4);
    Copies *larger = static_cast<Copies *>(realloc(copies, sizeof(Copies) + capacity * sizeof(void *)));
    if (larger == nullptr) {
        fatal("there is no memory for %u threadprivate variables", capacity);
    }
    memset(larger->of + old, 0, (capacity - old) * sizeof(void *));
    larger->capacity = capacity;
    copies = larger;
    lock(variables_lock);
    if (!has_end_key) {
        has_end_key = hrt_key_create(&end_key, on_thread_end) == HRT_OK;
    }
    unlock(variables_lock);
    if (has_end_key) {
        hrt_key_set(end_key, larger);
    }
}

[[gnu::noinline]] void *make_copy(const Variable &variable) {
    if (copies == nullptr || variable.index >= copies->capacity) {
        extend(variable.index);
    }
    void *copy = memory_for(variable.bytes);
    copies->of[variable.index] = copy;
    if (variable.constructor != nullptr) {
        variable.constructor(copy);
    } else {
        memcpy(copy, variable.image, variable.bytes);
    }
    return copy;
}

void *copy_for_caller(const Variable &variable) {
    if (self().thread->gtid == 0) {
        return variable.original;
    }
    const Copies *own = copies;
    if (own != nullptr && variable.index < own->capacity && own->of[variable.index] != nullptr) {
        return own->of[variable.index];
    }
    return make_copy(variable);
}

} // namespace

// `cache` is zero at first, and the same for all calls for a variable.
OMP_EXPORT void *__kmpc_threadprivate_cached(const Ident *, Gtid, void *original, size_t bytes,
                                             void **cache) {
    Variable **known = reinterpret_cast<Variable **>(cache);
    Variable *variable = HRT_LOAD(known, HRT_ACQUIRE);
    if (HRT_UNLIKELY(variable == nullptr)) {
        variable = first_use(original, bytes);
        HRT_STORE(known, variable, HRT_RELEASE);
    }
    return copy_for_caller(*variable);
}

OMP_EXPORT void *__kmpc_threadprivate(const Ident *, Gtid, void *original, size_t bytes) {
    return copy_for_caller(*first_use(original, bytes));
}

// For objects: before they are used. There are no copy constructors.
OMP_EXPORT void __kmpc_threadprivate_register(const Ident *, void *original, void *(*constructor)(void *),
                                              void *, void (*destructor)(void *)) {
    lock(variables_lock);
    Variable &variable = variable_of(original);
    variable.constructor = constructor;
    variable.destructor = destructor;
    unlock(variables_lock);
}
