// SPDX-License-Identifier: Apache-2.0 OR MIT
// Binds hrt_calls before the program's first constructor: to the kernel's table if the auxiliary vector has
// one, else to the one this library brings along.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "internal.h"

const struct hrt_calls *hrt_calls;

static void say(const char *text, va_list more) {
    for (; text; text = va_arg(more, const char *)) {
        // Nothing can be done about a closed standard error.
        ssize_t written = write(STDERR_FILENO, text, strlen(text));
        (void)written;
    }
}

void hrt_say(const char *text, ...) {
    va_list more;
    va_start(more, text);
    say(text, more);
    va_end(more);
}

_Noreturn void hrt_die(const char *text, ...) {
    va_list more;
    va_start(more, text);
    say(text, more);
    va_end(more);
    _exit(127);
}

// Decimal digits of `value`, in `buffer`.
static const char *decimal(uint32_t value, char buffer[static 11]) {
    char *at = buffer + 10;
    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return at;
}

static void check(const struct hrt_calls *table) {
    char has[11], wants[11], bytes[11], least[11];
    if (table->version == HRT_CALLS_VERSION && table->size >= sizeof(struct hrt_calls)) {
        return;
    }
    hrt_die("libhrt: the kernel offers version ", decimal(table->version, has), " of hadal/hrt.h (",
            decimal(table->size, bytes), " bytes), this program was built for version ",
            decimal(HRT_CALLS_VERSION, wants), " (", decimal(sizeof(struct hrt_calls), least),
            " bytes): rebuild the older of the two\n", NULL);
}

static void bind(void) {
    // It is 0 when main() begins (C17 7.5), also where the auxiliary vector has no such entry.
    int before = errno;
    const struct hrt_calls *table = (const struct hrt_calls *)getauxval(HRT_AT_HADAL_HRT);
    if (!table) {
        table = hrt_place_table();
    }
    check(table);
    hrt_calls = table;
    hrt_tls_start();
    errno = before;
}

// Not __attribute__((constructor(100))): compilers keep priorities up to 100 to the implementation, which
// libhrt is part of, and warn. Not .preinit_array: a shared library may not have one.
__attribute__((section(".init_array.00100"), used)) static void (*const bind_early)(void) = bind;
