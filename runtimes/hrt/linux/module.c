// SPDX-License-Identifier: Apache-2.0 OR MIT
// Modules and the command line: what the boot brings along is in two variables of the environment here,
// HRT_MODULES (NAME=FILE:NAME=FILE) and HRT_COMMAND_LINE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux.h"

#define MODULES_MAX 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hrt_module modules[MODULES_MAX];
static uint32_t count;

static bool map_file(const char *path, struct hrt_module *module) {
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    bool found = fstat(file, &status) == 0;
    module->bytes = found ? (uint64_t)status.st_size : 0;
    module->data = "";
    if (module->bytes) {
        module->data = mmap(NULL, module->bytes, PROT_READ, MAP_PRIVATE, file, 0);
        found = module->data != MAP_FAILED;
    }
    close(file);
    return found;
}

static void load(void) {
    const char *variable = getenv("HRT_MODULES");
    // Lives as long as the process: the names point into it.
    char *list = variable ? strdup(variable) : NULL, *rest = list;
    for (char *entry; (entry = strsep(&rest, ":")) && count < MODULES_MAX;) {
        char *equals = strchr(entry, '=');
        if (equals) {
            *equals = '\0';
        }
        struct hrt_module module = {.name = entry};
        if (equals && map_file(equals + 1, &module)) {
            modules[count++] = module;
        } else if (*entry) {
            hrt_say("libhrt: HRT_MODULES: there is no file for ", entry, "\n", NULL);
        }
    }
}

int hrt_linux_module(uint32_t index, struct hrt_module *module, uint64_t module_bytes) {
    pthread_once(&once, load);
    if (!module || module_bytes != sizeof *module) {
        return HRT_EINVAL;
    }
    if (index >= count) {
        return HRT_ENODEV;
    }
    *module = modules[index];
    return HRT_OK;
}

const char *hrt_linux_command_line(void) {
    const char *line = getenv("HRT_COMMAND_LINE");
    return line ? line : "";
}
