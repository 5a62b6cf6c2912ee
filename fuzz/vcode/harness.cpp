// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs any text as VCODE in two ways, which must print the same: statement by statement on one thread within
// a bound of work, then as decoded for speed, with long vectors shared by a gang.
#include "harness.h"

#include "core/gang.h"
#include "core/machine.h"
#include "io/final.h"

#include <cstdlib>

using namespace hadal::vcode;

namespace {

constexpr uint64_t MEMORY_BYTES = 64 << 20;
constexpr uint64_t WORK = 3000;             // instructions, or blocks of elements
constexpr uint64_t PRINTED_ELEMENTS = 1000; // of the stack that is left
constexpr uint64_t SHARED_ITEMS = 4097;

// What a program printed, reduced to a number and its beginning: it may be long.
struct Output {
    uint64_t hash = 0xcbf29ce484222325;
    size_t kept = 0;
    char beginning[2000];
    bool operator!=(const Output &other) const { return hash != other.hash; }
};

ssize_t take_output(void *cookie, const char *text, size_t bytes) {
    Output &output = *static_cast<Output *>(cookie);
    for (size_t index = 0; index < bytes; index++) {
        output.hash = (output.hash ^ static_cast<unsigned char>(text[index])) * 0x100000001b3;
        if (output.kept < sizeof output.beginning) {
            output.beginning[output.kept++] = text[index];
        }
    }
    return static_cast<ssize_t>(bytes);
}

FILE *stream_into(Output &output) {
    FILE *stream = fopencookie(&output, "w", {nullptr, take_output, nullptr, nullptr});
    if (stream == nullptr) {
        perror("fopencookie");
        abort();
    }
    return stream;
}

// Whether a statement has effects outside, or depends on the clock.
bool has(const Program &program, std::initializer_list<const char *> names) {
    for (const Statement &statement : program.statements) {
        for (const char *name : names) {
            if (strcmp(operations[statement.operation].name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

// False: the program failed.
bool run(const Program &program, bool observed) {
    Code code;
    Machine machine;
    bool fine = decode(program, code, observed) && machine.start();
    if (!fine) {
        machine.stop();
        return false;
    }
    machine.files[0].open = false;
    machine.work_left = observed ? WORK : UINT64_MAX;
    machine.program = &program;
    machine.code = &code;
    fine = interpret(machine, &code.instructions[code.starts[program.entry]]);
    if (fine && !machine.exited) {
        const Cell *from = machine.top;
        uint64_t left = PRINTED_ELEMENTS;
        while (from > machine.base && from[-1].length <= left) {
            left -= (--from)->length;
        }
        fine = print_stack(machine, from);
    }
    fflush(stdout);
    machine.stop();
    return fine;
}

void run_both_ways(const Program &program) {
    FILE *own_stdout = stdout;
    Output plain, fast;
    stdout = stream_into(plain);
    gang_size(2, UINT64_MAX);
    bool fine = run(program, true);
    fclose(stdout);
    // What failed may have run out of memory or work: the other way need not.
    bool compared = fine && !has(program, {"START_TIMER", "STOP_TIMER"});
    if (compared) {
        stdout = stream_into(fast);
        gang_size(2, SHARED_ITEMS);
        compared = run(program, false);
        fclose(stdout);
    }
    stdout = own_stdout;
    if (compared && plain != fast) {
        dprintf(2, "two ways to run it print different results:\n%.*s\nand\n%.*s\n",
                static_cast<int>(plain.kept), plain.beginning, static_cast<int>(fast.kept), fast.beginning);
        abort();
    }
}

} // namespace

extern "C" void hadal_fuzz_vcode(const char *text, size_t bytes) {
    static FILE *const nowhere = fopen("/dev/null", "w");
    static FILE *const own_stderr = stderr;
    if (nowhere == nullptr) {
        abort();
    }
    memory_bound(MEMORY_BYTES);
    stderr = nowhere; // messages
    Program program;
    // Files are the host's.
    if (load(program, {text, bytes}, "input") && !has(program, {"FOPEN", "SPAWN"})) {
        run_both_ways(program);
    }
    stderr = own_stderr;
}
