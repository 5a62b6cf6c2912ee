// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the plain C++ versions of the programs share: the answers' form.
#ifndef PLAIN_H
#define PLAIN_H

#include <cstdio>
#include <string>
#include <vector>

inline std::string text(int value) { return std::to_string(value); }
inline std::string text(bool value) { return value ? "T" : "F"; }
// Of floats the programs answer with whole numbers and halves only.
inline std::string text(double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.1f", value);
    return digits;
}
template <class T> std::string text(const std::vector<T> &items) {
    std::string all = "[";
    for (std::size_t i = 0; i < items.size(); i++) {
        all += (i == 0 ? "" : ", ") + text(T(items[i]));
    }
    return all + "]";
}
template <class T> void print(const T &value, const char *type) {
    std::printf("it = %s : %s\n", text(value).c_str(), type);
}

#endif
