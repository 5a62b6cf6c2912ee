// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list of all benchmarks but those of OpenMP. The last word of each says what lies between the two readings of a sample.

use super::Machine::{Eight, Host, HostZones, One, OneAndTwo, Steps, Turns, Two};
use super::{Benchmark, How, both, path, time};

/// In the order of tables.
pub(super) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        how: How::BootPath,
        ..path(
            "boot.entry_to_main",
            "",
            Steps,
            "instructions of all CPUs from the kernel's entry to the program's first one",
        )
    },
    Benchmark {
        how: How::BootTime,
        ..time("boot.time", "", Steps, "a dynamic hello, from the command to its end")
    },
    Benchmark {
        how: How::Heat,
        ..time(
            "openmp.heat",
            "",
            Host,
            "1000 steps of examples/heat on all CPUs: what it computes, not how it starts",
        )
    },
    both("syscall.getppid", "syscall", Host, "the shortest system call: ring 0 on Hadal, ring 3 on Linux"),
    both(
        "thread.create",
        "thread",
        Host,
        "the call that creates a thread that may use libc, with the slot of one that has ended; Linux: pthread_create \
         with a stack that glibc has kept",
    ),
    both(
        "thread.create_first",
        "slots",
        Host,
        "the same for the first thread of a program, with nothing to use again: one sample a run",
    ),
    both(
        "thread.create_4096th",
        "slots",
        Host,
        "the same for the 4033rd to the 4096th thread while all others live",
    ),
    both("thread.create_bare", "thread", Host, "as thread.create, without libc's part"),
    both(
        "thread.create_tls",
        "thread",
        Host,
        "what libc's part adds to creating and joining: the difference of two pairs",
    ),
    both("thread.create_join", "thread", Host, "create a thread with an empty function and join it"),
    both("thread.create_join_bare", "thread", Host, "the same without libc's part"),
    both(
        "thread.fork_join",
        "thread",
        Host,
        "fork the calling function and join the child; Linux: create and join",
    ),
    both("thread.sequence", "thread", Host, "create N threads, join them all: per thread"),
    both(
        "thread.yield",
        "thread",
        Host,
        "one switch between two threads of a CPU, caller-saved registers lost",
    ),
    both("thread.yield_fpu", "thread", Host, "one switch that keeps every register; Linux: sched_yield"),
    both("sync.spin", "sync", Host, "lock and unlock a free spin lock; Linux: pthread_spin_lock"),
    both("sync.ticket", "sync", Host, "lock and unlock a free ticket lock; the same source on Linux"),
    both("sync.mcs", "sync", Host, "lock and unlock a free MCS lock; the same source on Linux"),
    both("sync.mutex", "sync", Host, "lock and unlock a free mutex; Linux: pthread_mutex_lock"),
    time("sync.spin_contended", "sync", Host, "a turn in a spin lock that all CPUs want"),
    time("sync.ticket_contended", "sync", Host, "a turn in a ticket lock that all CPUs want"),
    time("sync.mcs_contended", "sync", Host, "a turn in an MCS lock that all CPUs want"),
    time("sync.mutex_contended", "sync", Host, "a turn in a mutex that all CPUs want"),
    time(
        "event.ipi",
        "event",
        Host,
        "raw IPI from the call to its handler's first instruction: the limit (1 CPU: to itself); Linux: no IPI but \
         libhrt-linux, a signal to a thread that sleeps on that CPU",
    )
    .with_path(OneAndTwo),
    time(
        "event.ipi_halted",
        "event",
        Host,
        "raw IPI to a CPU that has halted: idle for 300 us, the limit of event.condvar_halted; Linux: as event.ipi",
    ),
    path("event.ipi_send", "event", One, "of that, the sender's part: the call"),
    path(
        "event.ipi_receive",
        "event",
        One,
        "of that, the receiver's part: from interrupts on, through the handler and back to the program",
    ),
    time(
        "event.notify",
        "event",
        Host,
        "active message from the call to its action's first instruction, each CPU in turn (1 CPU: to itself); Linux: no \
         interrupt but libhrt-linux, a futex wake-up of a thread that sleeps on that CPU",
    )
    .with_path(OneAndTwo),
    path("event.notify_send", "event", One, "of that, the sender's part: the call"),
    path(
        "event.notify_receive",
        "event",
        One,
        "of that, the receiver's part: from interrupts on, through the action and back to the program",
    ),
    time(
        "event.polled",
        "event",
        Host,
        "a store to a line that another CPU polls: the limit without interrupts",
    )
    .with_path(Two),
    time(
        "event.memory_wait",
        "event",
        Host,
        "the same by hrt_memory_wait: MWAIT where there is one, else polling",
    )
    .with_path(Two),
    path(
        "event.condvar_wake",
        "event",
        One,
        "signal to the woken thread with the mutex, both on one CPU, without kick; Linux: pthreads",
    ),
    path("event.condvar_wake_kick", "event", One, "the same with kick, which finds nobody to interrupt"),
    time(
        "event.condvar_polling",
        "event",
        Host,
        "signal to the woken thread on another CPU, idle for 5 us: Hadal's still polls and gets no interrupt, Linux's \
         has halted; pthreads on Linux",
    )
    .with_path(Two),
    Benchmark {
        linux_parameters: "idle=poll",
        ..time(
            "event.condvar_both_polling",
            "event",
            Host,
            "the same beside Linux with idle=poll, whose idle CPUs never halt and get no interrupt either",
        )
        .with_path(Two)
    },
    time(
        "event.condvar_halted",
        "event",
        Host,
        "the same for a CPU that has halted in both: idle for 300 us (path: 60 us), woken by an interrupt",
    )
    .with_path(Two),
    time(
        "event.condvar_halted_no_kick",
        "event",
        Host,
        "the same without kick: Hadal's CPU looks when its timer fires, at most 1 ms later; Linux always interrupts",
    ),
    time(
        "event.forwarded_syscall",
        "event",
        Host,
        "getppid by a thread of another CPU, asked by active message, and back with the answer",
    )
    .with_path(Two),
    time("event.broadcast_last", "broadcast", Eight, "condition variable to 7 CPUs: until the last goes on"),
    time(
        "event.broadcast_spread",
        "broadcast",
        Eight,
        "condition variable to 7 CPUs: from the first to the last",
    ),
    time("event.message_last", "broadcast", Eight, "active message to 7 CPUs: until the last has it"),
    time("event.message_spread", "broadcast", Eight, "active message to 7 CPUs: from the first to the last"),
    both("task.submit", "task", Host, "submit a task and wait for its end on the own CPU"),
    time("task.steal", "task", Host, "submit a task until another CPU begins it"),
    both("fiber.switch", "fiber", Host, "one switch between two fibers of a thread"),
    both("fiber.create_join", "fiber", Host, "create a fiber with an empty function and join it"),
    time("barrier.central", "barrier", Steps, "a barrier with one counter; Linux: pthread_barrier_wait"),
    time("barrier.dissemination", "barrier", Steps, "a dissemination barrier; Linux: pthread_barrier_wait"),
    time("barrier.tree", "barrier", Steps, "a barrier by topology; Linux: pthread_barrier_wait"),
    time("timer.accuracy", "timer", Host, "how late a one-shot timer fires; Linux: clock_nanosleep"),
    time("timer.jitter", "timer", Host, "how much that differs from one shot to the next"),
    both("memory.page_touch", "memory", Host, "map 2 MiB of anonymous memory and touch it, per 4 KiB"),
    both("memory.alloc", "memory", Host, "64 bytes by hrt_alloc; Linux: malloc"),
    both("memory.free", "memory", Host, "and back"),
    both("memory.alloc_page", "memory", Host, "4 KiB by hrt_alloc; Linux: malloc"),
    both("memory.free_page", "memory", Host, "and back"),
    time("memory.pair_all", "memory", Host, "64 bytes taken and given back while all CPUs do so"),
    time("memory.alloc_scaling", "memory", Host, "that in parts of its cost while no other CPU does"),
    time("memory.alloc_local", "memory", HostZones, "4 KiB from the own zone"),
    time("memory.alloc_remote", "memory", HostZones, "4 KiB from another zone"),
    both("mmap.map_unmap", "mmap", Host, "map and unmap 4 KiB, untouched, beside so many other mappings"),
    both("mmap.map_touch_unmap", "mmap", Host, "map 4 KiB, touch it, unmap it"),
    both(
        "mmap.protect",
        "mmap",
        Host,
        "mprotect of a touched page amid others: writing forbidden and allowed, per call",
    ),
    both("mmap.unmap_touched", "mmap", Host, "unmap 64 pages that were touched: per page"),
    both(
        "mmap.first_touch",
        "mmap",
        Host,
        "touch one page of an aligned block of 2 MiB, which is mapped and unmapped outside the samples (not in images, which \
         get their memory when they map)",
    ),
    both(
        "mmap.touch_page",
        "mmap",
        Host,
        "map an aligned block of 2 MiB and touch one page (images get their memory when they map)",
    ),
    both("mmap.touch_block", "mmap", Host, "map an aligned block of 2 MiB and touch all of it: per 4 KiB"),
    both("mmap.malloc_64m", "mmap", Host, "malloc of 64 MiB, touch one page, free"),
    both("signal.raise", "signal", Host, "raise a signal to oneself and handle it: from call to return"),
    both("signal.raise_altstack", "signal", Host, "the same with the handler on a stack of its own"),
    both("signal.raise_ignored", "signal", Host, "raise a signal that is ignored"),
    both(
        "signal.to_sleeping",
        "signal",
        Host,
        "pthread_kill to the handler's first instruction in a thread that sleeps in sigsuspend",
    ),
    time(
        "signal.to_running",
        "signal",
        Host,
        "the same in a thread that computes on another CPU: what a program on Linux has for an IPI",
    ),
    both("signal.sigprocmask", "signal", Host, "block a signal, unblock it: per call"),
    both("signal.sigaction", "signal", Host, "set a handler"),
    both("signal.sigaltstack", "signal", Host, "set a stack for handlers"),
    both("file.open_close", "file", Host, "open and close a file of /tmp (in memory; natively the host's)"),
    both("file.stat", "file", Host, "stat of a file of /tmp, by name"),
    both("file.fstat", "file", Host, "the same by descriptor"),
    both("file.create_unlink", "file", Host, "create a file of /tmp, write 100 bytes, close it, remove it"),
    both("file.pread_4k", "file", Host, "read 4 KiB of a file of /tmp, always the same"),
    both("file.pread_1", "file", Host, "the same for one byte"),
    both("file.pwrite_4k", "file", Host, "write 4 KiB of a file of /tmp, always the same"),
    both("file.pwrite_1", "file", Host, "the same for one byte"),
    both("file.write_null", "file", Host, "write one byte to /dev/null"),
    both("file.proc_self_stat", "file", Host, "open, read and close /proc/self/stat"),
    both("pipe.byte", "pipe", Host, "write a byte into a pipe and read it, in one thread"),
    both("pipe.page", "pipe", Host, "the same for 4 KiB"),
    both("pipe.socketpair", "pipe", Host, "the same for a byte and a pair of stream sockets"),
    both("pipe.eventfd", "pipe", Host, "add to an eventfd and read it, in one thread"),
    both("pipe.poll", "pipe", Host, "poll one pipe in which there is nothing, without waiting"),
    both("pipe.epoll", "pipe", Host, "epoll_wait with one of eight eventfds ready"),
    both("pipe.writev_null", "pipe", Host, "writev of two pieces to /dev/null"),
    both(
        "pipe.ping_pong",
        "pipe",
        Host,
        "a byte to another thread and one back, by two pipes; path: both threads on one CPU",
    ),
    both(
        "pthread.create_join",
        "pthread",
        Host,
        "create a thread with an empty function and join it; both may run anywhere (images: libhrt-pthread)",
    ),
    both("pthread.create_join_pinned", "pthread", Host, "the same with both bound to one CPU"),
    both(
        "pthread.cond_ping_pong",
        "pthread",
        Host,
        "wake another thread by condition variable and be woken by it; path: both on one CPU",
    ),
    both("pthread.sem_ping_pong", "pthread", Host, "the same by two semaphores"),
    both("pthread.futex_ping_pong", "pthread", Host, "the same by futex calls, always one for each wake"),
    both("pthread.mutex", "pthread", Host, "lock and unlock a free mutex"),
    both("pthread.rwlock", "pthread", Host, "lock and unlock a free read-write lock for reading"),
    both("pthread.sem", "pthread", Host, "post a semaphore that nobody waits for, and take it"),
    time("pthread.mutex_contended", "pthread", Host, "a turn in a mutex that all CPUs want all the time"),
    time(
        "pthread.mutex_fairness",
        "pthread",
        Host,
        "that mutex for 2 ms: turns of the CPU with most, in parts of an equal share (1 is fair)",
    ),
    time("pthread.barrier", "pthread", Steps, "pthread_barrier_wait, one thread on each CPU"),
    path(
        "scaling.atomic_add",
        "scaling",
        Turns,
        "instructions of all CPUs for an atomic addition by each, spinning included: the least that any operation takes",
    ),
    path(
        "scaling.mutex",
        "scaling",
        Turns,
        "the same for a turn in one pthread mutex, whose holder lets all other CPUs come while it holds it",
    ),
    path("scaling.barrier", "scaling", Turns, "the same for pthread_barrier_wait: per CPU"),
    path("scaling.malloc", "scaling", Turns, "the same for 16 mallocs and frees of up to 768 bytes"),
    path(
        "scaling.mmap",
        "scaling",
        Turns,
        "the same for mapping 64 KiB, touching all of it and unmapping it",
    ),
    path(
        "scaling.create_join",
        "scaling",
        Turns,
        "the same for creating a pthread on the own CPU and joining it",
    ),
    time("apps.fib", "apps", Host, "Fibonacci numbers by recursion, the same by every thread; `_1` is one thread on the same machine"),
    time("apps.malloc", "apps", Host, "malloc and free of 16 bytes to 1 KiB in no order, by every thread"),
    time("apps.first_touch", "apps", Host, "map 32 MiB, touch each page, unmap, by every thread"),
    time("apps.text", "apps", Host, "write lines, sort them, count their words, by every thread"),
    time(
        "noise.fixed_work",
        "noise",
        Host,
        "a quantum of computing on all CPUs: what others take shows in its tail",
    ),
];
