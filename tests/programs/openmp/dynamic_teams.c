// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Teams whose size the library chooses: libomp looks at the load of the machine for that, process by process.

#include "../common/check.h"

#include <omp.h>

int main(void) {
    omp_set_dynamic(1);
    for (int round = 0; round < 20; round++) {
        int members = 0;
#pragma omp parallel reduction(+ : members)
        members += 1;
        CHECK(members >= 1 && members <= omp_get_max_threads());
    }
    printf("teams ok\n");
    return 0;
}
