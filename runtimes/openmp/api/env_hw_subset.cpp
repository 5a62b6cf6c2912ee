// SPDX-License-Identifier: Apache-2.0 OR MIT
// KMP_HW_SUBSET, a variable of libomp: how much of the machine the program is to use, such as 1s,4c,1t for
// one socket, four cores of it and one hardware thread of each. A number may have an offset: 4c@2.
#include "environment.h"

#include <sched.h>

#include "core/places.h"

namespace hadal::omp {

namespace {

bool take_unit(Text *text, SubsetUnit *unit) {
    constexpr struct {
        const char *word;
        SubsetUnit unit;
    } units[] = {{"s", SubsetUnit::Socket},       {"socket", SubsetUnit::Socket},
                 {"sockets", SubsetUnit::Socket}, {"package", SubsetUnit::Socket},
                 {"c", SubsetUnit::Core},         {"core", SubsetUnit::Core},
                 {"cores", SubsetUnit::Core},     {"t", SubsetUnit::Thread},
                 {"thread", SubsetUnit::Thread},  {"threads", SubsetUnit::Thread}};
    for (auto [word, meant] : units) {
        if (text->take_word(word)) {
            *unit = meant;
            return true;
        }
    }
    return false;
}

bool read(const char *value, Subset *subset) {
    Text text(value);
    do {
        uint64_t count = 0, offset = 0;
        bool is_all = text.take('*') || !text.take_number(&count);
        SubsetUnit unit;
        if (!take_unit(&text, &unit) || (!is_all && count == 0)) {
            return false;
        }
        if (text.take('@') && !text.take_number(&offset)) {
            return false;
        }
        auto limited = [](uint64_t number) {
            return static_cast<uint32_t>(number < CPU_SETSIZE ? number : CPU_SETSIZE);
        };
        subset->ranges[static_cast<uint32_t>(unit)] = {limited(offset), is_all ? UINT32_MAX : limited(count)};
    } while (text.take(','));
    return text.is_over();
}

} // namespace

void read_hw_subset() {
    const char *value = variable("KMP_HW_SUBSET");
    Subset subset;
    if (value == nullptr) {
        return;
    }
    if (!read(value, &subset)) {
        bad_value("KMP_HW_SUBSET", value, "a list of numbers of s, c and t", "the whole machine");
    } else if (!use_subset(subset)) {
        bad_value("KMP_HW_SUBSET", value, "a part of this machine", "the whole machine");
    }
}

} // namespace hadal::omp
