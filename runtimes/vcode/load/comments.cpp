// SPDX-License-Identifier: Apache-2.0 OR MIT
// {hadal-form} and {hadal-source}.
#include "comments.h"

namespace hadal::vcode {

namespace {

bool blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r'; }

// Takes the next word off the text.
std::string_view word(std::string_view &text) {
    while (!text.empty() && blank(text.front())) {
        text.remove_prefix(1);
    }
    size_t bytes = 0;
    while (bytes < text.size() && !blank(text[bytes])) {
        bytes++;
    }
    std::string_view first = text.substr(0, bytes);
    text.remove_prefix(bytes);
    return first;
}

bool decimal(std::string_view text, uint32_t &value) {
    value = 0;
    for (char letter : text) {
        if (letter < '0' || letter > '9' || value > 100000000) {
            return false;
        }
        value = value * 10 + static_cast<uint32_t>(letter - '0');
    }
    return !text.empty();
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

} // namespace

void LoadComments::form(std::string_view rest) {
    FormLine line{};
    line.function = word(rest);
    if (word(rest) != "name") {
        return fail("a {hadal-form} comment without 'name'");
    }
    line.name = word(rest);
    if (word(rest) != "value") {
        return fail("a {hadal-form} comment without 'value'");
    }
    line.value = word(rest);
    if (word(rest) != "type") {
        return fail("a {hadal-form} comment without 'type'");
    }
    size_t at = rest.rfind(" at ");
    if (at == std::string_view::npos || !decimal(trimmed(rest.substr(at + 4)), line.line)) {
        return fail("a {hadal-form} comment without its source line");
    }
    line.type = trimmed(rest.substr(0, at));
    if (!value_code_valid(line.value)) {
        return fail("a {hadal-form} comment with a value code that does not exist");
    }
    if (!program.form_names.put(line.function, static_cast<uint32_t>(program.forms.size())) ||
        !program.forms.add(line)) {
        fail("out of memory");
    }
}

void LoadComments::source(std::string_view rest) {
    SourceLine line{};
    line.function = word(rest);
    line.name = word(rest);
    // The file is all but the last word.
    rest = trimmed(rest);
    size_t at = rest.find_last_of(" \t\n");
    if (at == std::string_view::npos || !decimal(rest.substr(at + 1), line.line)) {
        return fail("a {hadal-source} comment without its source line");
    }
    line.file = trimmed(rest.substr(0, at));
    if (!program.source_names.put(line.function, static_cast<uint32_t>(program.sources.size())) ||
        !program.sources.add(line)) {
        fail("out of memory");
    }
}

void LoadComments::comment(std::string_view text) {
    std::string_view rest = text, first = word(rest);
    if (first == "hadal-form") {
        form(rest);
    } else if (first == "hadal-source") {
        source(rest);
    }
}

// Prefix code: a list of what is still to come, the next one last.
bool value_code_valid(std::string_view code) {
    constexpr uint32_t NESTING_MAX = 2000; // printing recurses
    Array<char> wanted;
    uint32_t nested = 0;
    wanted.add('v');
    for (size_t at = 0; at < code.size(); at++) {
        if (wanted.failed || wanted.empty() || nested > NESTING_MAX) {
            return false;
        }
        char letter = code[at], next = wanted.last();
        wanted.drop_last();
        if (next == '>') {
            if (letter != '>') {
                return false;
            }
        } else if (letter == '[') {
            wanted.add('v');
            nested++;
        } else if (letter == '(') {
            wanted.add('v');
            wanted.add('v');
            nested++;
        } else if (letter == '<') {
            at = code.find(':', at);
            if (at == std::string_view::npos) {
                return false;
            }
            wanted.add('>');
            wanted.add('v');
            nested++;
        } else if (letter == 'u') {
            size_t digits = at + 1;
            while (digits < code.size() && code[digits] >= '0' && code[digits] <= '9') {
                digits++;
            }
            if (digits == at + 1 || digits > at + 7) {
                return false;
            }
            at = digits - 1;
        } else if (letter != 'i' && letter != 'b' && letter != 'f' && letter != 'c') {
            return false;
        }
    }
    return wanted.empty();
}

} // namespace hadal::vcode
