// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// POSIX message queues.
#define _GNU_SOURCE
#include "queues.h"

#include <fcntl.h>
#include <sys/file.h>

char name[64];
char other[64];

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"names", names},
        {"attributes", attributes},
        {"messages", messages},
        {"times", times},
        {"waiting", waiting},
        {"interrupted", interrupted},
        {"notification", notification},
        {"notification-of-processes", notification_of_processes},
        {"notification-by-thread", notification_by_thread},
        {"sockets", sockets},
        {"polling", polling},
        {"files", files},
        {"limits", limits},
        {"traffic", traffic},
    };
    // What the queues of a user may hold is counted together: one of these programs at a time.
    int turn = open("/tmp/hadal-test-queues", O_RDONLY | O_CREAT, 0666);
    CHECK(turn >= 0);
    CHECK_EQUAL(flock(turn, LOCK_EX), 0);
    snprintf(name, sizeof name, "/hadal-test-%d", getpid());
    snprintf(other, sizeof other, "/hadal-other-%d", getpid());
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
