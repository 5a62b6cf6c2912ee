// SPDX-License-Identifier: Apache-2.0 OR MIT
// Apply-to-each: a sequence of what a body gives for each index.
#ifndef NDPC_EACH_H
#define NDPC_EACH_H

#include "reduce.h"
#include "seq.h"

namespace ndpc {

// result[i] by body(mode, i, result[i]).
template <Mode M, class T, class Body>
int each(M mode, Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    T *to = made.data();
    NDPC_TRY(each_element(mode, count, site,
                          [&](Mode auto mode, std::int64_t i) -> int { return body(mode, i, to[i]); }));
    result = std::move(made);
    return done;
}

// The same with bodies of a few instructions: body(i, result[i]).
template <class T, class Body>
int fill(Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    T *to = made.data();
    NDPC_TRY(each_index<Size::small>(count, [&](std::int64_t i) -> int { return body(i, to[i]); }));
    result = std::move(made);
    return done;
}

// One element after another, each of which may fork.
template <Mode M, class T, class Body>
int each_serial(M mode, Seq<T> &result, std::int64_t count, const Site &site, const Body &body) {
    Seq<T> made;
    NDPC_TRY(Seq<T>::make(made, count, site));
    for (std::int64_t i = 0; i < count; i++) {
        NDPC_TRY(body(mode, i, made.data()[i]));
    }
    result = std::move(made);
    return done;
}

// Checks that the sources of an apply-to-each have one length.
inline int same_length(std::int64_t a, std::int64_t b, const Site &site) {
    if (__builtin_expect(a != b, 0)) {
        return fail(site, "Length mismatch in an apply-to-each. The lengths are %lld and %lld.", a, b);
    }
    return done;
}

} // namespace ndpc

#endif
