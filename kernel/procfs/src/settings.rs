// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/sys`: facts and limits, all read-only.

use alloc::string::String;
use core::fmt::Write;

use hadal_linux::sysv::{messages, segments, semaphores};
use hadal_linux::{epoll, machine, mqueue, release};
use hadal_mem::space::MAX_MAPPINGS;
use hadal_vfs::MAX_DESCRIPTORS;
use hadal_vfs::synthetic::Directory;
use spin::Once;

use crate::add_text;

/// Most threads, and so most process ids.
const MAX_THREADS: usize = 256 * 1024;
/// Most supplementary groups (`NGROUPS_MAX`).
const MAX_GROUPS: usize = 65536;

pub(super) fn add(proc: &Directory) {
    let line = |path: &str, value: &str| proc.text(path, String::from(value) + "\n");
    line("sys/kernel/ostype", release::SYSTEM);
    line("sys/kernel/osrelease", release::RELEASE);
    line("sys/kernel/version", release::VERSION);
    line("sys/kernel/domainname", release::DOMAIN);
    add_text(proc, "sys/kernel/hostname", || machine::get().hostname() + "\n");
    let number = |path: &str, value: u64| proc.text(path, alloc::format!("{value}\n"));
    number("sys/kernel/pid_max", MAX_THREADS as u64);
    number("sys/kernel/threads-max", MAX_THREADS as u64);
    number("sys/kernel/ngroups_max", MAX_GROUPS as u64);
    number("sys/kernel/cap_last_cap", 40);
    // Addresses are not randomised, and a program gets no more rights than it started with.
    number("sys/kernel/randomize_va_space", 0);
    number("sys/kernel/yama/ptrace_scope", 3);
    number("sys/kernel/random/entropy_avail", 256);
    number("sys/kernel/shmmax", segments::BYTES_MAX);
    number("sys/kernel/shmall", segments::PAGES_MAX);
    number("sys/kernel/shmmni", segments::COUNT_MAX as u64);
    number("sys/kernel/msgmax", messages::MESSAGE_MAX as u64);
    number("sys/kernel/msgmnb", messages::BYTES_MAX as u64);
    number("sys/kernel/msgmni", messages::COUNT_MAX as u64);
    let (size, all) = (semaphores::SIZE_MAX, semaphores::ALL_MAX);
    let (operations, sets) = (semaphores::OPERATIONS_MAX, semaphores::COUNT_MAX);
    line("sys/kernel/sem", &alloc::format!("{size}\t{all}\t{operations}\t{sets}"));
    number("sys/vm/max_map_count", MAX_MAPPINGS as u64);
    // Reservations are free and memory is taken when it is touched.
    number("sys/vm/overcommit_memory", 1);
    number("sys/vm/overcommit_ratio", 50);
    number("sys/vm/mmap_min_addr", hadal_mem::space::WINDOW_START as u64);
    number("sys/vm/swappiness", 0);
    number("sys/fs/epoll/max_user_watches", epoll::max_entries() as u64);
    number("sys/fs/mqueue/queues_max", mqueue::QUEUES_MAX as u64);
    number("sys/fs/mqueue/msg_max", mqueue::MESSAGES_MAX as u64);
    number("sys/fs/mqueue/msgsize_max", mqueue::MESSAGE_BYTES_MAX as u64);
    number("sys/fs/mqueue/msg_default", mqueue::MESSAGES_DEFAULT as u64);
    number("sys/fs/mqueue/msgsize_default", mqueue::MESSAGE_BYTES_DEFAULT as u64);
    number("sys/fs/nr_open", MAX_DESCRIPTORS.into());
    number("sys/fs/file-max", i64::MAX as u64);
    number("sys/fs/pipe-max-size", 1 << 20);
    add_text(proc, "sys/kernel/random/boot_id", || {
        static BOOT_ID: Once<[u8; 16]> = Once::new();
        uuid(*BOOT_ID.call_once(random))
    });
    add_text(proc, "sys/kernel/random/uuid", || uuid(random()));
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    machine::get().random(&mut bytes);
    bytes
}

/// Random bytes as a version 4 UUID (RFC 9562).
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn uuids_are_of_version_four() {
        assert_eq!(uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff\n");
        assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000\n");
    }
}
