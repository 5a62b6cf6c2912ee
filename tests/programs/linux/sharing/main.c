// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "parts.h"

#include <dirent.h>

atomic_int *step;

int count_descriptors(const char *directory) {
    DIR *list = opendir(directory);
    CHECK(list != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        count += entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(list);
    }
    closedir(list);
    return count;
}

void become(const char *what) {
    char *arguments[] = {(char *)"sharing", (char *)"--another", (char *)what, NULL};
    char *environment[] = {NULL};
    execve("/proc/self/exe", arguments, environment);
    _exit(98);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"flags", flags},     {"files", files},       {"copies", copies},     {"ends", ends},
        {"locks", locks},     {"listings", listings}, {"paths", paths},       {"actions", actions},
        {"pending", pending}, {"children", children}, {"programs", programs}, {"unsharing", unsharing},
        {"races", races},     {"many", many},
    };
    if (argc == 3 && strcmp(argv[1], "--another") == 0) {
        return another(argv[2]);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    step = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(step != MAP_FAILED);
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
