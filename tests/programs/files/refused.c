// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Prints the name of the error of each attempt: `refused open-read|open-write|create|mkdir|unlink|rename
// PATH...`.

#include "../common/check.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char *error_name(int error) {
    switch (error) {
    case 0:
        return "no error";
    case EACCES:
        return "EACCES";
    case EROFS:
        return "EROFS";
    case ENOENT:
        return "ENOENT";
    case EPERM:
        return "EPERM";
    case EEXIST:
        return "EEXIST";
    case EXDEV:
        return "EXDEV";
    default:
        return strerror(error);
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *how = argv[i];
        const char *path = argv[i + 1];
        int result = -1;
        errno = 0;
        if (strcmp(how, "open-read") == 0) {
            result = open(path, O_RDONLY);
        } else if (strcmp(how, "open-write") == 0) {
            result = open(path, O_WRONLY);
        } else if (strcmp(how, "create") == 0) {
            result = open(path, O_WRONLY | O_CREAT, 0644);
        } else if (strcmp(how, "mkdir") == 0) {
            result = mkdir(path, 0755);
        } else if (strcmp(how, "unlink") == 0) {
            result = unlink(path);
        } else if (strcmp(how, "rename") == 0) {
            result = rename(path, "renamed.tmp");
        }
        printf("%s %s: %s\n", how, path, result == -1 ? error_name(errno) : "no error");
    }
    return 0;
}
