// SPDX-License-Identifier: Apache-2.0 OR MIT
// The gang: one bound thread for each CPU, which share the blocks of an operation with the interpreter.
#ifndef HADAL_VCODE_GANG_H
#define HADAL_VCODE_GANG_H

#include <hadal/hrt.h>

namespace hadal::vcode {

// How many CPUs work together (0: all), from so many items on (0: what was found to pay). Called before the
// first operation.
void gang_size(uint32_t cpus, uint64_t items);
// How many work together on so many items: 1 where sharing would not pay.
uint32_t gang_for(uint64_t items);
// Runs body(context, index, member) for every index below the count, by all of the gang; the interpreter is
// member 0.
void gang_run(uint64_t count, void (*body)(void *context, uint64_t index, uint32_t member), void *context);
// Lets the gang's threads end.
void gang_end();

// body(index, member) for every index below the count, each of which stands for so many items.
template <typename Body> void share_by_member(uint64_t count, uint64_t items_each, Body body) {
    if (HRT_LIKELY(count < 2 || gang_for(count * items_each) < 2)) {
        for (uint64_t index = 0; index < count; index++) {
            body(index, 0);
        }
        return;
    }
    gang_run(
        count,
        [](void *context, uint64_t index, uint32_t member) {
            (*static_cast<Body *>(context))(index, member);
        },
        &body);
}

template <typename Body> void share(uint64_t count, uint64_t items_each, Body body) {
    share_by_member(count, items_each, [&body](uint64_t index, uint32_t) { body(index); });
}

} // namespace hadal::vcode

#endif
