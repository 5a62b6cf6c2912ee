// SPDX-License-Identifier: Apache-2.0 OR MIT

#include "harmonic.h"

double harmonic(int terms) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 1; i <= terms; i++) {
        sum += 1.0 / i;
    }
    return sum;
}
