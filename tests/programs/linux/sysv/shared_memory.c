// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Segments of shared memory.
#define _GNU_SOURCE
#include "sysv.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>

enum { PAGE = 4096 };

static struct shmid_ds stat_of(int id) {
    struct shmid_ds found;
    memset(&found, 0xa5, sizeof found);
    CHECK_EQUAL(shmctl(id, IPC_STAT, &found), 0);
    return found;
}

static unsigned long attached(int id) { return stat_of(id).shm_nattch; }

static char *attach(int id, const void *address, int flags) {
    char *at = shmat(id, address, flags);
    CHECK(at != (char *)-1);
    return at;
}

void segments(void) {
    CHECK_ERRNO(shmget(key, PAGE, 0600), ENOENT);
    int id = shmget(key, 5000, IPC_CREAT | IPC_EXCL | 0640);
    CHECK(id >= 0);
    CHECK_ERRNO(shmget(key, 5000, IPC_CREAT | IPC_EXCL | 0640), EEXIST);
    CHECK_EQUAL(shmget(key, 5000, IPC_CREAT | 0600), id);
    CHECK_EQUAL(shmget(key, 0, 0), id);
    CHECK_EQUAL(shmget(key, 1, IPC_EXCL), id);
    CHECK_ERRNO(shmget(key, 5001, 0), EINVAL);
    CHECK_ERRNO(shmget(IPC_PRIVATE, 0, 0600), EINVAL);
    CHECK_ERRNO(shmget(key + 1, 0, IPC_CREAT | 0600), EINVAL);
    struct shmid_ds new = stat_of(id);
    CHECK_EQUAL(new.shm_perm.__key, key);
    CHECK_EQUAL(new.shm_perm.mode, 0640);
    CHECK_EQUAL(new.shm_perm.uid, geteuid());
    CHECK_EQUAL(new.shm_perm.cgid, getegid());
    CHECK_EQUAL(new.shm_segsz, 5000);
    CHECK_EQUAL(new.shm_cpid, getpid());
    CHECK_EQUAL(new.shm_lpid, 0);
    CHECK(new.shm_atime == 0 && new.shm_dtime == 0 && new.shm_nattch == 0);
    CHECK(new.shm_ctime >= time(NULL) - 60 && new.shm_ctime <= time(NULL) + 1);
    char *one = attach(id, NULL, 0), *two = attach(id, NULL, SHM_RDONLY);
    CHECK(one != two);
    CHECK_EQUAL(attached(id), 2);
    CHECK_EQUAL(one[0], 0);
    strcpy(one + PAGE - 3, "across the pages");
    CHECK(strcmp(two + PAGE - 3, "across the pages") == 0);
    one[2 * PAGE - 1] = 7;
    CHECK_EQUAL(two[2 * PAGE - 1], 7);
    CHECK_ERRNO(mprotect(two, PAGE, PROT_READ | PROT_WRITE), EACCES);
    CHECK_EQUAL(mprotect(one, 2 * PAGE, PROT_READ), 0);
    CHECK_EQUAL(mprotect(one, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
    CHECK_EQUAL(attached(id), 2);
    struct shmid_ds used = stat_of(id);
    CHECK_EQUAL(used.shm_lpid, getpid());
    CHECK(used.shm_atime >= new.shm_ctime &&used.shm_dtime == 0);
    CHECK_EQUAL(shmdt(one), 0);
    CHECK(stat_of(id).shm_dtime >= used.shm_atime);
    CHECK_ERRNO(shmdt(one), EINVAL);
    CHECK_EQUAL(attached(id), 1);
    // The content stays without any mapping.
    CHECK_EQUAL(shmdt(two), 0);
    CHECK_EQUAL(attached(id), 0);
    one = attach(id, NULL, SHM_EXEC);
    CHECK(strcmp(one + PAGE - 3, "across the pages") == 0);
    CHECK_EQUAL(shmdt(one), 0);
    CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
    CHECK_ERRNO(shmctl(id, IPC_RMID, NULL), EINVAL);
    CHECK_ERRNO(shmctl(id, IPC_STAT, &new), EINVAL);
    CHECK_ERRNO((long)shmat(id, NULL, 0), EINVAL);
    CHECK_ERRNO(shmget(key, PAGE, 0600), ENOENT);
}

void places(void) {
    int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
    CHECK(id >= 0);
    char *room = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
    CHECK_ERRNO((long)shmat(id, room + 1, 0), EINVAL);
    CHECK_ERRNO((long)shmat(id, room, 0), EINVAL);
    CHECK_ERRNO((long)shmat(id, NULL, SHM_REMAP), EINVAL);
    CHECK_EQUAL(attached(id), 0);
    CHECK_EQUAL(munmap(room + 4 * PAGE, 4 * PAGE), 0);
    CHECK(attach(id, room + 4 * PAGE, 0) == room + 4 * PAGE);
    CHECK_EQUAL(shmdt(room + 4 * PAGE), 0);
    CHECK(attach(id, room + 5 * PAGE - 1, SHM_RND) == room + 4 * PAGE);
    CHECK_EQUAL(shmdt(room + 4 * PAGE), 0);
    CHECK(attach(id, room + PAGE, SHM_REMAP) == room + PAGE);
    room[PAGE] = 1;
    // It takes the place of itself.
    CHECK(attach(id, room + 2 * PAGE, SHM_REMAP) == room + 2 * PAGE);
    CHECK_EQUAL(attached(id), 2);
    CHECK_EQUAL(room[PAGE], 1);
    CHECK_EQUAL(room[2 * PAGE], 1);
    CHECK_ERRNO((long)shmat(-1, NULL, 0), EINVAL);
    CHECK_ERRNO((long)shmat(id, (void *)0x7ffffffff000, 0), ENOMEM);
    CHECK_ERRNO(shmdt(room + 3), EINVAL);
    CHECK_ERRNO(shmdt(room), EINVAL);
    CHECK_EQUAL(munmap(room, 16 * PAGE), 0);
    CHECK_EQUAL(attached(id), 0);
    CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
}

void parts_of_segments(void) {
    int id = shmget(IPC_PRIVATE, 8 * PAGE, 0600);
    CHECK(id >= 0);
    char *at = attach(id, NULL, 0);
    // Each part counts.
    CHECK_EQUAL(munmap(at + 3 * PAGE, PAGE), 0);
    CHECK_EQUAL(attached(id), 2);
    CHECK_EQUAL(mprotect(at + 6 * PAGE, PAGE, PROT_READ), 0);
    CHECK_EQUAL(attached(id), 4);
    CHECK_EQUAL(munmap(at, PAGE), 0);
    CHECK_EQUAL(attached(id), 4);
    // All that is left goes, wherever it begins.
    CHECK_EQUAL(shmdt(at), 0);
    CHECK_EQUAL(attached(id), 0);
    at = attach(id, NULL, 0);
    CHECK_EQUAL(madvise(at, 8 * PAGE, MADV_DONTNEED), 0);
    CHECK_EQUAL(attached(id), 1);
    at[5 * PAGE] = 3;
    char *moved = mremap(at, 8 * PAGE, 10 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED);
    CHECK_EQUAL(moved[5 * PAGE], 3);
    CHECK_EQUAL(attached(id), 1);
    CHECK_EQUAL(shmdt(moved), 0);
    CHECK_EQUAL(munmap(moved, 10 * PAGE), 0);
    CHECK_EQUAL(attached(id), 0);
    CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
}

// The name of the mapping at an address.
static int is_named(const char *address, const char *name) {
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        CHECK_EQUAL(sscanf(line, "%lx-%lx", &start, &end), 2);
        if (start <= (unsigned long)address && (unsigned long)address < end) {
            found = strstr(line, name) != NULL;
        }
    }
    fclose(maps);
    return found;
}

void removal(void) {
    int id = shmget(key, PAGE, IPC_CREAT | 0600);
    CHECK(id >= 0);
    char *at = attach(id, NULL, 0);
    char name[64];
    snprintf(name, sizeof name, " %d ", id);
    CHECK(is_named(at, name));
    snprintf(name, sizeof name, " /SYSV%08x (deleted)\n", (unsigned)key);
    CHECK(is_named(at, name));
    strcpy(at, "still here");
    CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
    struct shmid_ds doomed = stat_of(id);
    CHECK_EQUAL(doomed.shm_perm.mode, 0600 | SHM_DEST);
    CHECK_EQUAL(doomed.shm_perm.__key, IPC_PRIVATE);
    CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
    CHECK_ERRNO(shmget(key, PAGE, 0600), ENOENT);
    int other = shmget(key, PAGE, IPC_CREAT | 0600);
    CHECK(other >= 0 && other != id);
    // Who knows the id may still have it.
    char *again = attach(id, NULL, 0);
    CHECK(strcmp(again, "still here") == 0);
    CHECK_EQUAL(shmdt(at), 0);
    CHECK(strcmp(again, "still here") == 0);
    CHECK_EQUAL(mprotect(again, PAGE, PROT_READ), 0);
    CHECK_EQUAL(attached(id), 1);
    CHECK_EQUAL(shmdt(again), 0);
    CHECK_ERRNO(shmctl(id, IPC_STAT, &doomed), EINVAL);
    CHECK_EQUAL(shmctl(other, IPC_RMID, NULL), 0);
}

static int shared_id;
static char *shared_at;

static void inherits(void) {
    CHECK_EQUAL(attached(shared_id), 2);
    CHECK_EQUAL(shared_at[0], 1);
    shared_at[0] = 2;
    char *more = attach(shared_id, NULL, SHM_RDONLY);
    CHECK_EQUAL(more[0], 2);
    CHECK_EQUAL(attached(shared_id), 3);
}

static void becomes_another(void) {
    execl("/bin/true", "true", NULL);
    _exit(1);
}

static void is_killed(void) {
    shared_at[0] = 3;
    kill(getpid(), SIGKILL);
}

static void *ends_last(void *unused) {
    usleep(20000);
    _exit(0);
    return unused;
}

static void ends_by_a_thread(void) {
    pthread_t other;
    CHECK_EQUAL(pthread_create(&other, NULL, ends_last, NULL), 0);
    // Only this thread: C libraries do not agree what their function means in a child.
    syscall(SYS_exit, 0);
}

void segments_of_processes(void) {
    shared_id = shmget(IPC_PRIVATE, 64 * PAGE, 0600);
    CHECK(shared_id >= 0);
    shared_at = attach(shared_id, NULL, 0);
    shared_at[0] = 1;
    pid_t child = in_child(inherits, 0);
    expect_end(child);
    CHECK_EQUAL(shared_at[0], 2);
    CHECK_EQUAL(attached(shared_id), 1);
    CHECK_EQUAL(stat_of(shared_id).shm_lpid, child);
    expect_end(in_child(becomes_another, 0));
    CHECK_EQUAL(attached(shared_id), 1);
    child = in_child(ends_by_a_thread, 0);
    expect_end(child);
    CHECK_EQUAL(attached(shared_id), 1);
    CHECK_EQUAL(stat_of(shared_id).shm_lpid, child);
    child = in_child(is_killed, 0);
    int status = 0;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQUAL(shared_at[0], 3);
    CHECK_EQUAL(attached(shared_id), 1);
    // The last process takes a removed segment along.
    CHECK_EQUAL(shmctl(shared_id, IPC_RMID, NULL), 0);
    int pipes[2];
    CHECK_EQUAL(pipe(pipes), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        CHECK_EQUAL(read(pipes[0], &byte, 1), 1);
        CHECK_EQUAL(attached(shared_id), 1);
        _exit(shared_at[0]);
    }
    CHECK_EQUAL(shmdt(shared_at), 0);
    CHECK_EQUAL(write(pipes[1], "x", 1), 1);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(WEXITSTATUS(status), 3);
    struct shmid_ds gone;
    CHECK_ERRNO(shmctl(shared_id, IPC_STAT, &gone), EINVAL);
    close(pipes[0]);
    close(pipes[1]);
}

static void may_read(void) {
    struct shmid_ds found;
    CHECK_EQUAL(shmget(key, 0, 0444), shared_id);
    CHECK_ERRNO(shmget(key, 0, 0666), EACCES);
    CHECK_EQUAL(shmctl(shared_id, IPC_STAT, &found), 0);
    char *at = attach(shared_id, NULL, SHM_RDONLY);
    CHECK_EQUAL(at[0], 5);
    CHECK_ERRNO((long)shmat(shared_id, NULL, 0), EACCES);
    CHECK_ERRNO((long)shmat(shared_id, NULL, SHM_RDONLY | SHM_EXEC), EACCES);
    CHECK_ERRNO(shmctl(shared_id, IPC_SET, &found), EPERM);
    CHECK_ERRNO(shmctl(shared_id, IPC_RMID, NULL), EPERM);
    CHECK_ERRNO(shmctl(shared_id, SHM_LOCK, NULL), EPERM);
}

static void may_do_all(void) {
    CHECK_EQUAL(shmget(key, 0, 0666), shared_id);
    attach(shared_id, NULL, 0)[0] = 6;
    CHECK_ERRNO((long)shmat(shared_id, NULL, SHM_EXEC), EACCES);
    struct shmid_ds found = stat_of(shared_id);
    found.shm_perm.mode = 0604;
    CHECK_EQUAL(shmctl(shared_id, IPC_SET, &found), 0);
}

static void may_nothing(void) {
    struct shmid_ds found;
    CHECK_ERRNO(shmctl(shared_id, IPC_STAT, &found), EACCES);
    CHECK_ERRNO((long)shmat(shared_id, NULL, SHM_RDONLY), EACCES);
    CHECK_EQUAL(shmget(key, 0, 0), shared_id);
    CHECK_ERRNO(shmget(key, 0, 0400), EACCES);
}

void segments_of_others(void) {
    if (geteuid() != 0) {
        // Only the superuser becomes others.
        return;
    }
    shared_id = shmget(key, PAGE, IPC_CREAT | 0644);
    CHECK(shared_id >= 0);
    attach(shared_id, NULL, 0)[0] = 5;
    expect_end(in_child(may_read, 1234));
    struct shmid_ds found = stat_of(shared_id);
    found.shm_perm.uid = 1234;
    found.shm_perm.mode = 0600;
    CHECK_EQUAL(shmctl(shared_id, IPC_SET, &found), 0);
    expect_end(in_child(may_do_all, 1234));
    found = stat_of(shared_id);
    CHECK_EQUAL(found.shm_perm.mode, 0604);
    CHECK_EQUAL(found.shm_perm.cuid, 0);
    found.shm_perm.mode = 0600;
    CHECK_EQUAL(shmctl(shared_id, IPC_SET, &found), 0);
    expect_end(in_child(may_nothing, 1235));
    found.shm_perm.uid = (uid_t)-1;
    CHECK_ERRNO(shmctl(shared_id, IPC_SET, &found), EINVAL);
    CHECK_EQUAL(shmctl(shared_id, IPC_RMID, NULL), 0);
}

void segment_limits(void) {
    struct shminfo limits;
    struct shm_info used;
    CHECK(shmctl(0, IPC_INFO, (struct shmid_ds *)&limits) >= 0);
    CHECK_EQUAL(limits.shmmin, 1);
    CHECK_EQUAL(limits.shmmni, 4096);
    CHECK_EQUAL(limits.shmmax, ULONG_MAX - (1UL << 24));
    CHECK_EQUAL(limits.shmall, ULONG_MAX - (1UL << 24));
    CHECK_ERRNO(shmget(IPC_PRIVATE, ULONG_MAX, 0600), EINVAL);
    CHECK_ERRNO(shmget(IPC_PRIVATE, 1UL << 45, 0600), ENOMEM);
    int id = shmget(IPC_PRIVATE, 3 * PAGE + 1, 0600);
    CHECK(id >= 0);
    attach(id, NULL, 0)[0] = 1;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&used);
    CHECK(last >= 0 && used.used_ids >= 1 && used.shm_tot >= 4 && used.shm_rss >= 1);
    int found = 0;
    for (int index = 0; index <= last; index++) {
        struct shmid_ds entry;
        found += shmctl(index, SHM_STAT, &entry) == id && entry.shm_segsz == 3 * PAGE + 1;
        found += shmctl(index, SHM_STAT_ANY, &entry) == id;
    }
    CHECK_EQUAL(found, 2);
    struct shmid_ds entry;
    CHECK_ERRNO(shmctl(32767, SHM_STAT, &entry), EINVAL);
    CHECK_ERRNO(shmctl(-1, IPC_INFO, &entry), EINVAL);
    CHECK_EQUAL(shmctl(id, SHM_LOCK, NULL), 0);
    CHECK_EQUAL(stat_of(id).shm_perm.mode, 0600 | SHM_LOCKED);
    CHECK_EQUAL(shmctl(id, SHM_UNLOCK, NULL), 0);
    CHECK_EQUAL(stat_of(id).shm_perm.mode, 0600);
    CHECK_ERRNO(shmctl(id, 99, &entry), EINVAL);
    CHECK_ERRNO(syscall(SYS_shmctl, id, IPC_STAT, 8), EFAULT);
    CHECK_ERRNO(syscall(SYS_shmctl, id, IPC_SET, 8), EFAULT);
    CHECK_EQUAL(shmctl(id, IPC_RMID, NULL), 0);
    // Segments that are used again have other ids.
    int ids[64];
    for (int i = 0; i < 64; i++) {
        ids[i] = shmget(IPC_PRIVATE, PAGE, 0600);
        CHECK(ids[i] >= 0 && ids[i] != id);
    }
    for (int i = 0; i < 64; i++) {
        CHECK_EQUAL(shmctl(ids[i], IPC_RMID, NULL), 0);
    }
}
