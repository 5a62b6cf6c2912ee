// SPDX-License-Identifier: Apache-2.0 OR MIT
// Options, and the two ways to run: one program, or requests.
#ifndef HADAL_VCODE_MAIN_H
#define HADAL_VCODE_MAIN_H

#include "core/machine.h"

#include <string_view>

namespace hadal::vcode {

struct Options {
    const char *file = nullptr;
    bool serve = false, list = false, counts = false, trace = false;
    uint32_t cpus = 0;
    uint64_t memory = 0, share = 0, work = 0;
    uint32_t print_length = 100;
};

// Loads a text and runs it on top of the cells that are on the stack; gives the status. With `kept`, the
// number of topmost cells that are the value of its last form.
int run_text(Machine &machine, const Options &options, std::string_view text, const char *name,
             uint32_t *kept);

// Serves requests from standard input until it ends; gives the status.
int serve(Machine &machine, const Options &options);

} // namespace hadal::vcode

#endif
