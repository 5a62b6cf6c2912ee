// SPDX-License-Identifier: Apache-2.0 OR MIT
// `flush`; it also follows atomic constructs with memory orders.
#include <hadal/hrt.h>

#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void __kmpc_flush(const Ident *) {
    HRT_FENCE(HRT_SEQ_CST);
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::flush(self()); });
    }
}
