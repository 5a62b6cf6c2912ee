// SPDX-License-Identifier: Apache-2.0 OR MIT
// Routines about devices. There is none but the host, whose number is that of the devices: 0.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/team.h"
#include "routine.h"

using namespace hadal::omp;

namespace {

constexpr int INITIAL_DEVICE = 0;

// What __kmpc_get_target_offload returns.
constexpr int OFFLOAD_DISABLED = 0, OFFLOAD_DEFAULT = 1, OFFLOAD_MANDATORY = 2;

// Also as omp_initial_device, and by the number that clang 14's library has for it.
bool is_host(int device) { return device == INITIAL_DEVICE || device == -1 || device == -10; }

void require_host(int device, const char *routine) {
    if (!is_host(device) && settings_read().offload == Offload::Mandatory) {
        fatal("%s: there is no device %d (OMP_TARGET_OFFLOAD=mandatory)", routine, device);
    }
}

bool are_hosts(int to, int from, const char *routine) {
    require_host(to, routine);
    require_host(from, routine);
    return is_host(to) && is_host(from);
}

// A rectangle of a box; the same in both arrays, each of which has dimensions of its own.
struct Rectangle {
    size_t element_bytes;
    const size_t *volume, *to_offsets, *from_offsets, *to_dimensions, *from_dimensions;
};

bool copy_rectangle(char *to, const char *from, const Rectangle &part, int dimensions) {
    // Bytes of one step in this dimension.
    size_t to_step = part.element_bytes, from_step = part.element_bytes, to_offset, from_offset, bytes;
    for (int inner = 1; inner < dimensions; inner++) {
        if (__builtin_mul_overflow(to_step, part.to_dimensions[inner], &to_step) ||
            __builtin_mul_overflow(from_step, part.from_dimensions[inner], &from_step)) {
            return false;
        }
    }
    if (__builtin_mul_overflow(to_step, part.to_offsets[0], &to_offset) ||
        __builtin_mul_overflow(from_step, part.from_offsets[0], &from_offset) ||
        __builtin_mul_overflow(part.element_bytes, part.volume[0], &bytes)) {
        return false;
    }
    to += to_offset;
    from += from_offset;
    if (dimensions == 1) {
        memcpy(to, from, bytes);
        return true;
    }
    Rectangle inner = {part.element_bytes,    part.volume + 1,        part.to_offsets + 1,
                       part.from_offsets + 1, part.to_dimensions + 1, part.from_dimensions + 1};
    for (size_t index = 0; index < part.volume[0]; index++) {
        if (!copy_rectangle(to + index * to_step, from + index * from_step, inner, dimensions - 1)) {
            return false;
        }
    }
    return true;
}

// What the asynchronous forms depend on is not known in the form of either compiler; all tasks that the
// caller has generated are more than that.
void wait_for_dependences(int count) {
    if (count > 0) {
        taskwait(self());
    }
}

} // namespace

OMP_EXPORT int omp_get_num_devices() { return 0; }
OMP_EXPORT int omp_get_initial_device() { return INITIAL_DEVICE; }
OMP_EXPORT int omp_get_device_num() { return INITIAL_DEVICE; }
OMP_EXPORT int omp_is_initial_device() { return 1; }
OMP_EXPORT int omp_get_default_device() { return self().task->icvs->default_device; }
OMP_EXPORT void omp_set_default_device(int device) { icvs_to_change(*self().task).default_device = device; }

OMP_FORTRAN(int, omp_get_num_devices, ());
OMP_FORTRAN(int, omp_get_initial_device, ());
OMP_FORTRAN(int, omp_get_device_num, ());
OMP_FORTRAN(int, omp_is_initial_device, ());
OMP_FORTRAN(int, omp_get_default_device, ());
OMP_FORTRAN_OF_INT(void, omp_set_default_device)

OMP_EXPORT void *omp_target_alloc(size_t bytes, int device) {
    require_host(device, "omp_target_alloc");
    return is_host(device) && bytes > 0 ? malloc(bytes) : nullptr;
}

OMP_EXPORT void omp_target_free(void *memory, int device) {
    require_host(device, "omp_target_free");
    if (is_host(device)) {
        free(memory);
    }
}

OMP_EXPORT int omp_target_is_present(const void *, int device) {
    require_host(device, "omp_target_is_present");
    return is_host(device);
}

OMP_EXPORT int omp_target_is_accessible(const void *, size_t, int device) {
    require_host(device, "omp_target_is_accessible");
    return is_host(device);
}

OMP_EXPORT void *omp_get_mapped_ptr(const void *memory, int device) {
    require_host(device, "omp_get_mapped_ptr");
    return is_host(device) ? const_cast<void *>(memory) : nullptr;
}

OMP_EXPORT int omp_target_memcpy(void *to, const void *from, size_t bytes, size_t to_offset,
                                 size_t from_offset, int to_device, int from_device) {
    if (!are_hosts(to_device, from_device, "omp_target_memcpy")) {
        return EINVAL;
    }
    memcpy(static_cast<char *>(to) + to_offset, static_cast<const char *>(from) + from_offset, bytes);
    return 0;
}

OMP_EXPORT int omp_target_memcpy_async(void *to, const void *from, size_t bytes, size_t to_offset,
                                       size_t from_offset, int to_device, int from_device, int dependences,
                                       void *) {
    wait_for_dependences(dependences);
    return omp_target_memcpy(to, from, bytes, to_offset, from_offset, to_device, from_device);
}

OMP_EXPORT int omp_target_memcpy_rect(void *to, const void *from, size_t element_bytes, int dimensions,
                                      const size_t *volume, const size_t *to_offsets,
                                      const size_t *from_offsets, const size_t *to_dimensions,
                                      const size_t *from_dimensions, int to_device, int from_device) {
    // The way to ask how many dimensions are possible.
    if (to == nullptr && from == nullptr) {
        return INT_MAX;
    }
    if (!are_hosts(to_device, from_device, "omp_target_memcpy_rect") || dimensions < 1) {
        return EINVAL;
    }
    Rectangle part = {element_bytes, volume, to_offsets, from_offsets, to_dimensions, from_dimensions};
    return copy_rectangle(static_cast<char *>(to), static_cast<const char *>(from), part, dimensions)
               ? 0
               : EINVAL;
}

OMP_EXPORT int omp_target_memcpy_rect_async(void *to, const void *from, size_t element_bytes, int dimensions,
                                            const size_t *volume, const size_t *to_offsets,
                                            const size_t *from_offsets, const size_t *to_dimensions,
                                            const size_t *from_dimensions, int to_device, int from_device,
                                            int dependences, void *) {
    if (to != nullptr || from != nullptr) {
        wait_for_dependences(dependences);
    }
    return omp_target_memcpy_rect(to, from, element_bytes, dimensions, volume, to_offsets, from_offsets,
                                  to_dimensions, from_dimensions, to_device, from_device);
}

// The host's memory is its own and cannot be associated with any other.
OMP_EXPORT int omp_target_associate_ptr(const void *, const void *, size_t, size_t, int device) {
    require_host(device, "omp_target_associate_ptr");
    return EINVAL;
}
OMP_EXPORT int omp_target_disassociate_ptr(const void *, int device) {
    require_host(device, "omp_target_disassociate_ptr");
    return EINVAL;
}

// For libraries that offload.
OMP_EXPORT int __kmpc_get_target_offload() {
    self();
    switch (settings.offload) {
    case Offload::Disabled:
        return OFFLOAD_DISABLED;
    case Offload::Mandatory:
        return OFFLOAD_MANDATORY;
    default:
        return OFFLOAD_DEFAULT;
    }
}
