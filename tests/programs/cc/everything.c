// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a program gets from outside: arguments, environment, input, files, its own name; and what it gives
// back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char text[4096];
    ssize_t len = readlink("/proc/self/exe", text, sizeof text - 1);
    text[len > 0 ? len : 0] = 0;
    const char *name = strrchr(text, '/');
    printf("exe %s\n", name ? name + 1 : "?");
    for (int i = 1; i < argc; i++) {
        printf("argument %s\n", argv[i]);
    }
    const char *setting = getenv("SETTING");
    printf("setting %s\n", setting ? setting : "none");
    while (fgets(text, sizeof text, stdin)) {
        printf("input %s", text);
    }
    FILE *file = fopen("written", "w");
    if (!file || fputs("by the program\n", file) < 0 || fclose(file) != 0) {
        return 1;
    }
    fprintf(stderr, "to standard error\n");
    return 40 + argc;
}
