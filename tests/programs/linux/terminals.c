// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Pseudo-terminals, and job control on them. Linux says what is right.

#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

enum { PATIENCE_MS = 30000, SCREEN = 16384 };

struct terminal {
    int master;
    char name[64];
    // All that was shown and not expected yet.
    char screen[SCREEN];
    size_t shown;
};

static struct terminal terminal;

static void open_terminal(void) {
    terminal.shown = 0;
    terminal.master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(terminal.master >= 0 && grantpt(terminal.master) == 0);
    CHECK(ptsname_r(terminal.master, terminal.name, sizeof terminal.name) == 0);
    CHECK(unlockpt(terminal.master) == 0);
}

static int open_slave(void) {
    int slave = open(terminal.name, O_RDWR | O_NOCTTY);
    CHECK(slave >= 0);
    return slave;
}

static void type_in(const char *text) {
    size_t len = strlen(text);
    CHECK_EQUAL(write(terminal.master, text, len), len);
}

static bool show_more(int patience_ms) {
    struct pollfd more = {.fd = terminal.master, .events = POLLIN};
    if (poll(&more, 1, patience_ms) != 1 || (more.revents & POLLIN) == 0) {
        return false;
    }
    ssize_t len = read(terminal.master, terminal.screen + terminal.shown, SCREEN - 1 - terminal.shown);
    CHECK(len > 0);
    terminal.shown += (size_t)len;
    terminal.screen[terminal.shown] = 0;
    return true;
}

// Waits until the screen shows a text; what is before it is forgotten.
static void expect(const char *text) {
    for (;;) {
        terminal.screen[terminal.shown] = 0;
        char *found = strstr(terminal.screen, text);
        if (found != NULL) {
            size_t end = (size_t)(found - terminal.screen) + strlen(text);
            memmove(terminal.screen, terminal.screen + end, terminal.shown - end);
            terminal.shown -= end;
            return;
        }
        if (!show_more(PATIENCE_MS)) {
            fprintf(stderr, "\"%s\" is not on the screen, but \"%s\"\n", text, terminal.screen);
            _exit(99);
        }
    }
}

// The screen shows this, and nothing else.
static void expect_only(const char *text) {
    while (terminal.shown < strlen(text) && show_more(PATIENCE_MS)) {
    }
    terminal.screen[terminal.shown] = 0;
    CHECK(strcmp(terminal.screen, text) == 0);
    terminal.shown = 0;
}

