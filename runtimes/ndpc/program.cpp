// SPDX-License-Identifier: Apache-2.0 OR MIT
// What main() of a translated program does.
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "hadal/hrt.h"
#include "ndpc/print.h"
#include "ndpc/program.h"

namespace ndpc {
namespace {

struct Options {
    std::uint32_t threads = 0;
    bool thread_per_element = false;
    int operands = 0; // the first argument that is no option
};

// The program's name in messages: without its folder, which is the cache's under `hadal run`.
const char *name_of(char **argv) {
    const char *slash = std::strrchr(argv[0], '/');
    return slash ? slash + 1 : argv[0];
}

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
        std::fprintf(stderr, "%s: NDPC_THREADS must be a number from 1 to 512, not '%s'\n", name_of(argv),
                     threads);
        return false;
    }
    int i = 1;
    // A negative number is no option.
    for (; i < argc && std::strncmp(argv[i], "--", 2) == 0; i++) {
        if (argv[i][2] == '\0') {
            i++;
            break;
        }
        if (std::strcmp(argv[i], "--one-thread-per-element") == 0) {
            options.thread_per_element = true;
        } else if (std::strcmp(argv[i], "--threads") == 0) {
            if (i + 1 == argc || !read_number(argv[++i], options.threads)) {
                std::fprintf(stderr, "%s: --threads needs a number from 1 to 512\n", name_of(argv));
                return false;
            }
        } else {
            std::fprintf(stderr,
                         "%s: unknown option '%s'\n"
                         "usage: %s [--threads N] [--one-thread-per-element] [--] [ARGUMENTS]\n",
                         name_of(argv), argv[i], name_of(argv));
            return false;
        }
    }
    options.operands = i;
    return true;
}

// Whether as many arguments are there as `main` takes; or none, for a program that does something without.
bool suits(const char *program, int arguments, bool has_forms, const Main *main) {
    if (arguments == 0 && has_forms) {
        return true;
    }
    if (!main) {
        std::fprintf(stderr, "%s: has no function main, which would be applied to the arguments\n", program);
        return false;
    }
    if (arguments != main->parameters) {
        std::fprintf(stderr, "%s: main takes %d argument%s: %s\n", program, main->parameters,
                     main->parameters == 1 ? "" : "s", main->names);
        return false;
    }
    return true;
}

} // namespace

double seconds() { return 1e-9 * static_cast<double>(hrt_now_ns()); }

int run_program(int argc, char **argv, int (*forms)(), const Main *main) {
    constexpr int usage_status = 2;
    Options options;
    if (!read_options(argc, argv, options) || !suits(name_of(argv), argc - options.operands, forms, main)) {
        return usage_status;
    }
    if (start(options.threads, options.thread_per_element) != 0) {
        std::fprintf(stderr, "%s: the run-time cannot start\n", name_of(argv));
        return 1;
    }
    int status = options.operands == argc ? forms() : main->apply(argv + options.operands);
    std::fflush(stdout);
    if (status != done && status != bad_argument) {
        std::fprintf(stderr, "\n%s\n", failure_text());
    }
    stop();
    return status == done ? 0 : status == bad_argument ? usage_status : 1;
}

} // namespace ndpc
