// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the files of user routines share: values that fit the interface, and the names that gfortran calls.
#ifndef HADAL_OMP_ROUTINE_H
#define HADAL_OMP_ROUTINE_H

#include <climits>
#include <cstdint>

#include "core/abi.h"

namespace hadal::omp {

inline int to_int(int64_t value) {
    return value > INT_MAX ? INT_MAX : value < INT_MIN ? INT_MIN : static_cast<int>(value);
}

} // namespace hadal::omp

// gfortran's name of a routine without arguments by reference, or whose only argument is an object.
#define OMP_FORTRAN(result, name, arguments) OMP_EXPORT result name##_ arguments __attribute__((alias(#name)))

// gfortran passes integers and logicals by reference; the second name is for default integers of 8 bytes.
#define OMP_FORTRAN_OF_INT(result, name)                                                                     \
    OMP_EXPORT result name##_(const int32_t *value) { return name(*value); }                                 \
    OMP_EXPORT result name##_8_(const int64_t *value) { return name(hadal::omp::to_int(*value)); }

#endif
