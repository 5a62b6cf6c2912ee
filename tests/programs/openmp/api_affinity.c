// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Formats of affinity: fields, widths, buffers that are too small.

#include "../common/check.h"

#include <omp.h>

static void expect(const char *format, const char *text) {
    char buffer[200];
    size_t len = omp_capture_affinity(buffer, sizeof buffer, format);
    if (strcmp(buffer, text) != 0 || len != strlen(text)) {
        check_failed(__FILE__, __LINE__, format, buffer);
    }
}

static void fields(void) {
    expect("thread %n of %N at level %L", "thread 0 of 1 at level 0");
    expect("%{thread_num} %{num_threads} %{nesting_level} %{ancestor_tnum}", "0 1 0 -1");
    expect("%t %T %{team_num} %{num_teams}", "0 1 0 1");
    expect("%%n%%", "%n%");
    expect("[%5N][%.5N][%0.5N][%1N]", "[1    ][    1][00001][1]");
    char pid[64];
    snprintf(pid, sizeof pid, "%d;%12d", (int)getpid(), (int)getpid());
    expect("%P;%.12P", pid);
}

static void buffers(void) {
    char small[4] = "xxx";
    CHECK_EQUAL(omp_capture_affinity(small, sizeof small, "%0.9n"), 9);
    CHECK(strcmp(small, "000") == 0);
    CHECK_EQUAL(omp_capture_affinity(NULL, 0, "abc%N"), 4);
    omp_set_affinity_format("n %n, N %.3N");
    char format[40];
    CHECK_EQUAL(omp_get_affinity_format(format, sizeof format), 12);
    CHECK(strcmp(format, "n %n, N %.3N") == 0);
    CHECK_EQUAL(omp_get_affinity_format(small, sizeof small), 12);
    CHECK(strcmp(small, "n %") == 0);
    expect("", "n 0, N   1");
    expect(NULL, "n 0, N   1");
}

static void members(void) {
    int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    {
        char text[40], wanted[40];
        omp_capture_affinity(text, sizeof text, "%L %n %N %a");
        snprintf(wanted, sizeof wanted, "1 %d 3 0", omp_get_thread_num());
        wrong += strcmp(text, wanted) != 0;
    }
    CHECK_EQUAL(wrong, 0);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"fields", fields}, {"buffers", buffers}, {"members", members}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