static int exit_of(pid_t pid) {
    int status;
    CHECK_EQUAL(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// A child that leads a session with the terminal, which its standard streams are.
static pid_t fork_session(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(setsid() == getpid());
        int slave = open(terminal.name, O_RDWR);
        CHECK(slave >= 0);
        for (int stream = 0; stream <= 2; ++stream) {
            CHECK(dup2(slave, stream) == stream);
        }
        close(slave);
        close(terminal.master);
    }
    return child;
}

static void devices(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY), number = -1, locks = -1;
    CHECK(master >= 0 && ioctl(master, TIOCGPTN, &number) == 0 && ioctl(master, TIOCGPTLCK, &locks) == 0);
    CHECK(number >= 0 && locks == 1);
    char name[64], expected[64];
    CHECK(ptsname_r(master, name, sizeof name) == 0);
    snprintf(expected, sizeof expected, "/dev/pts/%d", number);
    CHECK(strcmp(name, expected) == 0);
    CHECK_ERRNO(open(name, O_RDWR | O_NOCTTY), EIO);
    CHECK(unlockpt(master) == 0);
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(slave >= 0 && isatty(slave) && isatty(master));
    CHECK(ttyname_r(slave, expected, sizeof expected) == 0 && strcmp(name, expected) == 0);
    struct stat status;
    CHECK(fstat(slave, &status) == 0 && S_ISCHR(status.st_mode) && major(status.st_rdev) >= 136);
    CHECK_EQUAL(minor(status.st_rdev), number % 256);
    int peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    CHECK(peer >= 0 && isatty(peer));
    close(peer);
    CHECK_ERRNO(ioctl(slave, TIOCGPTN, &number), ENOTTY);
    CHECK_ERRNO(ioctl(slave, 0x5499, 0), ENOTTY);
    CHECK_ERRNO(lseek(slave, 0, SEEK_CUR), ESPIPE);
    // A second one has another number.
    int other = posix_openpt(O_RDWR | O_NOCTTY), second = -1;
    CHECK(other >= 0 && ioctl(other, TIOCGPTN, &second) == 0 && second != number);
    close(other);
    struct winsize window = {.ws_row = 24, .ws_col = 80}, got;
    CHECK(ioctl(slave, TIOCGWINSZ, &got) == 0 && got.ws_row == 0);
    CHECK(ioctl(master, TIOCSWINSZ, &window) == 0 && ioctl(slave, TIOCGWINSZ, &got) == 0);
    CHECK(got.ws_row == 24 && got.ws_col == 80);
    struct termios settings;
    CHECK(tcgetattr(slave, &settings) == 0);
    CHECK(settings.c_iflag == (ICRNL | IXON) && settings.c_oflag == (OPOST | ONLCR));
    CHECK(settings.c_lflag == (ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN));
    CHECK(settings.c_cc[VINTR] == 3 && settings.c_cc[VSUSP] == 26 && settings.c_cc[VMIN] == 1);
    struct termio old, again;
    CHECK(ioctl(slave, TCGETA, &old) == 0);
    CHECK(old.c_iflag == (ICRNL | IXON) && old.c_cc[VINTR] == 3 && old.c_cc[VMIN] == 1);
    old.c_lflag &= (unsigned short)~ECHO;
    old.c_cc[VINTR] = 9;
    CHECK(ioctl(master, TCSETA, &old) == 0 && ioctl(slave, TCGETA, &again) == 0);
    CHECK(again.c_lflag == old.c_lflag && again.c_cc[VINTR] == 9);
    // What the old structure has no place for is as it was.
    CHECK(tcgetattr(slave, &settings) == 0 && settings.c_cc[VSUSP] == 26 && settings.c_cc[VINTR] == 9);
    CHECK(settings.c_lflag == (ISIG | ICANON | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN));
    CHECK(ioctl(slave, TCSETAW, &old) == 0 && ioctl(slave, TCSETAF, &old) == 0);
    CHECK_ERRNO(ioctl(slave, TCGETA, NULL), EFAULT);
    CHECK(tcflush(slave, TCIOFLUSH) == 0 && tcdrain(slave) == 0 && tcflow(slave, TCOON) == 0);
    CHECK_ERRNO(tcgetpgrp(slave), ENOTTY);
    close(slave);
    // All of the other side is closed.
    char byte;
    CHECK_ERRNO(read(master, &byte, 1), EIO);
    struct pollfd end = {.fd = master, .events = POLLIN};
    CHECK(poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0);
    close(master);
    CHECK_ERRNO(open(name, O_RDWR | O_NOCTTY), ENOENT);
}

// Whoever makes a terminal may use it.
static void ordinary_users(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        // Only the superuser can.
        CHECK(setresuid(1000, 1000, 1000) == 0 || errno == EPERM);
        open_terminal();
        int slave = open_slave(), peer = ioctl(terminal.master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
        struct stat status;
        CHECK(peer >= 0 && stat(terminal.name, &status) == 0 && status.st_uid == getuid());
        CHECK(write(slave, "a", 1) == 1);
        expect_only("a");
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
}

static void lines(void) {
    open_terminal();
    int slave = open_slave();
    char buffer[100];
    int waiting = -1;
    type_in("one");
    CHECK(ioctl(slave, FIONREAD, &waiting) == 0 && waiting == 0);
    struct pollfd line = {.fd = slave, .events = POLLIN};
    CHECK_EQUAL(poll(&line, 1, 0), 0);
    type_in("\x7f"
            "E\rtwo\n");
    CHECK_EQUAL(poll(&line, 1, PATIENCE_MS), 1);
    CHECK(ioctl(slave, FIONREAD, &waiting) == 0 && waiting == 8);
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 4);
    CHECK(memcmp(buffer, "onE\n", 4) == 0);
    CHECK_EQUAL(read(slave, buffer, 2), 2);
    CHECK_EQUAL(read(slave, buffer + 2, sizeof buffer - 2), 2);
    CHECK(memcmp(buffer, "two\n", 4) == 0);
    expect_only("one\b \bE\r\ntwo\r\n");
    type_in("\x04");
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 0);
    type_in("half\x04");
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 4);
    expect_only("half");
    CHECK_EQUAL(write(slave, "a\tb\n", 4), 4);
    expect_only("a\tb\r\n");
    CHECK(fcntl(slave, F_SETFL, O_NONBLOCK) == 0);
    CHECK_ERRNO(read(slave, buffer, sizeof buffer), EAGAIN);
    // The queues of the master are those of the slave the other way round.
    type_in("stays\n");
    expect_only("stays\r\n");
    CHECK_EQUAL(write(slave, "goes", 4), 4);
    CHECK(poll(&(struct pollfd){.fd = terminal.master, .events = POLLIN}, 1, PATIENCE_MS) == 1);
    CHECK(tcflush(terminal.master, TCIFLUSH) == 0);
    CHECK_EQUAL(poll(&(struct pollfd){.fd = terminal.master, .events = POLLIN}, 1, 0), 0);
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 6);
    close(slave);
    close(terminal.master);
}

