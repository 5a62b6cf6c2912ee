// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where stores past the caches pay.
#include "nontemporal.h"

#include <cpuid.h>

namespace hadal::vcode {

namespace {

// From so many bytes on a result is not in the caches any more when it has been written: as much as the last
// level of common machines holds for all cores together.
constexpr uint64_t LEAST_BYTES = 32 << 20;

// QEMU's emulator makes common stores of these, so that only the copy is left, which costs an eighth of a
// chain of operations. It has its name where hypervisors have theirs.
bool is_emulated() {
    constexpr unsigned HYPERVISOR_LEAF = 0x40000000;
    unsigned eax, name[3], ecx_of_1, unused;
    if (__get_cpuid(1, &eax, &unused, &ecx_of_1, &unused) == 0 || (ecx_of_1 & 1u << 31) == 0) {
        return false;
    }
    __cpuid(HYPERVISOR_LEAF, eax, name[0], name[1], name[2]);
    return memcmp(name, "TCGTCGTCGTCG", sizeof name) == 0;
}

} // namespace

bool nontemporal_pays(uint64_t bytes) {
    static const bool pays = !is_emulated();
    return pays && bytes >= LEAST_BYTES;
}

} // namespace hadal::vcode
