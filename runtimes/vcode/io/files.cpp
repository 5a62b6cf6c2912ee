// SPDX-License-Identifier: Apache-2.0 OR MIT
// READ, WRITE and the operations on files. A failure is a result of the operation, not an error of the
// program.
#include "../ops/routines.h"
#include "stream.h"

#include <cerrno>

namespace hadal::vcode {

FILE *stream_of(Machine &machine, Int number) {
    size_t index = static_cast<size_t>(static_cast<uint32_t>(number));
    return index < machine.files.size() && machine.files[index].open ? machine.files[index].stream : nullptr;
}

bool push_text(Machine &machine, const char *text, size_t bytes) {
    Cell cell;
    Int *codes = new_result<Int>(machine, cell, bytes);
    if (codes == nullptr) {
        return false;
    }
    for (size_t index = 0; index < bytes; index++) {
        codes[index] = static_cast<unsigned char>(text[index]);
    }
    return machine.push(cell);
}

bool push_status(Machine &machine, const char *error) {
    const char *text = error == nullptr ? "" : error;
    return push_text(machine, text, strlen(text)) && machine.push(bool_cell(error == nullptr));
}

namespace {

constexpr const char *NO_STREAM = "there is no such open file";

bool push_empty(Machine &machine, Suffix suffix) {
    Cell cell;
    Type type = suffix == Suffix::Float ? Type::Float : suffix == Suffix::Bool ? Type::Bool : Type::Int;
    make_vector(cell, type, 0);
    if (suffix == Suffix::Segdes && !make_segments(cell, cell, 0)) {
        return machine.out_of_memory();
    }
    if (suffix == Suffix::Segdes) {
        static_cast<Int *>(cell.segments->block.data)[0] = 0;
    }
    return machine.push(cell);
}

bool scalar(Machine &machine, Cell &cell, const char *what) {
    if (!want(machine, cell, Type::Int, what)) {
        return false;
    }
    return cell.length == 1 || machine.error("%s has %u elements, not one", what, cell.length);
}

template <Suffix suffix, bool file> bool routine_read(Machine &machine, const Instruction &) {
    Int number = 0;
    if (file) {
        if (!need(machine, 1) || !scalar(machine, machine.top[-1], "the file")) {
            return false;
        }
        number = machine.top[-1].i;
        machine.drop(1);
    }
    FILE *stream = stream_of(machine, number);
    const char *problem = number == NULL_STREAM ? "end of file" : NO_STREAM;
    if (stream != nullptr) {
        Cell cell;
        bool memory = true;
        fflush(stdout);
        problem = read_value(stream, suffix, cell, memory);
        if (ferror(stream)) {
            clearerr(stream); // the next WRITE there is another matter
        }
        if (!memory) {
            return machine.out_of_memory();
        }
        if (problem == nullptr) {
            return machine.push(cell) && push_status(machine, nullptr);
        }
    }
    return push_empty(machine, suffix) && push_status(machine, problem);
}

template <Suffix suffix, bool file> bool routine_write(Machine &machine, const Instruction &) {
    constexpr size_t count = file ? 2 : 1;
    constexpr Type type = suffix == Suffix::Bool     ? Type::Bool
                          : suffix == Suffix::Float  ? Type::Float
                          : suffix == Suffix::Segdes ? Type::Segdes
                                                     : Type::Int;
    if (!need(machine, count) || (file && !scalar(machine, machine.top[-1], "the file"))) {
        return false;
    }
    Cell &value = *(machine.top - count);
    if (!want(machine, value, type, "the value")) {
        return false;
    }
    Int number = file ? machine.top[-1].i : 2;
    FILE *stream = stream_of(machine, number);
    const char *problem = nullptr;
    if (stream != nullptr) {
        fflush(stdout);
        if (!write_value(stream, value, suffix == Suffix::Char)) {
            problem = "the file cannot be written";
            clearerr(stream);
        }
    } else if (number != NULL_STREAM) {
        problem = NO_STREAM;
    }
    machine.drop(count);
    return push_status(machine, problem);
}

// The text of an INT vector, with a NUL; for free().
char *text_of(const Cell &cell) {
    char *text = static_cast<char *>(malloc(static_cast<size_t>(cell.length) + 1));
    for (uint32_t index = 0; text != nullptr && index < cell.length; index++) {
        text[index] = static_cast<char>(elements<Int>(cell)[index]);
    }
    if (text != nullptr) {
        text[cell.length] = 0;
    }
    return text;
}

} // namespace

bool routine_fopen(Machine &machine, const Instruction &) {
    if (!need(machine, 2) || !want(machine, machine.top[-2], Type::Int, "the name") ||
        !scalar(machine, machine.top[-1], "the mode")) {
        return false;
    }
    Int mode = machine.top[-1].i, number = NULL_STREAM;
    if (mode < 1 || mode > 3) {
        return machine.error("the mode is %d, not 1 (read), 2 (create) or 3 (append)", mode);
    }
    char *name = text_of(machine.top[-2]);
    if (name == nullptr) {
        return machine.out_of_memory();
    }
    static const char *const modes[] = {"r", "w", "a"};
    FILE *stream = fopen(name, modes[mode - 1]);
    const char *problem = stream == nullptr ? strerror(errno) : nullptr;
    free(name);
    if (stream != nullptr) {
        size_t index = 3;
        while (index < machine.files.size() && machine.files[index].open) {
            index++;
        }
        if (index == machine.files.size() && !machine.files.add({stream, true})) {
            fclose(stream);
            return machine.out_of_memory();
        }
        machine.files[index] = {stream, true};
        number = static_cast<Int>(index);
    }
    machine.drop(2);
    return machine.push(int_cell(number)) && push_status(machine, problem);
}

bool routine_fclose(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !scalar(machine, machine.top[-1], "the file")) {
        return false;
    }
    Int number = machine.top[-1].i;
    FILE *stream = stream_of(machine, number);
    const char *problem = nullptr;
    if (stream != nullptr) {
        // The three standard streams stay open for the run-time itself.
        if ((number > 2 ? fclose(stream) : fflush(stream)) != 0) {
            problem = strerror(errno);
        }
        machine.files[static_cast<size_t>(number)].open = number <= 2;
    } else if (number != NULL_STREAM) {
        problem = NO_STREAM;
    }
    machine.drop(1);
    return push_status(machine, problem);
}

