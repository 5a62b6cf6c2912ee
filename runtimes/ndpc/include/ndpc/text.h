// SPDX-License-Identifier: Apache-2.0 OR MIT
// Texts inside programs: @x and s || n. They differ from what the top level prints.
#ifndef NDPC_TEXT_H
#define NDPC_TEXT_H

#include "index.h"
#include "print.h"

namespace ndpc {

void add_inner(Text &text, int value);
void add_inner(Text &text, bool value);
void add_inner(Text &text, double value);
void add_inner(Text &text, char value);
template <class T> void add_inner(Text &text, const Seq<T> &value);

// Tuples have parentheses around each pair.
template <class A, class B> void add_inner(Text &text, const Pair<A, B> &value) {
    text.add('(');
    add_inner(text, value.first);
    text.add(", ");
    add_inner(text, value.second);
    text.add(')');
}

template <class T> void add_inner(Text &text, const Seq<T> &value) {
    text.add('[');
    for (std::int64_t i = 0; i < value.count(); i++) {
        text.add(i == 0 ? "" : ", ");
        add_inner(text, value[i]);
    }
    text.add(']');
}

int take_text(Seq<char> &result, const Text &text, const Site &site);

// @value
template <class T> int text_of(Seq<char> &result, const T &value, const Site &site) {
    Text text;
    add_inner(text, value);
    return take_text(result, text, site);
}

// Blanks behind the text up to `columns`, in front of it if that is negative; nothing is cut.
int pad(Seq<char> &result, const Seq<char> &text, int columns, const Site &site);

} // namespace ndpc

#endif
