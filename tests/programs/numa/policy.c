// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory policies: arguments and errors, and where pages come from and go to.
//
//   policy        what is the same on every machine
//   policy ZONES  expects that many zones; pages are where policies want them

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../common/check.h"

#define PAGE 4096L

enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY };
enum { STATIC_NODES = 1 << 15, RELATIVE_NODES = 1 << 14 };
enum { F_NODE = 1, F_ADDR = 2, F_MEMS_ALLOWED = 4 };
enum { MF_STRICT = 1, MF_MOVE = 2 };
enum { BITS = 64 };

typedef unsigned long mask;

static long set(int mode, const mask *nodes, mask max) {
    return syscall(SYS_set_mempolicy, mode, nodes, max);
}

static long get(int *mode, mask *nodes, mask max, const void *at, unsigned flags) {
    return syscall(SYS_get_mempolicy, mode, nodes, max, at, flags);
}

static long bind_to(void *at, long pages, int mode, const mask *nodes, unsigned flags) {
    return syscall(SYS_mbind, at, (mask)(pages * PAGE), mode, nodes, (mask)(nodes == NULL ? 0 : BITS + 1),
                   flags);
}

static char *map(long pages) {
    char *at = mmap(NULL, (size_t)(pages * PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    CHECK_EQUAL(madvise(at, (size_t)(pages * PAGE), MADV_NOHUGEPAGE), 0);
    return at;
}

static void expect(const void *at, int mode, mask nodes) {
    int found = -1;
    mask mask_found = 0;
    CHECK_EQUAL(get(&found, &mask_found, BITS, at, at == NULL ? 0 : F_ADDR), 0);
    CHECK_EQUAL(found, mode);
    CHECK_EQUAL(mask_found, nodes);
}

static void of_thread(void) {
    mask zero = 1, none = 0;
    expect(NULL, DEFAULT, 0);
    CHECK_EQUAL(set(BIND, &zero, BITS), 0);
    expect(NULL, BIND, 1);
    CHECK_EQUAL(set(PREFERRED, &zero, BITS), 0);
    expect(NULL, PREFERRED, 1);
    CHECK_EQUAL(set(INTERLEAVE, &zero, BITS), 0);
    expect(NULL, INTERLEAVE, 1);
    CHECK_EQUAL(set(PREFERRED_MANY, &zero, BITS), 0);
    expect(NULL, PREFERRED_MANY, 1);
    CHECK_EQUAL(set(LOCAL, NULL, 0), 0);
    expect(NULL, LOCAL, 0);
    CHECK_EQUAL(set(PREFERRED, &none, BITS), 0);
    expect(NULL, LOCAL, 0);
    CHECK_EQUAL(set(PREFERRED, NULL, 0), 0);
    expect(NULL, LOCAL, 0);
    CHECK_EQUAL(set(BIND | STATIC_NODES, &zero, BITS), 0);
    expect(NULL, BIND | STATIC_NODES, 1);
    CHECK_EQUAL(set(DEFAULT, NULL, 0), 0);
    CHECK_EQUAL(set(DEFAULT, &none, BITS), 0);
    expect(NULL, DEFAULT, 0);
    int node = -1;
    CHECK_ERRNO(get(&node, NULL, 0, NULL, F_NODE), EINVAL);
    CHECK_EQUAL(set(INTERLEAVE, &zero, BITS), 0);
    CHECK_EQUAL(get(&node, NULL, 0, NULL, F_NODE), 0);
    CHECK_EQUAL(node, 0);
    CHECK_EQUAL(set(DEFAULT, NULL, 0), 0);
}

static void errors(void) {
    mask zero = 1, none = 0, far = 1UL << 63, many[16] = {1};
    CHECK_ERRNO(set(7, &zero, BITS), EINVAL);
    CHECK_ERRNO(set(-1, &zero, BITS), EINVAL);
    CHECK_ERRNO(set(DEFAULT, &zero, BITS), EINVAL);
    CHECK_ERRNO(set(BIND, &none, BITS), EINVAL);
    CHECK_ERRNO(set(BIND, NULL, 0), EINVAL);
    CHECK_ERRNO(set(INTERLEAVE, &none, BITS), EINVAL);
    CHECK_ERRNO(set(LOCAL, &zero, BITS), EINVAL);
    CHECK_ERRNO(set(BIND, &far, BITS + 1), EINVAL);
    CHECK_ERRNO(set(BIND | STATIC_NODES | RELATIVE_NODES, &zero, BITS), EINVAL);
    CHECK_ERRNO(set(PREFERRED | STATIC_NODES, &none, BITS), EINVAL);
    CHECK_ERRNO(set(BIND, (mask *)8, BITS), EFAULT);
    CHECK_ERRNO(set(BIND, &zero, 32770), EINVAL);
    // The last bit does not count.
    CHECK_ERRNO(set(BIND, &zero, 1), EINVAL);
    CHECK_EQUAL(set(BIND, &zero, 2), 0);
    CHECK_EQUAL(set(BIND, many, 1024), 0);
    many[15] = 0;
    CHECK_EQUAL(set(DEFAULT, NULL, 0), 0);
    int mode;
    mask found[4] = {9, 9, 9, 9};
    char here;
    CHECK_ERRNO(get(&mode, found, BITS, NULL, 8), EINVAL);
    CHECK_ERRNO(get(&mode, found, BITS, &here, 0), EINVAL);
    CHECK_ERRNO(get(&mode, found, 0, NULL, 0), EINVAL);
    CHECK_ERRNO(get(&mode, found, BITS, (void *)8, F_ADDR), EFAULT);
    CHECK_ERRNO(get((int *)8, NULL, 0, NULL, 0), EFAULT);
    CHECK_ERRNO(get(&mode, found, BITS, NULL, F_MEMS_ALLOWED | F_NODE), EINVAL);
    CHECK_EQUAL(get(NULL, found, 3 * BITS, NULL, F_MEMS_ALLOWED), 0);
    CHECK(found[0] & 1);
    CHECK_EQUAL(found[1] | found[2], 0);
    CHECK_EQUAL(found[3], 9);
    CHECK_EQUAL(get(NULL, NULL, 0, NULL, 0), 0);
}

static void of_mapping(void) {
    mask zero = 1;
    char *at = map(10);
    expect(at, DEFAULT, 0);
    CHECK_EQUAL(bind_to(at + 2 * PAGE, 3, BIND, &zero, 0), 0);
    expect(at, DEFAULT, 0);
    expect(at + 2 * PAGE, BIND, 1);
    expect(at + 4 * PAGE, BIND, 1);
    expect(at + 5 * PAGE, DEFAULT, 0);
    CHECK_EQUAL(bind_to(at + 3 * PAGE, 1, INTERLEAVE, &zero, MF_STRICT | MF_MOVE), 0);
    expect(at + 3 * PAGE, INTERLEAVE, 1);
    CHECK_ERRNO(bind_to(at + 1, 1, BIND, &zero, 0), EINVAL);
    CHECK_ERRNO(bind_to(at, 1, BIND, &zero, 16), EINVAL);
    CHECK_ERRNO(bind_to(at, 1, BIND, NULL, 0), EINVAL);
    CHECK_EQUAL(bind_to(at, 0, BIND, &zero, 0), 0);
    CHECK_EQUAL(munmap(at + 7 * PAGE, PAGE), 0);
    CHECK_ERRNO(bind_to(at, 10, BIND, &zero, 0), EFAULT);
    expect(at, DEFAULT, 0);
    CHECK_EQUAL(bind_to(at, 10, DEFAULT, NULL, 0), 0);
    expect(at + 3 * PAGE, DEFAULT, 0);
    // Where nothing is mapped, the kernel's addresses among them.
    CHECK_ERRNO(bind_to(at + 7 * PAGE, 1, DEFAULT, NULL, 0), EFAULT);
    for (mask half = 0xffff800000000000; half < 0xfffffffffff00000; half = half / 2 | 1ul << 63) {
        CHECK_ERRNO(bind_to((void *)(half + 0x100000), 1, DEFAULT, NULL, 0), EFAULT);
        CHECK_ERRNO(bind_to((void *)(half + 0x100000), 1, BIND, &zero, 0), EFAULT);
    }
    // Where a page is; asking touches it.
    int node = -1;
    CHECK_EQUAL(get(&node, NULL, 0, at, F_NODE | F_ADDR), 0);
    CHECK(node >= 0);
#ifdef SYS_set_mempolicy_home_node
    CHECK_ERRNO(syscall(SYS_set_mempolicy_home_node, at, PAGE, 0, 0), ENOENT);
    CHECK_EQUAL(bind_to(at, 2, INTERLEAVE, &zero, 0), 0);
    CHECK_ERRNO(syscall(SYS_set_mempolicy_home_node, at, PAGE, 0, 0), EOPNOTSUPP);
    CHECK_EQUAL(bind_to(at, 2, BIND, &zero, 0), 0);
    CHECK_EQUAL(syscall(SYS_set_mempolicy_home_node, at, 2 * PAGE, 0, 0), 0);
    CHECK_ERRNO(syscall(SYS_set_mempolicy_home_node, at, PAGE, 1000, 0), EINVAL);
    CHECK_ERRNO(syscall(SYS_set_mempolicy_home_node, at, PAGE, 0, 1), EINVAL);
    CHECK_ERRNO(syscall(SYS_set_mempolicy_home_node, at + 1, PAGE, 0, 0), EINVAL);
#endif
    munmap(at, 10 * PAGE);
}

static void places(void) {
    char *at = map(4);
    at[0] = 1;
    void *pages[4] = {at, at + PAGE, at + 100, (void *)8};
    int status[4] = {7, 7, 7, 7}, nodes[4] = {0, 0, 0, 0}, bad[1] = {5000};
    CHECK_EQUAL(syscall(SYS_move_pages, 0, 4L, pages, NULL, status, 0), 0);
    CHECK(status[0] >= 0);
    CHECK_EQUAL(status[1], -ENOENT);
    CHECK_EQUAL(status[2], status[0]);
    CHECK_EQUAL(status[3], -EFAULT);
    CHECK_EQUAL(syscall(SYS_move_pages, getpid(), 4L, pages, nodes, status, MF_MOVE), 0);
    CHECK_EQUAL(status[0], 0);
    CHECK_EQUAL(status[1], -ENOENT);
    CHECK_EQUAL(at[0], 1);
    CHECK_ERRNO(syscall(SYS_move_pages, 0, 1L, pages, bad, status, MF_MOVE), ENODEV);
    CHECK_ERRNO(syscall(SYS_move_pages, 0, 1L, pages, nodes, status, 1), EINVAL);
    CHECK_ERRNO(syscall(SYS_move_pages, 0, 1L, (void *)8, nodes, status, MF_MOVE), EFAULT);
    CHECK_ERRNO(syscall(SYS_move_pages, 0, 1L, pages, NULL, (void *)8, 0), EFAULT);
    CHECK_ERRNO(syscall(SYS_move_pages, 999999, 1L, pages, NULL, status, 0), ESRCH);
    CHECK_EQUAL(syscall(SYS_move_pages, 0, 0L, NULL, NULL, NULL, 0), 0);
    mask zero = 1, none = 0;
    CHECK_EQUAL(syscall(SYS_migrate_pages, 0, BITS, &zero, &zero), 0);
    CHECK_ERRNO(syscall(SYS_migrate_pages, 0, BITS, &zero, &none), EINVAL);
    CHECK_ERRNO(syscall(SYS_migrate_pages, 999999, BITS, &zero, &zero), ESRCH);
    CHECK_ERRNO(syscall(SYS_migrate_pages, 0, BITS, (void *)8, &zero), EFAULT);
    munmap(at, 4 * PAGE);
}

// With several zones.

static int zone_of(void *page) {
    int status = -1;
    CHECK_EQUAL(syscall(SYS_move_pages, 0, 1L, &page, NULL, &status, 0), 0);
    return status;
}

static void touch(char *at, long pages) {
    for (long page = 0; page < pages; page++) {
        at[page * PAGE] = (char)page;
    }
}

static long in_zone(char *at, long pages, int zone) {
    long count = 0;
    for (long page = 0; page < pages; page++) {
        count += zone_of(at + page * PAGE) == zone;
    }
    return count;
}

static volatile int stop;
static volatile long *counter;
static long counted;

static void *count(void *argument) {
    (void)argument;
    while (!stop) {
        *counter += 1;
        __atomic_store_n(&counted, counted + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

// Nobody sees the page as it was before a move.
static void *look(void *argument) {
    (void)argument;
    while (!stop) {
        long least = __atomic_load_n(&counted, __ATOMIC_ACQUIRE);
        CHECK(*counter >= least);
    }
    return NULL;
}

// Moves a page while one thread writes to it and another one reads.
static void under_writes(char *at, int rounds, int count_of_zones) {
    counter = (volatile long *)at;
    *counter = 0;
    counted = 0;
    stop = 0;
    pthread_t writer, reader;
    CHECK_EQUAL(pthread_create(&writer, NULL, count, NULL), 0);
    CHECK_EQUAL(pthread_create(&reader, NULL, look, NULL), 0);
    void *page = at;
    int moves = 0;
    for (int round = 0; round < rounds; round++) {
        int node = round % count_of_zones, status = -1;
        long failed = syscall(SYS_move_pages, 0, 1L, &page, &node, &status, MF_MOVE);
        CHECK(failed >= 0);
        moves += failed == 0 && status == node;
    }
    stop = 1;
    CHECK_EQUAL(pthread_join(writer, NULL), 0);
    CHECK_EQUAL(pthread_join(reader, NULL), 0);
    CHECK_EQUAL(*counter, counted);
    CHECK(moves > 0);
}

static void shown(const char *at, const char *wanted) {
    char line[512], address[32];
    snprintf(address, sizeof address, "%08lx ", (unsigned long)at);
    FILE *file = fopen("/proc/self/numa_maps", "r");
    CHECK(file != NULL);
    int found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, address, strlen(address)) == 0) {
            found = strncmp(line + strlen(address), wanted, strlen(wanted)) == 0;
        }
    }
    fclose(file);
    CHECK(found);
}

static void zones(int count_of_zones) {
    mask all = (1UL << count_of_zones) - 1, found = 0, last = 1UL << (count_of_zones - 1);
    CHECK_EQUAL(get(NULL, &found, BITS, NULL, F_MEMS_ALLOWED), 0);
    CHECK_EQUAL(found, all);
    mask beyond = 1UL << count_of_zones;
    CHECK_ERRNO(set(BIND, &beyond, BITS), EINVAL);
    for (int zone = 0; zone < count_of_zones; zone++) {
        mask one = 1UL << zone;
        char *at = map(40);
        CHECK_EQUAL(bind_to(at, 20, BIND, &one, 0), 0);
        CHECK_EQUAL(bind_to(at + 20 * PAGE, 20, PREFERRED, &one, 0), 0);
        touch(at, 40);
        CHECK_EQUAL(in_zone(at, 40, zone), 40);
        char text[96];
        snprintf(text, sizeof text, "bind:%d anon=20 dirty=20 N%d=20 kernelpagesize_kB=4", zone, zone);
        shown(at, text);
        munmap(at, 40 * PAGE);
        CHECK_EQUAL(set(BIND, &one, BITS), 0);
        at = map(20);
        touch(at, 20);
        CHECK_EQUAL(set(DEFAULT, NULL, 0), 0);
        CHECK_EQUAL(in_zone(at, 20, zone), 20);
        munmap(at, 20 * PAGE);
    }
    printf("bound\n");
    // In turn, by address and by thread; large pages, too.
    char *at = map(64);
    CHECK_EQUAL(bind_to(at, 64, INTERLEAVE, &all, 0), 0);
    touch(at, 64);
    CHECK_EQUAL(set(INTERLEAVE, &all, BITS), 0);
    char *other = map(64);
    touch(other, 64);
    CHECK_EQUAL(set(DEFAULT, NULL, 0), 0);
    for (int zone = 0; zone < count_of_zones; zone++) {
        CHECK_EQUAL(in_zone(at, 64, zone), 64 / count_of_zones);
        long share = in_zone(other, 64, zone);
        CHECK(share >= 64 / count_of_zones - 8 && share <= 64 / count_of_zones + 8);
    }
    munmap(other, 64 * PAGE);
    printf("in turn\n");
    // Moving keeps the content.
    CHECK_EQUAL(bind_to(at, 64, BIND, &last, MF_MOVE | MF_STRICT), 0);
    CHECK_EQUAL(in_zone(at, 64, count_of_zones - 1), 64);
    for (long page = 0; page < 64; page++) {
        CHECK_EQUAL(at[page * PAGE], page);
    }
    mask first = 1;
    if (count_of_zones > 1) {
        CHECK_ERRNO(bind_to(at, 64, BIND, &first, MF_STRICT), EIO);
        expect(at, BIND, last);
    }
    CHECK_EQUAL(syscall(SYS_migrate_pages, 0, BITS, &last, &first), 0);
    CHECK_EQUAL(in_zone(at, 64, 0), 64);
    for (long page = 0; page < 64; page++) {
        CHECK_EQUAL(at[page * PAGE], page);
    }
    munmap(at, 64 * PAGE);
    char *large = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(large != MAP_FAILED);
    memset(large, 5, 8 << 20);
    CHECK_EQUAL(bind_to(large, 2048, BIND, &last, MF_MOVE | MF_STRICT), 0);
    CHECK_EQUAL(in_zone(large, 2048, count_of_zones - 1), 2048);
    for (long byte = 0; byte < 8 << 20; byte += 511) {
        CHECK_EQUAL(large[byte], 5);
    }
    printf("moved\n");
    under_writes(map(1), 200, count_of_zones);
    under_writes(large + (4 << 20), 40, count_of_zones);
    munmap(large, 8 << 20);
    printf("moved under writes\n");
}

int main(int argc, char **argv) {
    if (argc > 1) {
        zones(atoi(argv[1]));
        return 0;
    }
    static const struct part parts[] = {
        {"thread", of_thread},
        {"errors", errors},
        {"mapping", of_mapping},
        {"places", places},
    };
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
