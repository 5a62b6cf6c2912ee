// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where threads run, as text (OpenMP 5.2, section 18.3.9 and table 18.2): a format has fields such as %n, %4n
// (at least four wide), %.4n (right-justified), %0.4n (with zeros), %{thread_num}.
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/places.h"
#include "core/team.h"
#include "routine.h"

namespace hadal::omp {

namespace {

// What is written into a buffer that may be too small: the length counts all.
struct Output {
    char *buffer;
    size_t bytes;
    size_t len = 0;

    void put(char c) {
        if (len + 1 < bytes) {
            buffer[len] = c;
        }
        len++;
    }
    void put(const char *text) {
        for (; *text != '\0'; text++) {
            put(*text);
        }
    }
    void end() {
        if (bytes > 0) {
            buffer[len < bytes ? len : bytes - 1] = '\0';
        }
    }
};

struct Field {
    char letter;
    const char *name;
};
constexpr Field FIELDS[] = {{'t', "team_num"},       {'T', "num_teams"},   {'L', "nesting_level"},
                            {'n', "thread_num"},     {'N', "num_threads"}, {'a', "ancestor_tnum"},
                            {'H', "host"},           {'P', "process_id"},  {'i', "native_thread_id"},
                            {'A', "thread_affinity"}};

// The letter of the field at `*format`, which moves behind it; 0 if there is none.
char take_field(const char **format) {
    if (**format != '{') {
        char letter = **format;
        for (const Field &field : FIELDS) {
            if (field.letter == letter) {
                ++*format;
                return letter;
            }
        }
        return 0;
    }
    for (const Field &field : FIELDS) {
        size_t len = strlen(field.name);
        if (strncmp(*format + 1, field.name, len) == 0 && (*format)[1 + len] == '}') {
            *format += len + 2;
            return field.letter;
        }
    }
    return 0;
}

int ancestor_number(const Member &me) {
    const Team &team = *me.team;
    return team.level == 0 ? -1 : static_cast<int>(team.parent_number);
}

void field_text(const Member &me, char letter, char *text, size_t bytes) {
    auto number = [&](long long value) { snprintf(text, bytes, "%lld", value); };
    const Team &team = *me.team;
    switch (letter) {
    case 't':
        return number(league_of(team).league_number);
    case 'T':
        return number(league_of(team).league_size);
    case 'L':
        return number(team.level);
    case 'n':
        return number(me.number);
    case 'N':
        return number(me.size);
    case 'a':
        return number(ancestor_number(me));
    case 'P':
        return number(getpid());
    case 'i':
        return number(syscall(SYS_gettid));
    case 'H':
        if (gethostname(text, bytes) != 0) {
            snprintf(text, bytes, "undefined");
        }
        text[bytes - 1] = '\0';
        return;
    default: {
        cpu_set_t cpus;
        if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
            cpus_text(cpus, text, bytes);
        } else {
            snprintf(text, bytes, "undefined");
        }
    }
    }
}

struct Form {
    bool has_zeros = false, is_right = false;
    size_t width = 0;
};

Form take_form(const char **format) {
    Form form;
    if (**format == '0') {
        form.has_zeros = true;
        ++*format;
    }
    if (**format == '.') {
        form.is_right = true;
        ++*format;
    }
    while (isdigit(static_cast<unsigned char>(**format)) && form.width < 1000) {
        form.width = form.width * 10 + static_cast<size_t>(*(*format)++ - '0');
    }
    return form;
}

void put_field(Output &output, const Form &form, const char *text, bool is_number) {
    size_t len = strlen(text), padding = form.width > len ? form.width - len : 0;
    if (form.is_right) {
        bool has_zeros = form.has_zeros && is_number;
        if (has_zeros && *text == '-') {
            output.put(*text++);
        }
        for (; padding > 0; padding--) {
            output.put(has_zeros ? '0' : ' ');
        }
    }
    output.put(text);
    for (; padding > 0; padding--) {
        output.put(' ');
    }
}

size_t write_affinity(const Member &me, const char *format, char *buffer, size_t bytes) {
    Output output{buffer, bytes};
    while (*format != '\0') {
        if (*format != '%') {
            output.put(*format++);
            continue;
        }
        format++;
        if (*format == '%') {
            output.put(*format++);
            continue;
        }
        Form form = take_form(&format);
        if (char letter = take_field(&format)) {
            char text[1024];
            field_text(me, letter, text, sizeof text);
            put_field(output, form, text, letter != 'H' && letter != 'A');
            continue;
        }
        // No such field: the name is skipped.
        put_field(output, form, "undefined", false);
        if (*format == '{') {
            const char *end = strchr(format, '}');
            format = end != nullptr ? end + 1 : format + strlen(format);
        } else if (*format != '\0') {
            format++;
        }
    }
    output.end();
    return output.len;
}

const char *format_or_default(const char *format) {
    return format != nullptr && *format != '\0' ? format : settings.affinity_format;
}

// One line, in one piece, among the program's own output: it goes to standard output, as libomp's does.
void write_line(const Member &me, const char *format) {
    char line[2048];
    size_t len = write_affinity(me, format, line, sizeof line - 1);
    len = len < sizeof line - 1 ? len : sizeof line - 2;
    line[len++] = '\n';
    fwrite(line, 1, len, stdout);
}

// What the fields tell that can change in a thread's life, whatever the format has of it.
struct Information {
    int numbers[6];
    cpu_set_t cpus;
};

uint64_t hash_of_information(const Member &me) {
    const Team &team = *me.team;
    Information now = {{static_cast<int>(team.league_number), static_cast<int>(team.league_size),
                        static_cast<int>(team.level), static_cast<int>(me.number), static_cast<int>(me.size),
                        ancestor_number(me)},
                       {}};
    sched_getaffinity(0, sizeof now.cpus, &now.cpus);
    unsigned char bytes[sizeof now];
    memcpy(bytes, &now, sizeof now);
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (unsigned char byte : bytes) {
        hash = (hash ^ byte) * 0x100000001b3;
    }
    return hash;
}

thread_local constinit uint64_t last_shown [[gnu::tls_model("initial-exec")]] = 0;

} // namespace

