// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "parts.h"

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"basics", basics},     {"waiting", waiting},   {"many", many},
        {"programs", programs}, {"texts", texts},       {"replacing", replacing},
        {"guests", guests},     {"signals", signals},   {"signal-files", files_of_signals},
        {"groups", groups},     {"stopping", stopping}, {"descriptors", descriptors},
        {"chains", chains},     {"memory", memory},     {"threads", threads},
        {"pipes", pipes},       {"locks", locks},       {"records", records},
        {"others", others},     {"usage", usage},       {"leaks", leaks},
        {"advice", advice},     {"reapers", reapers},   {"hosts", hosts},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
