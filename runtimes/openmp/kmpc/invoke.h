// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls of functions that the compiler has made of regions, with any number of variables.
#ifndef HADAL_OMP_KMPC_INVOKE_H
#define HADAL_OMP_KMPC_INVOKE_H

#include <cstdarg>

#include "core/team.h"
#include "ident.h"

// Calls code(gtid, number, arguments[0], ..., arguments[count - 1]). At least ARGUMENTS_READ of them must be
// readable, whatever `count` is (invoke.S).
extern "C" void hadal_omp_invoke(void *code, int32_t *gtid, int32_t *number, uint32_t count, void **arguments)
    __attribute__((visibility("hidden")));

// The same, and says where the frame is that the code returns to.
extern "C" void hadal_omp_invoke_framed(void *code, int32_t *gtid, int32_t *number, uint32_t count,
                                        void **arguments, void **frame) __attribute__((visibility("hidden")));

namespace hadal::omp::kmpc {

inline constexpr uint32_t ARGUMENTS_READ = 4;

inline uint32_t argument_places(int32_t count) {
    return count > static_cast<int32_t>(ARGUMENTS_READ) ? static_cast<uint32_t>(count) : ARGUMENTS_READ;
}

inline void read_arguments(void **arguments, int32_t count, va_list list) {
    for (int32_t index = 0; index < count; index++) {
        arguments[index] = va_arg(list, void *);
    }
}

inline void invoke(Member &me, void *code, uint32_t count, void **arguments) {
    // The region may keep the addresses, so each member has variables of its own.
    int32_t gtid = static_cast<int32_t>(me.thread->gtid), number = static_cast<int32_t>(me.number);
    if (ompt::is_on()) {
        hadal_omp_invoke_framed(code, &gtid, &number, count, arguments, ompt::exit_frame_of(me.implicit));
        return;
    }
    hadal_omp_invoke(code, &gtid, &number, count, arguments);
}

} // namespace hadal::omp::kmpc

#endif