void display_affinity(const Member &me, bool is_again) {
    uint64_t hash = hash_of_information(me);
    if (is_again || hash != last_shown) {
        last_shown = hash;
        write_line(me, settings.affinity_format);
    }
}

} // namespace hadal::omp

using namespace hadal::omp;

namespace {

// Fortran's strings have a length; blanks at the end count, as they do for other run-times.
class FortranText {
  public:
    FortranText(const char *text, size_t len) {
        len = len < sizeof copy - 1 ? len : sizeof copy - 1;
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    const char *c_str() const { return copy; }

  private:
    char copy[1024];
};

int to_fortran(const char *text, size_t text_len, char *buffer, size_t len) {
    size_t copied = text_len < len ? text_len : len;
    memcpy(buffer, text, copied);
    memset(buffer + copied, ' ', len - copied);
    return to_int(static_cast<int64_t>(text_len));
}

} // namespace

OMP_EXPORT void omp_set_affinity_format(const char *format) {
    self();
    constexpr size_t most = sizeof settings.affinity_format - 1;
    if (strlen(format) > most) {
        warn("omp_set_affinity_format: only the first %zu characters are used", most);
    }
    strncpy(settings.affinity_format, format, most);
}

OMP_EXPORT size_t omp_get_affinity_format(char *buffer, size_t bytes) {
    self();
    Output output{buffer, bytes};
    output.put(settings.affinity_format);
    output.end();
    return output.len;
}

OMP_EXPORT void omp_display_affinity(const char *format) {
    Member &me = self();
    place_root(me);
    write_line(me, format_or_default(format));
}

OMP_EXPORT size_t omp_capture_affinity(char *buffer, size_t bytes, const char *format) {
    Member &me = self();
    place_root(me);
    return write_affinity(me, format_or_default(format), buffer, bytes);
}

OMP_EXPORT void omp_set_affinity_format_(const char *format, size_t len) {
    omp_set_affinity_format(FortranText(format, len).c_str());
}
OMP_EXPORT int omp_get_affinity_format_(char *buffer, size_t len) {
    self();
    return to_fortran(settings.affinity_format, strlen(settings.affinity_format), buffer, len);
}
OMP_EXPORT void omp_display_affinity_(const char *format, size_t len) {
    omp_display_affinity(FortranText(format, len).c_str());
}
OMP_EXPORT int omp_capture_affinity_(char *buffer, const char *format, size_t len, size_t format_len) {
    char line[2048];
    size_t line_len = omp_capture_affinity(line, sizeof line, FortranText(format, format_len).c_str());
    to_fortran(line, line_len < sizeof line ? line_len : sizeof line - 1, buffer, len);
    return to_int(static_cast<int64_t>(line_len));
}

// The names that clang's omp.h gives to them.
OMP_EXPORT void ompc_set_affinity_format(const char *format) { omp_set_affinity_format(format); }
OMP_EXPORT size_t ompc_get_affinity_format(char *buffer, size_t bytes) {
    return omp_get_affinity_format(buffer, bytes);
}
OMP_EXPORT void ompc_display_affinity(const char *format) { omp_display_affinity(format); }
OMP_EXPORT size_t ompc_capture_affinity(char *buffer, size_t bytes, const char *format) {
    return omp_capture_affinity(buffer, bytes, format);
}
