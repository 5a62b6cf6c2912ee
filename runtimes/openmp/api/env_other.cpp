// SPDX-License-Identifier: Apache-2.0 OR MIT
// OMP_ALLOCATOR, OMP_DEFAULT_DEVICE, OMP_TARGET_OFFLOAD, OMP_TOOL*, OMP_DEBUG, and one line about all
// variables of other run-times that mean nothing here.
#include "environment.h"

#include <climits>
#include <cstdio>
#include <initializer_list>
#include <unistd.h>

#include "core/allocator.h"

namespace hadal::omp {

namespace {

// Variables of other run-times that have an effect here.
constexpr const char *HONOURED[] = {
    "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT", "GOMP_STACKSIZE", "KMP_AFFINITY", "KMP_ALL_THREADS",
    "KMP_BLOCKTIME", "KMP_DEVICE_THREAD_LIMIT", "KMP_ENABLE_TASK_THROTTLING", "KMP_HW_SUBSET", "KMP_LIBRARY",
    "KMP_SETTINGS", "KMP_STACKSIZE", "KMP_TEAMS_PROC_BIND", "KMP_TEAMS_THREAD_LIMIT", "KMP_WARNINGS",
    // What they ask for is always so.
    "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"};

bool is_of_another(const char *entry) {
    bool has_prefix = false;
    for (const char *prefix : {"GOMP_", "KMP_", "LIBOMP_"}) {
        has_prefix = has_prefix || strncmp(entry, prefix, strlen(prefix)) == 0;
    }
    for (const char *name : HONOURED) {
        size_t len = strlen(name);
        if (strncmp(entry, name, len) == 0 && entry[len] == '=') {
            return false;
        }
    }
    return has_prefix;
}

// A value that LLVM's run-time would refuse; that the variable has no effect here is said for all such.
void check_dispatch_buffers() {
    constexpr uint64_t LEAST = 1, MOST = 4096;
    const char *name = "KMP_DISP_NUM_BUFFERS";
    const char *value = variable(name);
    uint64_t buffers;
    if (value == nullptr) {
        return;
    }
    Text text(value);
    if (!text.take_number(&buffers) || !text.is_over()) {
        remark(Warning::ValueInvalid, "%s=%.160s is not a number from 1 to 4096", name, value);
    } else if (buffers < LEAST) {
        remark(Warning::ValueTooSmall, "%s=%.160s is too small: LLVM's run-time takes 1 to 4096", name,
               value);
    } else if (buffers > MOST) {
        remark(Warning::ValueTooLarge, "%s=%.160s is too large: LLVM's run-time takes 1 to 4096", name,
               value);
    }
}

} // namespace

void read_memory() {
    if (const char *value = variable("OMP_ALLOCATOR")) {
        uintptr_t allocator = allocator_from_text(value);
        if (allocator != 0) {
            settings.icvs.allocator = allocator;
        } else {
            bad_value("OMP_ALLOCATOR", value, "an allocator, or a memory space with traits", "%s",
                      allocator_name(settings.icvs.allocator));
        }
    }
}

void read_device() {
    uint32_t device = 0;
    if (read_number("OMP_DEFAULT_DEVICE", 0, INT_MAX, &device)) {
        settings.icvs.default_device = static_cast<int32_t>(device);
    }
    if (const char *value = variable("OMP_TARGET_OFFLOAD")) {
        set_offload(value);
    }
    // Nothing runs on the host then just because nobody has named a device.
    if (settings.offload == Offload::Mandatory && variable("OMP_DEFAULT_DEVICE") == nullptr) {
        settings.icvs.default_device = DEVICE_INVALID;
    }
}

void set_offload(const char *value) {
    Text text(value);
    settings.offload = Offload::Default;
    if (text.take_word("mandatory") && text.is_over()) {
        settings.offload = Offload::Mandatory;
    } else if (text.take_word("disabled") && text.is_over()) {
        settings.offload = Offload::Disabled;
    } else if (!text.take_word("default") || !text.is_over()) {
        bad_value("OMP_TARGET_OFFLOAD", value, "mandatory, disabled or default", "default");
    }
}

void read_tools() {
    if (const char *value = variable("OMP_TOOL")) {
        Text text(value);
        if ((!text.take_word("enabled") && !text.take_word("disabled")) || !text.is_over()) {
            bad_value("OMP_TOOL", value, "enabled or disabled", "disabled");
        }
    }
    if (const char *value = variable("OMP_DEBUG")) {
        Text text(value);
        if (text.take_word("enabled") && text.is_over()) {
            remark("OMP_DEBUG has no effect: this run-time has no interface for debuggers yet");
        } else if (!text.take_word("disabled") || !text.is_over()) {
            bad_value("OMP_DEBUG", value, "enabled or disabled", "disabled");
        }
    }
}

void read_of_others() {
    check_dispatch_buffers();
    char names[360];
    size_t len = 0;
    uint32_t count = 0;
    for (char **entry = environ; entry != nullptr && *entry != nullptr; entry++) {
        const char *end = strchr(*entry, '=');
        if (end == nullptr || !is_of_another(*entry) || end[1] == '\0') {
            continue;
        }
        int name_len = static_cast<int>(end - *entry);
        if (len + static_cast<size_t>(name_len) + 3 < sizeof names) {
            len += static_cast<size_t>(
                snprintf(names + len, sizeof names - len, "%s%.*s", count > 0 ? ", " : "", name_len, *entry));
        }
        count++;
    }
    if (count > 0) {
        remark("%s %s no effect in this run-time", names, count == 1 ? "has" : "have");
    }
}

} // namespace hadal::omp
