// SPDX-License-Identifier: Apache-2.0 OR MIT
// main() of a translated program: its options, and the arguments of its function `main`.
#ifndef NDPC_PROGRAM_H
#define NDPC_PROGRAM_H

#include "seq.h"

namespace ndpc {

// An argument of the command line while it is read. What is wrong with it stays.
struct Argument {
    const char *text; // what is left
    const char *expected = nullptr;

    bool fails(const char *what) {
        expected = expected ? expected : what;
        return false;
    }
    void skip_space();
    bool take(char character);
};

// Values as the language writes them. Characters and strings are as they are where they are the whole
// argument, and quoted inside others.
bool read_value(Argument &argument, int &value);
bool read_value(Argument &argument, double &value);
bool read_value(Argument &argument, bool &value);
bool read_value(Argument &argument, char &value);
bool read_value(Argument &argument, Seq<char> &value);
template <class A, class B> bool read_value(Argument &argument, Pair<A, B> &value);

constexpr Site argument_site{"main", "an argument"};

template <class T> bool read_value(Argument &argument, Seq<T> &value) {
    if (!argument.take('[')) {
        return argument.fails("`[`");
    }
    Seq<T> made;
    std::int64_t count = 0;
    bool ends = argument.take(']');
    while (!ends) {
        if (count == made.count()) {
            Seq<T> more;
            if (Seq<T>::make(more, count < 8 ? 8 : 2 * count, argument_site) != done) {
                return argument.fails("less, for want of memory,");
            }
            for (std::int64_t i = 0; i < count; i++) {
                more.data()[i] = std::move(made.data()[i]);
            }
            made = std::move(more);
        }
        if (!read_value(argument, made.data()[count++])) {
            return false;
        }
        ends = argument.take(']');
        if (!ends && !argument.take(',')) {
            return argument.fails("`,` or `]`");
        }
    }
    made.shorten(count);
    value = std::move(made);
    return true;
}

// The components of a tuple, without parentheses around them.
template <class T> bool read_components(Argument &argument, T &value) { return read_value(argument, value); }
template <class A, class B> bool read_components(Argument &argument, Pair<A, B> &value) {
    if (!read_value(argument, value.first)) {
        return false;
    }
    return argument.take(',') ? read_components(argument, value.second) : argument.fails("`,`");
}

template <class A, class B> bool read_value(Argument &argument, Pair<A, B> &value) {
    if (!argument.take('(')) {
        return argument.fails("`(`");
    }
    return read_components(argument, value) && (argument.take(')') || argument.fails("`)`"));
}

// Whole arguments.
template <class T> bool read_argument(Argument &argument, T &value) { return read_value(argument, value); }
bool read_argument(Argument &argument, char &value);
bool read_argument(Argument &argument, Seq<char> &value);

// Tells what is wrong, if anything.
bool is_read(const Argument &argument, const char *text, const char *parameter);

// Reads argument `text` for `parameter`, "name : type"; what is wrong with it is told on standard error.
template <class T> bool read(T &value, const char *text, const char *parameter) {
    Argument argument{text};
    read_argument(argument, value);
    return is_read(argument, text, parameter);
}

// What the function that applies `main` gives when an argument cannot be read.
constexpr int bad_argument = 3;

// A program's function `main`.
struct Main {
    int (*apply)(char **arguments); // reads them, runs the program's forms, applies `main`
    int parameters;
    const char *names; // of the parameters, with their types
};

// Runs a program's forms, if it has any, and its function `main`, if it has one, as main() does: reads the
// options of the command line, starts and stops the run-time, tells a failure on standard error, and gives
// the exit status.
int run_program(int argc, char **argv, int (*forms)(), const Main *main);

} // namespace ndpc

#endif
