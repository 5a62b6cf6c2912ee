// SPDX-License-Identifier: Apache-2.0 OR MIT
// Work is shared only from some size on; below it the interpreter's thread does all by itself.
#include "gang.h"

namespace hadal::vcode {

void gang_size(uint32_t) {}
uint32_t gang_for(uint64_t) { return 1; }
void gang_run(uint64_t count, void (*body)(void *context, uint64_t index), void *context) {
    for (uint64_t index = 0; index < count; index++) {
        body(context, index);
    }
}
void gang_end() {}

} // namespace hadal::vcode
