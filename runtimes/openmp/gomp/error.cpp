// SPDX-License-Identifier: Apache-2.0 OR MIT
// `error at(execution)`. A length of SIZE_MAX says that the message ends with a zero; it may be null.
#include <cstring>

#include "gomp.h"

using namespace hadal::omp;

namespace {

struct Message {
    const char *text;
    int length;
};

Message message_of(const char *text, size_t length) {
    if (text == nullptr) {
        return {"(no message)", sizeof "(no message)" - 1};
    }
    if (length == SIZE_MAX) {
        length = strlen(text);
    }
    return {text, length < INT32_MAX ? static_cast<int>(length) : INT32_MAX};
}

} // namespace

OMP_EXPORT void GOMP_warning(const char *text, size_t length) {
    Message message = message_of(text, length);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::error(false, message.text, static_cast<size_t>(message.length));
    }
    warn("error directive: %.*s", message.length, message.text);
}

OMP_EXPORT void GOMP_error(const char *text, size_t length) {
    Message message = message_of(text, length);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::error(true, message.text, static_cast<size_t>(message.length));
    }
    fatal("error directive: %.*s", message.length, message.text);
}