bool routine_fread_char(Machine &machine, const Instruction &) {
    if (!need(machine, 3) || !want(machine, machine.top[-3], Type::Int, "the vector of delimiters") ||
        !scalar(machine, machine.top[-2], "the maximum") || !scalar(machine, machine.top[-1], "the file")) {
        return false;
    }
    constexpr Int AT_END = -1, AT_MAXIMUM = -2;
    Int maximum = machine.top[-2].i, number = machine.top[-1].i, stop = AT_END;
    bool delimits[256] = {};
    for (uint32_t index = 0; index < machine.top[-3].length; index++) {
        Int code = elements<Int>(machine.top[-3])[index];
        if (code >= 0 && code < 256) {
            delimits[code] = true;
        }
    }
    FILE *stream = stream_of(machine, number);
    Array<char> text;
    while (stream != nullptr && !text.failed) {
        if (maximum >= 0 && text.size() >= static_cast<size_t>(maximum)) {
            stop = AT_MAXIMUM;
            break;
        }
        int letter = getc(stream);
        if (letter == EOF) {
            break;
        }
        if (delimits[letter]) {
            stop = letter;
            break;
        }
        text.add(static_cast<char>(letter));
    }
    if (text.failed) {
        return machine.out_of_memory();
    }
    const char *problem = stream == nullptr && number != NULL_STREAM ? NO_STREAM : nullptr;
    if (stream != nullptr && ferror(stream)) {
        clearerr(stream);
        problem = "the file cannot be read";
    }
    machine.drop(3);
    return push_text(machine, text.begin(), text.size()) && machine.push(int_cell(stop)) &&
           push_status(machine, problem);
}

bool routine_spawn(Machine &machine, const Instruction &) {
    if (!need(machine, 4) || !want(machine, machine.top[-4], Type::Int, "the command") ||
        !scalar(machine, machine.top[-3], "the input") || !scalar(machine, machine.top[-2], "the output") ||
        !scalar(machine, machine.top[-1], "the error output")) {
        return false;
    }
    machine.drop(4);
    for (int files = 0; files < 3; files++) {
        if (!machine.push(int_cell(NULL_STREAM))) {
            return false;
        }
    }
    return push_status(machine, "SPAWN starts no other programs: the program is alone on its machine");
}

Routine read_routine(Suffix suffix, bool file) {
#define X(name)                                                                                              \
    case Suffix::name:                                                                                       \
        return file ? routine_read<Suffix::name, true> : routine_read<Suffix::name, false>;
    switch (suffix) { X(Int) X(Bool) X(Float) X(Segdes) X(Char) default : return nullptr; }
#undef X
}

Routine write_routine(Suffix suffix, bool file) {
#define X(name)                                                                                              \
    case Suffix::name:                                                                                       \
        return file ? routine_write<Suffix::name, true> : routine_write<Suffix::name, false>;
    switch (suffix) { X(Int) X(Bool) X(Float) X(Segdes) X(Char) default : return nullptr; }
#undef X
}

} // namespace hadal::vcode
