// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is not issued as it was chosen: signals to the parent and to other people's processes, the end of the
// machine, in ring 0 whatever makes the program go on at an address that a call has written, and on a Linux
// that others use everything that is not in the table.
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// Objects outlive the program, and may be those of others.
static int is_about_objects(uint64_t number) {
    return (number >= SYS_shmget && number <= SYS_shmctl) || (number >= SYS_semget && number <= SYS_msgctl) ||
           number == SYS_semtimedop;
}

// Own, or nobody's.
static int is_mine(const struct worker *worker, uint64_t process) {
    int32_t id = (int32_t)process;
    return id == worker->process || id == worker->thread || id == -worker->process ||
           (id > 0 && id == worker->child) || id >= 99999999 || id < -99999999;
}

static void make_mine(const struct worker *worker, uint64_t *process) {
    if (!is_mine(worker, *process)) {
        *process = (uint64_t)worker->process;
    }
}

// Calls about a process that change it, or that give a hold on it.
static void steer_process(const struct worker *worker, uint64_t number, uint64_t *arguments) {
    switch (number) {
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
    case SYS_setpgid:
        make_mine(worker, &arguments[1]);
        make_mine(worker, &arguments[0]);
        break;
    case SYS_kill:
    case SYS_tkill:
    case SYS_rt_sigqueueinfo:
    case SYS_pidfd_open:
    case SYS_prlimit64:
    case SYS_sched_setaffinity:
    case SYS_sched_setparam:
    case SYS_sched_setscheduler:
    case SYS_process_vm_writev:
    case SYS_migrate_pages:
    case SYS_move_pages:
        make_mine(worker, &arguments[0]);
        break;
    case SYS_setpriority:
        arguments[0] &= 1;
        make_mine(worker, &arguments[1]);
        break;
    case SYS_fcntl:
        // Owners get signals.
        if ((uint32_t)arguments[1] == F_SETOWN || (uint32_t)arguments[1] == 15) {
            arguments[1] = F_GETFL;
        }
        break;
    case SYS_ioctl:
        if ((uint32_t)arguments[1] == 0x8901 || (uint32_t)arguments[1] == 0x8902) {
            arguments[1] = 0x541b;
        }
        break;
    default:
        break;
    }
}

// Children begin where the caller is: on its stack only if they have a copy of it or the caller waits.
static void steer_clone(const struct worker *worker, uint64_t *flags, uint64_t *stack, uint64_t *size) {
    if (worker->tameness != WILD && (*flags & CLONE_VM) != 0 && (*flags & CLONE_VFORK) == 0 && *stack == 0) {
        *stack = (uint64_t)clone_stack() + (size == NULL ? SPARE_BYTES : 0);
        if (size != NULL) {
            *size = SPARE_BYTES;
        }
    }
    *flags &= ~(uint64_t)CLONE_SETTLS;
    // What the parent cannot find, it cannot end.
    *flags &=
        ~(uint64_t)(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}

static int is_in_stage(const struct worker *worker, uint64_t address) {
    return address - (uint64_t)worker->stage < STAGE_BYTES;
}

// Numbers whose pointers are only those of the table: what they point to becomes code that runs.
static int needs_table(uint64_t number) {
    return number == SYS_rt_sigaction || number == SYS_sigaltstack || number == SYS_clone ||
           number == SYS_clone3 || number == SYS_execve || number == SYS_execveat || number == SYS_rseq ||
           number == SYS_arch_prctl || number == SYS_mmap || number == SYS_mprotect || number == SYS_mremap ||
           number == SYS_munmap || number == SYS_remap_file_pages || number == SYS_shmat ||
           number == SYS_fork || number == SYS_vfork;
}

// The program's own code and data, which lie below the arena, stay as they are: zeros are instructions, too.
static void steer_mapping(const struct worker *worker, uint64_t number, uint64_t *arguments) {
    int maps = number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect || number == SYS_mremap;
    if (worker->tameness == WILD) {
        return;
    }
    if (number == SYS_shmat && arguments[1] < (uint64_t)ARENA) {
        arguments[1] = 0;
    }
    if (!maps) {
        return;
    }
    if (arguments[0] < (uint64_t)ARENA) {
        arguments[0] = number == SYS_mmap ? 0 : (uint64_t)ARENA;
        arguments[3] &= number == SYS_mmap ? ~(uint64_t)MAP_FIXED : (uint64_t)-1;
    }
    if (number == SYS_mremap && arguments[4] < (uint64_t)ARENA) {
        arguments[4] = (uint64_t)ARENA;
    }
}

// Files are in memory, and what takes all of it takes it from the other processes, too; mappings may be
// filled at once.
static void steer_length(uint64_t number, uint64_t *arguments) {
    enum { MOST = 1 << 20, MOST_MAPPED = 1 << 25, MOST_BREAK = 1 << 27 };
    if (number == SYS_mmap && arguments[1] >> 46 == 0) {
        arguments[1] %= MOST_MAPPED;
    } else if (number == SYS_mremap && arguments[2] >> 46 == 0) {
        arguments[2] %= MOST_MAPPED;
    } else if (number == SYS_brk && arguments[0] >= MOST_BREAK) {
        arguments[0] = 0;
    }
    if (number == SYS_sendfile) {
        arguments[3] %= MOST;
    } else if (number == SYS_copy_file_range || number == SYS_splice) {
        arguments[4] %= MOST;
    } else if (number == SYS_fallocate && arguments[3] >> 40 == 0) {
        arguments[3] %= MOST;
    }
}

int steer(const struct worker *worker, uint64_t *number, uint64_t *arguments) {
    const struct call *known = find_call(*number);
    if (*number == SYS_reboot ||
        (worker->tameness == HARMLESS && (known == NULL || is_about_objects(*number)))) {
        return 0;
    }
    if (worker->tameness != WILD &&
        (*number == SYS_rt_sigreturn || (known == NULL && needs_table(*number)))) {
        return 0;
    }
    steer_process(worker, *number, arguments);
    steer_mapping(worker, *number, arguments);
    steer_length(*number, arguments);
    if (*number == SYS_clone) {
        steer_clone(worker, &arguments[0], &arguments[1], NULL);
    }
    if (*number == SYS_clone3 && is_in_stage(worker, arguments[0])) {
        uint64_t *made = (uint64_t *)arguments[0];
        steer_clone(worker, &made[0], &made[5], &made[6]);
    }
    return 1;
}

int keeps_table(const struct worker *worker, uint64_t number) {
    return worker->tameness == HARMLESS || (worker->tameness == TAME && needs_table(number));
}
