// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Sockets with names, in a directory of their own in /tmp.

#include "parts.h"

pid_t run;

int main(void) {
    run = getpid();
    char directory[] = "/tmp/hadal-sockets-XXXXXX";
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    CHECK(mkdtemp(directory) != NULL);
    CHECK_EQUAL(chdir(directory), 0);
    names();
    connections();
    datagrams();
    senders();
    crowds();
    CHECK_EQUAL(chdir("/"), 0);
    printf("empty %s\n", name(rmdir(directory)));
    return 0;
}
