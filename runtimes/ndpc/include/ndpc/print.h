// SPDX-License-Identifier: Apache-2.0 OR MIT
// Values as NESL prints them.
#ifndef NDPC_PRINT_H
#define NDPC_PRINT_H

#include <cstddef>

#include "seq.h"

namespace ndpc {

// A text that grows. Without memory it stays as it is and says so.
class Text {
  public:
    Text() = default;
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;
    ~Text();
    void add(const char *text, std::size_t bytes);
    void add(const char *text);
    void add(char character) { add(&character, 1); }
    const char *data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    bool is_whole() const { return is_whole_; }
    // A float that NESL cannot print.
    bool is_finite = true;

  private:
    char *data_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t room_ = 0;
    bool is_whole_ = true;
};

// So many elements of a sequence are printed; texts are printed whole.
constexpr std::int64_t printed_elements = 100;

void add_value(Text &text, int value);
void add_value(Text &text, bool value);
void add_value(Text &text, double value);
void add_value(Text &text, char value);
void add_value(Text &text, const Seq<char> &value);
template <class T> void add_value(Text &text, const Seq<T> &value);
template <class A, class B> void add_value(Text &text, const Pair<A, B> &value);

// The components of a tuple, without parentheses around them.
template <class T> void add_components(Text &text, const T &value) { add_value(text, value); }
template <class A, class B> void add_components(Text &text, const Pair<A, B> &value) {
    add_value(text, value.first);
    text.add(", ");
    add_components(text, value.second);
}

template <class A, class B> void add_value(Text &text, const Pair<A, B> &value) {
    text.add('(');
    add_components(text, value);
    text.add(')');
}

template <class T> void add_value(Text &text, const Seq<T> &value) {
    text.add('[');
    for (std::int64_t i = 0; i < value.count(); i++) {
        if (i == printed_elements) {
            text.add(",...");
            break;
        }
        text.add(i == 0 ? "" : ", ");
        add_value(text, value[i]);
    }
    text.add(']');
}

// Prints `name = value : type` and a newline to standard output; with more than 120 columns as three lines.
int print_line(const char *name, const Text &value, const char *type, const Site &site);

// As it stands at top level: tuples without parentheses.
template <class T> int print(const char *name, const T &value, const char *type, const Site &site) {
    Text text;
    add_components(text, value);
    return print_line(name, text, type, site);
}

// Seconds on a clock that runs steadily.
double seconds();

} // namespace ndpc

#endif