static long elapsed_ms(const struct timespec *since) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static void raw(void) {
    open_terminal();
    int slave = open_slave();
    struct termios settings;
    char buffer[100];
    CHECK(tcgetattr(slave, &settings) == 0);
    cfmakeraw(&settings);
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    type_in("\x03\x04\r\n");
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 4);
    CHECK(memcmp(buffer, "\x03\x04\r\n", 4) == 0);
    CHECK_EQUAL(write(slave, "a\nb", 3), 3);
    expect_only("a\nb");
    // Nothing to wait for, some time, several bytes.
    settings.c_cc[VMIN] = 0;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 0);
    settings.c_cc[VTIME] = 2;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 0);
    CHECK(elapsed_ms(&start) >= 180);
    settings.c_cc[VMIN] = 3;
    settings.c_cc[VTIME] = 0;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    pid_t child = fork();
    if (child == 0) {
        for (int index = 0; index < 3; ++index) {
            usleep(5000);
            type_in("x");
        }
        _exit(0);
    }
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 3);
    CHECK_EQUAL(exit_of(child), 0);
    // What was typed in the other mode is not lost.
    settings.c_lflag |= ICANON;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    type_in("kept\n");
    settings.c_lflag &= ~(tcflag_t)ICANON;
    settings.c_cc[VMIN] = 1;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 5);
    CHECK_EQUAL(read(terminal.master, buffer, 0), 0);
    // What does not wait at all says that there is nothing.
    settings.c_cc[VMIN] = 0;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0 && fcntl(slave, F_SETFL, O_NONBLOCK) == 0);
    CHECK_EQUAL(read(slave, buffer, sizeof buffer), 0);
    settings.c_cc[VTIME] = 1;
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    CHECK_ERRNO(read(slave, buffer, sizeof buffer), EAGAIN);
    close(slave);
    close(terminal.master);
}

// Much, both ways: nothing is lost, and nobody is left waiting, where both sides have to wait for each other.
static void transfer(int slave) {
    static char much[100000], back[sizeof much];
    for (size_t index = 0; index < sizeof much; ++index) {
        much[index] = (char)(index * 7 % 251);
    }
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(write(slave, much, sizeof much), sizeof much);
        for (size_t at = 0; at < sizeof back;) {
            ssize_t len = read(slave, back + at, sizeof back - at);
            CHECK(len > 0);
            at += (size_t)len;
        }
        _exit(memcmp(much, back, sizeof much) == 0 ? 0 : 1);
    }
    for (size_t at = 0; at < sizeof back;) {
        ssize_t len = read(terminal.master, back + at, sizeof back - at);
        CHECK(len > 0);
        at += (size_t)len;
    }
    CHECK(memcmp(much, back, sizeof much) == 0);
    CHECK_EQUAL(write(terminal.master, much, sizeof much), sizeof much);
    CHECK_EQUAL(exit_of(child), 0);
}

static void much(void) {
    open_terminal();
    int slave = open_slave();
    struct termios settings;
    CHECK(tcgetattr(slave, &settings) == 0);
    cfmakeraw(&settings);
    CHECK(tcsetattr(slave, TCSANOW, &settings) == 0);
    for (int round = 0; round < 15; ++round) {
        transfer(slave);
    }
    close(slave);
    close(terminal.master);
}

static volatile sig_atomic_t got;

static void note(int signo) { got = signo; }

