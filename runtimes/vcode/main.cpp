// SPDX-License-Identifier: Apache-2.0 OR MIT
// vcode: runs a program of VCODE text.
#include "main.h"

#include "core/gang.h"
#include "core/observe.h"

#include <cerrno>
#include <cstdlib>

// The program, if it is part of the image.
extern "C" {
[[gnu::weak]] extern const char hadal_vcode_text[];
[[gnu::weak]] extern const uint64_t hadal_vcode_text_bytes;
[[gnu::weak]] extern const char hadal_vcode_name[]; // of its source, for messages
}

namespace hadal::vcode {

namespace {

constexpr const char *USAGE =
    "Usage: vcode [OPTIONS] FILE\n"
    "Run a program of VCODE text (- is standard input).\n"
    "\n"
    "  --cpus N      use N CPUs for long vectors (default: all)\n"
    "  --share N     use them for vectors from N elements on (default: 8192 for each CPU,\n"
    "                at least 16384 and at most 65536)\n"
    "  --memory N    let vectors take N bytes (K, M or G may follow; default: most of the machine's)\n"
    "  --length N    print so many elements of a sequence (default: 100)\n"
    "  --work N      end the program after N instructions, where 4096 elements count like an instruction\n"
    "  --list        print the program as it was understood, and do not run it\n"
    "  --trace       print each instruction with the types and lengths on the stack to standard error\n"
    "  --counts      at the end, print how often operations ran and the lengths of their vectors\n"
    "  --serve       run the programs that standard input sends, one after another\n"
    "  --help        print this help\n";

bool number_of(const char *text, uint64_t &value) {
    char *end;
    errno = 0;
    value = strtoull(text, &end, 10);
    uint32_t shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift != 0;
    if (errno != 0 || end == text || *end != 0 || *text == '-' || value >> (63 - shift) != 0) {
        return false;
    }
    value <<= shift;
    return true;
}

// -1: go on; else the status.
int parse_options(int count, char **arguments, Options &options) {
    for (int index = 1; index < count; index++) {
        std::string_view word = arguments[index];
        uint64_t number = 0;
        if (word == "--help") {
            fputs(USAGE, stdout);
            return 0;
        }
        if (word == "--cpus" || word == "--memory" || word == "--share" || word == "--length" ||
            word == "--work") {
            if (index + 1 == count || !number_of(arguments[index + 1], number) || number == 0 ||
                ((word == "--cpus" || word == "--length") && number > 1000000)) {
                fprintf(stderr, "vcode: %s needs a number; see vcode --help\n", arguments[index]);
                return 2;
            }
            index++;
            (word == "--memory"  ? options.memory
             : word == "--share" ? options.share
             : word == "--work"  ? options.work
                                 : number) = number;
            if (word == "--cpus") {
                options.cpus = static_cast<uint32_t>(number);
            } else if (word == "--length") {
                options.print_length = static_cast<uint32_t>(number);
            }
        } else if (word == "--serve" || word == "--list" || word == "--trace" || word == "--counts") {
            (word == "--serve"   ? options.serve
             : word == "--list"  ? options.list
             : word == "--trace" ? options.trace
                                 : options.counts) = true;
        } else if (word.size() > 1 && word.front() == '-') {
            fprintf(stderr, "vcode: there is no option %s; see vcode --help\n", arguments[index]);
            return 2;
        } else if (options.file != nullptr || hadal_vcode_text != nullptr) {
            fprintf(stderr, "vcode: %s is one file too many; see vcode --help\n", arguments[index]);
            return 2;
        } else {
            options.file = arguments[index];
        }
    }
    if (options.file == nullptr && !options.serve && hadal_vcode_text == nullptr) {
        fputs(USAGE, stderr);
        return 2;
    }
    return -1;
}

bool read_file(const char *name, Array<char> &text) {
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "rb");
    if (file == nullptr) {
        fprintf(stderr, "vcode: %s: %s\n", name, strerror(errno));
        return false;
    }
    char buffer[16384];
    for (size_t bytes; (bytes = fread(buffer, 1, sizeof buffer, file)) > 0;) {
        size_t before = text.size();
        if (!text.resize(before + bytes, 0)) {
            break;
        }
        memcpy(text.begin() + before, buffer, bytes);
    }
    bool fine = ferror(file) == 0 && !text.failed;
    if (!fine) {
        fprintf(stderr, "vcode: %s: %s\n", name, text.failed ? "out of memory" : strerror(errno));
    }
    if (!standard) {
        fclose(file);
    }
    return fine;
}

bool no_memory() {
    fputs("vcode: out of memory\n", stderr);
    return false;
}

int run(const Options &options) {
    memory_bound(options.memory);
    gang_size(options.cpus, options.share);
    Machine machine;
    if (!machine.start() || (options.counts && !counts_start(machine))) {
        no_memory();
        return 1;
    }
    machine.print_length = options.print_length;
    int status = 1;
    Array<char> text;
    if (options.serve) {
        status = serve(machine, options);
    } else if (hadal_vcode_text != nullptr) {
        const char *name = hadal_vcode_name != nullptr ? hadal_vcode_name : "program";
        status = run_text(machine, options, {hadal_vcode_text, hadal_vcode_text_bytes}, name, nullptr);
    } else if (read_file(options.file, text)) {
        status = run_text(machine, options, {text.begin(), text.size()}, options.file, nullptr);
    }
    if (options.counts) {
        counts_print(machine, stderr);
    }
    gang_end();
    machine.stop();
    return fflush(stdout) == 0 ? status : 1;
}

} // namespace

} // namespace hadal::vcode

int main(int count, char **arguments) {
    hadal::vcode::Options options;
    int status = hadal::vcode::parse_options(count, arguments, options);
    return status >= 0 ? status : hadal::vcode::run(options);
}
