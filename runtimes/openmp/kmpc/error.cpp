// SPDX-License-Identifier: Apache-2.0 OR MIT
// `error at(execution)`.
#include <cstring>

#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

OMP_EXPORT void __kmpc_error(const Ident *loc, int32_t severity, const char *message) {
    constexpr int32_t WARNING = 1;
    const char *text = message != nullptr ? message : "the program met an error directive";
    const char *where = loc != nullptr && loc->source != nullptr ? loc->source : "";
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::error(severity != WARNING, text, strlen(text));
    }
    if (severity == WARNING) {
        warn("%s (%s)", text, where);
    } else {
        fatal("%s (%s)", text, where);
    }
}