static void typed_signals(void) {
    open_terminal();
    pid_t child = fork_session();
    if (child == 0) {
        CHECK(tcgetpgrp(0) == getpgrp() && tcgetsid(0) == getpid());
        int own = open("/dev/tty", O_RDWR);
        CHECK(own >= 0 && tcgetpgrp(own) == getpgrp());
        close(own);
        const int signals[] = {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH};
        for (int index = 0; index < 4; ++index) {
            CHECK(signal(signals[index], note) != SIG_ERR);
        }
        for (int index = 0; index < 4; ++index) {
            char text[20];
            snprintf(text, sizeof text, "ready%d\n", index);
            CHECK(write(1, text, strlen(text)) > 0);
            while (got == 0) {
                usleep(1000);
            }
            CHECK_EQUAL(got, signals[index]);
            got = 0;
        }
        _exit(4);
    }
    expect("ready0\r\n");
    type_in("lost\x03");
    expect("^C");
    expect("ready1\r\n");
    type_in("\x1c");
    expect("ready2\r\n");
    type_in("\x1a");
    expect("ready3\r\n");
    struct winsize window = {.ws_row = 10, .ws_col = 20};
    CHECK(ioctl(terminal.master, TIOCSWINSZ, &window) == 0);
    CHECK_EQUAL(exit_of(child), 4);
    close(terminal.master);
}

static pid_t job;

static void expect_stop(int signo) {
    int status;
    CHECK_EQUAL(waitpid(job, &status, WUNTRACED), job);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signo);
}

// As a shell's `fg`.
static void to_front(void) { CHECK(tcsetpgrp(0, job) == 0 && kill(-job, SIGCONT) == 0); }

// It has stopped in the foreground, and goes on in the background.
static void to_back(void) {
    expect_stop(SIGSTOP);
    CHECK(tcsetpgrp(0, getpgrp()) == 0 && kill(-job, SIGCONT) == 0);
}

static int be_job(void) {
    char buffer[10];
    struct termios settings;
    CHECK(setpgid(0, 0) == 0 && signal(SIGTTOU, SIG_DFL) != SIG_ERR);
    // Stops.
    CHECK_EQUAL(read(0, buffer, sizeof buffer), 3);
    CHECK(raise(SIGSTOP) == 0 && tcgetattr(0, &settings) == 0);
    // Writes in the background as long as nobody minds.
    CHECK(write(1, "wrote\n", 6) == 6);
    settings.c_lflag |= TOSTOP;
    // Stops.
    int changed = tcsetattr(0, TCSANOW, &settings);
    CHECK(changed == 0 || (errno == EINTR && tcsetattr(0, TCSANOW, &settings) == 0));
    CHECK(raise(SIGSTOP) == 0);
    // Stops.
    CHECK(write(1, "again\n", 6) == 6);
    CHECK(raise(SIGSTOP) == 0 && signal(SIGTTIN, SIG_IGN) != SIG_ERR);
    CHECK_ERRNO(read(0, buffer, sizeof buffer), EIO);
    return 5;
}

static void background(void) {
    open_terminal();
    pid_t leader = fork_session();
    if (leader == 0) {
        CHECK(signal(SIGTTOU, SIG_IGN) != SIG_ERR);
        job = fork();
        if (job == 0) {
            _exit(be_job());
        }
        expect_stop(SIGTTIN);
        CHECK(write(1, "type\n", 5) == 5);
        to_front();
        to_back();
        expect_stop(SIGTTOU);
        to_front();
        to_back();
        expect_stop(SIGTTOU);
        to_front();
        to_back();
        CHECK_ERRNO(tcsetpgrp(0, 4000000), ESRCH);
        _exit(exit_of(job));
    }
    expect("type\r\n");
    type_in("ab\n");
    expect("wrote\r\n");
    expect("again\r\n");
    CHECK_EQUAL(exit_of(leader), 5);
    close(terminal.master);
}

// Whose terminal it is.
static void sessions(void) {
    open_terminal();
    pid_t leader = fork_session();
    if (leader == 0) {
        int own = open("/dev/tty", O_RDWR);
        CHECK(own >= 0);
        pid_t child = fork();
        if (child == 0) {
            CHECK(ioctl(0, TIOCSCTTY, 0) == -1 && setsid() == getpid());
            CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
            CHECK_ERRNO(tcgetpgrp(0), ENOTTY);
            // Another session's.
            CHECK_ERRNO(ioctl(0, TIOCSCTTY, 0), EPERM);
            _exit(6);
        }
        CHECK_EQUAL(exit_of(child), 6);
        child = fork();
        if (child == 0) {
            // It lets go of the terminal, its session does not.
            CHECK(ioctl(own, TIOCNOTTY, 0) == 0);
            CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
            CHECK_ERRNO(ioctl(own, TIOCNOTTY, 0), ENOTTY);
            _exit(6);
        }
        CHECK_EQUAL(exit_of(child), 6);
        CHECK(tcgetpgrp(own) == getpgrp());
        CHECK(signal(SIGHUP, note) != SIG_ERR && ioctl(own, TIOCNOTTY, 0) == 0);
        CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
        CHECK(ioctl(0, TIOCSCTTY, 0) == 0 && tcgetpgrp(0) == getpgrp());
        _exit(7);
    }
    CHECK_EQUAL(exit_of(leader), 7);
    close(terminal.master);
}

