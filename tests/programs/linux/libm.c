// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Prints a checksum of all bits that functions of the mathematical library return. glibc has several forms of
// most of them, with and without FMA, whose last digits differ now and then.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static double power(double x) { return pow(8.3 * x, 1.7); }

static const struct {
    const char *name;
    double (*call)(double);
} functions[] = {{"exp", exp}, {"exp2", exp2}, {"log", log},   {"log2", log2}, {"sin", sin},
                 {"cos", cos}, {"tan", tan},   {"atan", atan}, {"pow", power}};

int main(void) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        uint64_t sum = UINT64_C(0xcbf29ce484222325); // FNV-1a, by words
        for (int step = 1; step <= 50000; step++) {
            double result = functions[i].call(step * 0.00037);
            uint64_t bits;
            memcpy(&bits, &result, sizeof bits);
            sum = (sum ^ bits) * UINT64_C(0x100000001b3);
        }
        printf("%s %016llx\n", functions[i].name, (unsigned long long)sum);
    }
    return 0;
}
