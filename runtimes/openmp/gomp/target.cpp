// SPDX-License-Identifier: Apache-2.0 OR MIT
// `target` constructs. There is no device but the host, which has all data: a region's code runs as a call,
// and what moves data does nothing. With `nowait` they are done when they return, too.
#include <cstdlib>
#include <cstring>

#include "core/initial.h"
#include "depend.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

constexpr int DEVICE_DEFAULT = -1,
              DEVICE_HOST = -2; // without a clause, and of a false `if`; others are numbers
// How a variable is passed: the low byte is the kind, the high byte the logarithm of its alignment.
constexpr unsigned KIND_MASK = 0xff, KIND_FIRSTPRIVATE = 12, ALIGN_SHIFT = 8;
// Arguments about teams and threads: a word with a value, or with a bit that says that it is the next word.
constexpr uintptr_t ARGUMENT_DEVICE = 0x7f, ARGUMENT_NEXT = 0x80, ARGUMENT_ID = 0xff00,
                    ARGUMENT_LIMIT = 0x200;
constexpr uint32_t ARGUMENT_SHIFT = 16;

// OMP_TARGET_OFFLOAD=mandatory: programs that want a device must not run without one. The host is the device
// of that number that the devices have, which is 0.
void check_device(int device) {
    const Member &me = self();
    if (HRT_LIKELY(settings.offload != Offload::Mandatory) || device == DEVICE_HOST) {
        return;
    }
    if (device == DEVICE_DEFAULT) {
        device = me.task->icvs->default_device;
    }
    if (device != 0) {
        fatal("a target construct needs a device (OMP_TARGET_OFFLOAD=mandatory), and there is none");
    }
}

void wait_for(void **depend) {
    if (depend != nullptr) {
        Depend(depend).wait(self());
    }
}

// The limit that a `thread_limit` clause sets, or 0.
unsigned limit_of(void *const *arguments) {
    unsigned limit = 0;
    while (arguments != nullptr && *arguments != nullptr) {
        uintptr_t head = reinterpret_cast<uintptr_t>(*arguments++);
        uintptr_t value = head >> ARGUMENT_SHIFT;
        if ((head & ARGUMENT_NEXT) != 0) {
            value = reinterpret_cast<uintptr_t>(*arguments++);
        }
        if ((head & ARGUMENT_DEVICE) == 0 && (head & ARGUMENT_ID) == ARGUMENT_LIMIT && value <= INT32_MAX) {
            limit = static_cast<unsigned>(value);
        }
    }
    return limit;
}

// Copies of what the region has private copies of, in one block. Null if there is nothing.
void *copy_firstprivate(size_t count, void **addresses, const size_t *sizes, const unsigned short *kinds) {
    size_t bytes = 0, largest = 1;
    auto for_each = [&](auto with) {
        for (size_t index = 0; index < count; index++) {
            // An optional argument that is not there has no address.
            if ((kinds[index] & KIND_MASK) == KIND_FIRSTPRIVATE && addresses[index] != nullptr) {
                with(index, size_t{1} << (kinds[index] >> ALIGN_SHIFT));
            }
        }
    };
    for_each([&](size_t index, size_t align) {
        largest = align > largest ? align : largest;
        bytes = ((bytes + align - 1) & -align) + sizes[index];
    });
    if (bytes == 0) {
        return nullptr;
    }
    void *block = nullptr;
    if (posix_memalign(&block, largest > sizeof(void *) ? largest : sizeof(void *), bytes) != 0) {
        fatal("there is no memory for %zu bytes of a target region", bytes);
    }
    size_t offset = 0;
    for_each([&](size_t index, size_t align) {
        offset = (offset + align - 1) & -align;
        void *copy = static_cast<char *>(block) + offset;
        memcpy(copy, addresses[index], sizes[index]);
        addresses[index] = copy;
        offset += sizes[index];
    });
    return block;
}

void run_on_host(Function function, void **addresses, unsigned limit) {
    run_as_initial_task(self(), 1, 0, 0, [&](Member &me) {
        // The device's, not those of the task that has met the construct.
        Icvs &icvs = icvs_to_change(*me.task);
        icvs = settings.icvs;
        icvs.thread_limit = limit != 0 ? limit : icvs.thread_limit;
        function(addresses);
    });
}

} // namespace

OMP_EXPORT void GOMP_target_ext(int device, Function function, size_t count, void **addresses, size_t *sizes,
                                unsigned short *kinds, unsigned, void **depend, void **arguments) {
    check_device(device);
    wait_for(depend);
    void *copies = copy_firstprivate(count, addresses, sizes, kinds);
    run_on_host(function, addresses, limit_of(arguments));
    free(copies);
}

OMP_EXPORT void GOMP_target_data_ext(int device, size_t, void **, size_t *, unsigned short *) {
    check_device(device);
}

OMP_EXPORT void GOMP_target_end_data() {}

OMP_EXPORT void GOMP_target_update_ext(int device, size_t, void **, size_t *, unsigned short *, unsigned,
                                       void **depend) {
    check_device(device);
    wait_for(depend);
}

OMP_EXPORT void GOMP_target_enter_exit_data(int device, size_t, void **, size_t *, unsigned short *, unsigned,
                                            void **depend) {
    check_device(device);
    wait_for(depend);
}

// Forms of the compilers before gcc 5.
OMP_EXPORT void GOMP_target(int device, Function function, const void *, size_t, void **addresses, size_t *,
                            unsigned char *) {
    check_device(device);
    run_on_host(function, addresses, 0);
}

OMP_EXPORT void GOMP_target_data(int device, const void *, size_t, void **, size_t *, unsigned char *) {
    check_device(device);
}

OMP_EXPORT void GOMP_target_update(int device, const void *, size_t, void **, size_t *, unsigned char *) {
    check_device(device);
}

// Programs built for devices, too, offer their code for these before main. No device asks for it.
OMP_EXPORT void GOMP_offload_register_ver(unsigned, const void *, int, const void *) {}
OMP_EXPORT void GOMP_offload_unregister_ver(unsigned, const void *, int, const void *) {}
OMP_EXPORT void GOMP_offload_register(const void *, int, const void *) {}
OMP_EXPORT void GOMP_offload_unregister(const void *, int, const void *) {}
