// SPDX-License-Identifier: Apache-2.0 OR MIT
// What main() of a translated program does.
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "hadal/hrt.h"
#include "ndpc/print.h"

namespace ndpc {
namespace {

struct Options {
    std::uint32_t threads = 0;
    bool thread_per_element = false;
};

bool read_number(const char *text, std::uint32_t &number) {
    char *end;
    errno = 0;
    unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || *text == '-' || value == 0 || value > 512) {
        return false;
    }
    number = static_cast<std::uint32_t>(value);
    return true;
}

bool read_options(int argc, char **argv, Options &options) {
    if (const char *threads = std::getenv("NDPC_THREADS");
        threads && !read_number(threads, options.threads)) {
        std::fprintf(stderr, "%s: NDPC_THREADS must be a number from 1 to 512, not '%s'\n", argv[0], threads);
        return false;
    }
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--one-thread-per-element") == 0) {
            options.thread_per_element = true;
        } else if (std::strcmp(argv[i], "--threads") == 0) {
            if (i + 1 == argc || !read_number(argv[++i], options.threads)) {
                std::fprintf(stderr, "%s: --threads needs a number from 1 to 512\n", argv[0]);
                return false;
            }
        } else {
            std::fprintf(stderr,
                         "%s: unknown argument '%s'\nusage: %s [--threads N] [--one-thread-per-element]\n",
                         argv[0], argv[i], argv[0]);
            return false;
        }
    }
    return true;
}

} // namespace

double seconds() { return 1e-9 * static_cast<double>(hrt_now_ns()); }

int run_program(int argc, char **argv, int (*program)()) {
    Options options;
    if (!read_options(argc, argv, options)) {
        return 2;
    }
    if (start(options.threads, options.thread_per_element) != 0) {
        std::fprintf(stderr, "%s: the run-time cannot start\n", argv[0]);
        return 1;
    }
    int status = program();
    std::fflush(stdout);
    if (status != done) {
        std::fprintf(stderr, "\n%s\n", failure_text());
    }
    stop();
    return status == done ? 0 : 1;
}

} // namespace ndpc
