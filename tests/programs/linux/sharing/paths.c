// SPDX-License-Identifier: Apache-2.0 OR MIT
// Working directory and mask that processes have together, and programs that keep them.
#include "parts.h"

static bool is_in(const char *directory) {
    char text[200];
    return getcwd(text, sizeof text) != NULL && strcmp(text, directory) == 0;
}

static bool is_shown_in(pid_t pid, const char *directory) {
    char link[40], text[200];
    snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    ssize_t length = readlink(link, text, sizeof text);
    return length == (ssize_t)strlen(directory) && memcmp(text, directory, (size_t)length) == 0;
}

static mode_t mask(void) {
    mode_t mask = umask(0);
    umask(mask);
    return mask;
}

void paths(void) {
    int start = open(".", O_RDONLY | O_DIRECTORY);
    mode_t first = umask(022);
    reach(0);
    CHECK(start >= 0 && chdir("/") == 0);
    pid_t child = fork_with(CLONE_FS);
    if (child == 0) {
        CHECK(is_in("/") && chdir("/tmp") == 0 && umask(0077) == 022);
        reach(1);
        await(2);
        CHECK(is_in("/usr") && mask() == 0123);
        CHECK(chdir("/no such directory") == -1 && chdir("/dev") == 0);
        reach(3);
        await(4);
        CHECK(unshare(CLONE_FS) == 0 && unshare(CLONE_FS) == 0 && is_in("/dev") && mask() == 0123);
        CHECK(chdir("/") == 0 && umask(0) == 0123);
        reach(5);
        await(6);
        CHECK(is_in("/") && mask() == 0);
        _exit(0);
    }
    await(1);
    CHECK(is_in("/tmp") && mask() == 0077 && is_shown_in(child, "/tmp"));
    char name[40];
    snprintf(name, sizeof name, "/tmp/sharing-mode.%d", getpid());
    int file = open(name + strlen("/tmp/"), O_CREAT | O_RDWR | O_EXCL, 0666);
    struct stat status;
    CHECK(file >= 0 && fstat(file, &status) == 0 && unlink(name) == 0 && close(file) == 0);
    CHECK_EQUAL(status.st_mode & 0777, 0600);
    int usr = open("/usr", O_RDONLY | O_DIRECTORY);
    CHECK(usr >= 0 && fchdir(usr) == 0 && umask(0123) == 0077 && close(usr) == 0);
    CHECK(is_shown_in(child, "/usr"));
    reach(2);
    await(3);
    CHECK(is_in("/dev"));
    reach(4);
    await(5);
    CHECK(is_in("/dev") && mask() == 0123 && is_shown_in(child, "/"));
    CHECK(chdir("/usr") == 0);
    reach(6);
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(is_in("/usr") && mask() == 0123);
    // Without the flag nothing of it is seen.
    child = fork_with(CLONE_FILES);
    if (child == 0) {
        _exit(chdir("/tmp") == 0 && umask(0) == 0123 ? 0 : 1);
    }
    CHECK_EQUAL(exit_of(child), 0);
    CHECK(is_in("/usr") && mask() == 0123);
    // A new program shares them still, but no files.
    CHECK(dup2(start, 80) == 80 && fcntl(80, F_SETFD, FD_CLOEXEC) == 0 && dup2(start, 81) == 81);
    child = fork_with(CLONE_FS | CLONE_FILES);
    if (child == 0) {
        become("elsewhere");
    }
    CHECK_EQUAL(exit_of(child), 5);
    CHECK(is_in("/tmp") && mask() == 0026);
    CHECK_EQUAL(fcntl(80, F_GETFD), FD_CLOEXEC);
    CHECK(is_open(81) && !is_open(82) && close(80) == 0 && close(81) == 0);
    CHECK(fchdir(start) == 0 && close(start) == 0);
    umask(first);
}

int another(const char *what) {
    struct sigaction now;
    if (strcmp(what, "elsewhere") == 0) {
        CHECK(is_in("/usr") && !is_open(80) && is_open(81));
        CHECK(chdir("/tmp") == 0 && umask(0026) == 0123);
        CHECK(close(81) == 0 && dup2(0, 82) == 82);
        return 5;
    }
    if (strcmp(what, "actions") == 0) {
        CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
        CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
        signal(SIGUSR2, SIG_DFL);
        signal(SIGUSR1, SIG_IGN);
        return 6;
    }
    return 0;
}
