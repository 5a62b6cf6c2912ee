// SPDX-License-Identifier: Apache-2.0 OR MIT
// Interoperability objects: there are no foreign run-times, so every object is omp_interop_none.
#include "routine.h"

namespace {

using Interop = void *;
constexpr int EMPTY = -1, OUT_OF_RANGE = -2; // omp_irc_*
constexpr int PROPERTY_FIRST = -9;           // omp_ipr_first; they end at -1

constexpr const char *NAMES[] = {"fr_id",    "fr_name", "vendor",         "vendor_name", "device_num",
                                 "platform", "device",  "device_context", "targetsync"};
constexpr const char *TYPES[] = {"int",    "const char *", "int",    "const char *", "int",
                                 "void *", "void *",       "void *", "void *"};

void answer(int property, int *code) {
    if (code != nullptr) {
        *code = property < PROPERTY_FIRST || property >= 0 ? OUT_OF_RANGE : EMPTY;
    }
}

const char *of_property(const char *const *list, int property) {
    return property >= PROPERTY_FIRST && property < 0 ? list[-property - 1] : nullptr;
}

} // namespace

OMP_EXPORT int omp_get_num_interop_properties(Interop) { return 0; }
OMP_EXPORT intptr_t omp_get_interop_int(Interop, int property, int *code) {
    answer(property, code);
    return 0;
}
OMP_EXPORT void *omp_get_interop_ptr(Interop, int property, int *code) {
    answer(property, code);
    return nullptr;
}
OMP_EXPORT const char *omp_get_interop_str(Interop, int property, int *code) {
    answer(property, code);
    return nullptr;
}
OMP_EXPORT const char *omp_get_interop_name(Interop, int property) { return of_property(NAMES, property); }
OMP_EXPORT const char *omp_get_interop_type_desc(Interop, int property) {
    return of_property(TYPES, property);
}

OMP_EXPORT const char *omp_get_interop_rc_desc(Interop, int code) {
    switch (code) {
    case 1:
        return "the property has no value";
    case 0:
        return "success";
    case EMPTY:
        return "the object is omp_interop_none";
    case OUT_OF_RANGE:
        return "there is no such property";
    case -3:
        return "the property is an integer";
    case -4:
        return "the property is a pointer";
    case -5:
        return "the property is a string";
    default:
        return "another error";
    }
}
