// SPDX-License-Identifier: Apache-2.0 OR MIT
// What may be a name, and what a name is.

#include "parts.h"

static void show(const char *what, int fd) {
    struct sockaddr_un address;
    socklen_t len = sizeof address;
    memset(&address, 0, sizeof address);
    printf("%s %s", what, name(getsockname(fd, (struct sockaddr *)&address, &len)));
    printf(" %u %d", len, address.sun_family);
    if (len > 2 && address.sun_path[0] != 0) {
        printf(" %s", address.sun_path);
    }
    printf("\n");
}

static void paths(void) {
    struct place place = at_path("a"), other = at_path("b"), wrong = place;
    int fd = new_socket(SOCK_STREAM), second = new_socket(SOCK_STREAM);
    show("nameless", fd);
    umask(027);
    printf("bind %s", name(bind_to(fd, &place)));
    printf(" again %s", name(bind_to(fd, &other)));
    printf(" taken %s\n", name(bind_to(second, &place)));
    show("path", fd);
    struct stat status;
    printf("stat %s", name(stat("a", &status)));
    printf(" %o %lld\n", status.st_mode, (long long)status.st_size);
    printf("open %s", name(open("a", O_RDWR)));
    printf(" path %s\n", name(open("a", O_PATH)));
    printf("refused %s", name(connect_to(second, &place)));
    close(fd);
    printf(" closed %s", name(connect_to(second, &place)));
    printf(" still %s", name(bind_to(second, &place)));
    printf(" unlink %s", name(unlink("a")));
    printf(" gone %s", name(connect_to(second, &place)));
    printf(" free %s\n", name(bind_to(second, &place)));
    unlink("a");
    close(second);

    fd = new_socket(SOCK_STREAM);
    wrong.address.sun_family = AF_INET;
    printf("family %s", name(bind_to(fd, &wrong)));
    printf(" %s", name(connect_to(fd, &wrong)));
    wrong = place;
    wrong.len = 1;
    printf(" short %s", name(bind_to(fd, &wrong)));
    printf(" %s", name(connect_to(fd, &wrong)));
    wrong.len = 2;
    printf(" none %s", name(connect_to(fd, &wrong)));
    wrong.len = 111;
    printf(" long %s", name(bind_to(fd, &wrong)));
    wrong.len = 129;
    printf(" %s", name(bind_to(fd, &wrong)));
    wrong.len = (socklen_t)-1;
    printf(" %s", name(bind_to(fd, &wrong)));
    printf(" bad %s\n", name(bind(fd, (struct sockaddr *)8, 10)));
    wrong = at_path("none/a");
    printf("directory %s", name(bind_to(fd, &wrong)));
    printf(" %s", name(connect_to(fd, &wrong)));
    wrong = at_path("");
    wrong.len = 4;
    CHECK_EQUAL(close(creat("file", 0600)), 0);
    wrong = at_path("file");
    printf(" file %s", name(connect_to(fd, &wrong)));
    printf(" %s\n", name(bind_to(fd, &wrong)));
    unlink("file");
    // A path of full length has no 0 at its end.
    memset(wrong.address.sun_path, 'x', sizeof wrong.address.sun_path);
    wrong.len = sizeof wrong.address;
    printf("full %s", name(bind_to(fd, &wrong)));
    show("", fd);
    char longest[109] = {0};
    memset(longest, 'x', 108);
    printf("there %s\n", name(unlink(longest)));
    close(fd);
    printf("mknod %s", name(mknod("node", S_IFSOCK | 0644, 0)));
    fd = new_socket(SOCK_STREAM);
    wrong = at_path("node");
    printf(" %s %s\n", name(connect_to(fd, &wrong)), name(unlink("node")));
    close(fd);
    umask(022);
}

// A name goes on to mean the socket when it is moved or linked.
static void moved(void) {
    struct place old = at_path("old"), new = at_path("new"), link_ = at_path("link"), soft = at_path("soft");
    int listener = listen_at(SOCK_STREAM, &old, 5);
    CHECK_EQUAL(link("old", "link"), 0);
    CHECK_EQUAL(symlink("new", "soft"), 0);
    CHECK_EQUAL(rename("old", "new"), 0);
    const struct place *places[] = {&old, &new, &link_, &soft};
    for (int i = 0; i < 4; i++) {
        int fd = new_socket(SOCK_STREAM);
        printf("%d %s\n", i, name(connect_to(fd, places[i])));
        close(fd);
    }
    show("moved", listener);
    close(listener);
    unlink("new"), unlink("link"), unlink("soft");
}

static void abstracts(void) {
    struct place place = at_name("abstract"), longer = place, any = {{.sun_family = AF_UNIX}, 2};
    int fd = new_socket(SOCK_DGRAM), second = new_socket(SOCK_DGRAM);
    printf("abstract %s", name(bind_to(fd, &place)));
    printf(" taken %s", name(bind_to(second, &place)));
    // A 0 more is another name.
    longer.len++;
    printf(" longer %s\n", name(bind_to(second, &longer)));
    printf("connect %s\n", name(connect_to(second, &place)));
    close(fd), close(second);
    fd = new_socket(SOCK_DGRAM), second = new_socket(SOCK_DGRAM);
    printf("free %s", name(bind_to(fd, &place)));
    printf(" again %s", name(bind_to(fd, &any)));
    printf(" any %s", name(bind_to(second, &any)));
    show("", second);
    close(fd), close(second);
}

static void permissions(void) {
    struct place place = at_path("closed");
    int listener = listen_at(SOCK_STREAM, &place, 5), fd = new_socket(SOCK_STREAM);
    chmod("closed", 0);
    bool is_root = geteuid() == 0;
    int result = connect_to(fd, &place);
    printf("permission %d\n", is_root ? result == 0 : result < 0 && errno == EACCES);
    close(fd), close(listener);
    unlink("closed");
}

static void others(void) {
    struct place place = at_path("kind");
    int listener = listen_at(SOCK_STREAM, &place, 5);
    int packets = new_socket(SOCK_SEQPACKET), datagrams_ = new_socket(SOCK_DGRAM);
    printf("kinds %s %s\n", name(connect_to(packets, &place)), name(connect_to(datagrams_, &place)));
    close(packets), close(datagrams_), close(listener);
    unlink("kind");
    static const int types[][2] = {{SOCK_STREAM, 0},
                                   {SOCK_DGRAM, 1},
                                   {SOCK_SEQPACKET, 2},
                                   {SOCK_RAW, 0},
                                   {4, 0},
                                   {11, 0},
                                   {SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}};
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        int fd = socket(AF_UNIX, types[i][0], types[i][1]);
        printf("socket %s", name(fd));
        if (fd >= 0) {
            printf(" %d %x", fcntl(fd, F_GETFD), fcntl(fd, F_GETFL) & O_NONBLOCK);
            close(fd);
        }
        printf("\n");
    }
}

void names(void) {
    paths();
    moved();
    abstracts();
    permissions();
    others();
}