// Whoever is at the terminal goes; the leader goes.
static void hanging_up(void) {
    open_terminal();
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    pid_t leader = fork_session();
    if (leader == 0) {
        CHECK(signal(SIGHUP, note) != SIG_ERR && write(ends[1], "r", 1) == 1);
        while (got != SIGHUP) {
            usleep(1000);
        }
        CHECK_EQUAL(read(0, &byte, 1), 0);
        CHECK_ERRNO(write(1, &byte, 1), EIO);
        struct termios settings;
        CHECK_ERRNO(tcgetattr(0, &settings), EIO);
        CHECK_ERRNO(tcsetpgrp(0, getpgrp()), ENOTTY);
        struct pollfd end = {.fd = 0, .events = POLLIN | POLLOUT};
        CHECK(poll(&end, 1, 0) == 1 && end.revents == (POLLIN | POLLOUT | POLLERR | POLLHUP));
        _exit(8);
    }
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    close(terminal.master);
    CHECK_EQUAL(exit_of(leader), 8);
    open_terminal();
    leader = fork_session();
    if (leader == 0) {
        CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
        pid_t child = fork();
        if (child == 0) {
            CHECK(setpgid(0, 0) == 0 && signal(SIGHUP, SIG_DFL) != SIG_ERR && write(ends[1], "r", 1) == 1);
            for (;;) {
                pause();
            }
        }
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        CHECK(signal(SIGTTOU, SIG_IGN) != SIG_ERR && tcsetpgrp(0, child) == 0);
        _exit(9);
    }
    CHECK_EQUAL(exit_of(leader), 9);
    // The child holds the pipe until it has been hung up.
    close(ends[1]);
    CHECK_EQUAL(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    close(terminal.master);
}

// An interactive shell with jobs.
static void shell(void) {
    open_terminal();
    pid_t bash = fork_session();
    if (bash == 0) {
        char *const variables[] = {"PS1=<$?>", "PATH=/usr/bin:/bin", "TERM=dumb", "HISTFILE=/dev/null", NULL};
        execle("/bin/bash", "bash", "--norc", "--noprofile", "--noediting", "-i", NULL, variables);
        _exit(97);
    }
    expect("<0>");
    type_in("sleep 1000\n");
    expect("sleep 1000\r\n");
    usleep(200000);
    type_in("\x1a");
    expect("Stopped");
    expect("<148>");
    type_in("sleep 2000 &\n");
    expect("<0>");
    type_in("jobs\n");
    expect("Stopped");
    expect("Running");
    expect("<0>");
    type_in("fg %1\n");
    expect("sleep 1000\r\n");
    usleep(200000);
    type_in("\x03");
    expect("<130>");
    type_in("cat\n");
    expect("cat\r\n");
    usleep(200000);
    type_in("through\n");
    expect("through\r\nthrough\r\n");
    type_in("\x1a");
    expect("<148>");
    type_in("bg\n");
    // It reads in the background.
    expect("<0>");
    type_in("kill %2 %3; echo kil''led\n");
    expect("killed\r\n");
    type_in("stty -echo; echo done\n");
    expect("done\r\n");
    type_in("exit 3\n");
    int status;
    // It warns of jobs that are stopped, and leaves when it is told again.
    for (int tries = 0; waitpid(bash, &status, WNOHANG) == 0; ++tries) {
        CHECK(tries < 100);
        usleep(100000);
        type_in("exit 3\n");
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    close(terminal.master);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"devices", devices},
        {"ordinary-users", ordinary_users},
        {"lines", lines},
        {"raw", raw},
        {"much", much},
        {"typed-signals", typed_signals},
        {"background", background},
        {"sessions", sessions},
        {"hanging-up", hanging_up},
        {"shell", shell},
    };
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
