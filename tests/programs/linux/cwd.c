// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Prints its working directory, and the first line of each file named.

#include "../common/check.h"

#include <limits.h>

int main(int argc, char **argv) {
    char text[PATH_MAX];
    CHECK(getcwd(text, sizeof text) == text);
    printf("working directory %s\n", text);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "r");
        if (file == NULL) {
            printf("%s: %s\n", argv[i], strerror(errno));
            continue;
        }
        CHECK(fgets(text, sizeof text, file) == text);
        printf("%s: %s", argv[i], text);
        fclose(file);
    }
    return 0;
}
