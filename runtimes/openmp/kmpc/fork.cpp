// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel regions. The compiler passes the code of the region, and each of its variables as an argument: an
// address, or a value that fits into a register.
#include <alloca.h>

#include "core/serial.h"
#include "invoke.h"
#include "push.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

void run_outlined(Member &me, const Region &region) {
    invoke(me, region.code, region.argument_count, static_cast<void **>(region.data));
}

void fork_outlined(Member &me, Outlined code, uint32_t count, void **arguments) {
    Region region;
    region.run = run_outlined;
    region.code = reinterpret_cast<void *>(code);
    region.data = arguments;
    region.argument_count = count;
    Pushed pushed = take_pushed(*me.thread);
    fork(me, region, pushed.threads, pushed.bind);
}

[[gnu::noinline]] void fork_few(Outlined code, int32_t count, void *first, void *second, void *third) {
    void *arguments[ARGUMENTS_READ] = {first, second, third};
    fork_outlined(self(), code, static_cast<uint32_t>(count), arguments);
}

} // namespace

// __kmpc_fork_call is one of these two (fork_call.S). Up to three arguments: where the caller passes fewer,
// the others are what the registers happened to have, and nobody looks at them.
extern "C" [[gnu::visibility("hidden")]] void hadal_omp_fork_few(const Ident *, int32_t count, Outlined code,
                                                                 void *first, void *second, void *third) {
    Member *me = current;
    Member *inner = nullptr;
    if (HRT_LIKELY(me != nullptr) && is_serial(*me, me->thread->pushed_threads)) {
        inner = serial_begin_quickly(*me);
    }
    if (inner == nullptr) {
        OMPT_ENTRY();
        fork_few(code, count, first, second, third);
        return;
    }
    Thread &thread = *inner->thread;
    take_pushed(thread);
    int32_t gtid = static_cast<int32_t>(thread.gtid), number = 0;
    code(&gtid, &number, first, second, third);
    serial_end(*inner);
}

extern "C" [[gnu::visibility("hidden")]] void hadal_omp_fork_many(const Ident *, int32_t count, Outlined code,
                                                                  ...) {
    OMPT_ENTRY();
    // They live as long as the region, which is over when this function returns.
    void **arguments = static_cast<void **>(alloca(argument_places(count) * sizeof(void *)));
    va_list list;
    va_start(list, code);
    read_arguments(arguments, count, list);
    va_end(list);
    fork_outlined(self(), code, static_cast<uint32_t>(count), arguments);
}

// With one argument, which may be null: the address of the region's variables.
OMP_EXPORT void __kmpc_fork_call_if(const Ident *, int32_t, Outlined code, int32_t condition,
                                    void *variables) {
    OMPT_ENTRY();
    void *arguments[ARGUMENTS_READ] = {variables};
    Member &me = self();
    if (condition == 0) {
        me.thread->pushed_threads = 1;
    }
    fork_outlined(me, code, 1, arguments);
}

// The caller runs the code of the region by itself between the two.
OMP_EXPORT void __kmpc_serialized_parallel(const Ident *, Gtid) {
    OMPT_ENTRY();
    Member &me = self();
    take_pushed(*me.thread);
    ompt::is_on() ? ompt::serial_begin(me) : serial_begin(me);
}

OMP_EXPORT void __kmpc_end_serialized_parallel(const Ident *, Gtid) {
    Member &me = self();
    ompt::is_on() ? ompt::serial_end(me) : serial_end(me);
}
