// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The content of `/proc` and `/sys`: what Linux programs read about the machine and themselves, true to the machine they
//! run on.
//!
//! Everything is made when it is opened. Who first looks into a tree has a few dozen functions registered, which look at
//! nothing.
//! - `machine_files`, `memory_files`, `settings`: the files of `/proc` about the machine;
//! - `process_tree`, `process_files`, `status`, `maps`, `mounts`, `descriptors`: `/proc/PID`;
//! - `first_process`: `/proc/1`;
//! - `cpu_tree`, `node_tree`: `/sys/devices/system`; `net_tree`: `/sys/class/net`;
//! - `cpuinfo`, `cpu_flags`: what the processors say about themselves; `backward`: text of numbers.
//!
//! Facts come from the layers below: CPUs and their APIC ids from [`hadal_hal`], zones, distances and memory from
//! [`hadal_mem::frames`], what belongs together and CPUID from [`hadal_topology`], processes from [`hadal_linux`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod backward;
mod cpu_flags;
mod cpu_tree;
mod cpuinfo;
mod descriptors;
mod first_process;
mod machine_files;
mod maps;
mod memory_files;
mod mounts;
mod net_tree;
mod node_tree;
mod process_files;
mod process_tree;
mod settings;
mod status;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use backward::decimal;
use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_vfs::synthetic::{Child, Directory, LinkTarget, generated_file, link};
use hadal_vfs::{FileKind, Inode, Owner, Result};

/// `PROC_SUPER_MAGIC`.
const PROC_MAGIC: u64 = 0x9fa0;
/// `SYSFS_MAGIC`.
const SYSFS_MAGIC: u64 = 0x6265_6572;
/// What `stat` gives as the size of a file in `/sys`.
const SYS_FILE_BYTES: u64 = 4096;

/// Makes the roots of `/proc` and `/sys`. `command_line` is the kernel's.
pub fn build(command_line: &'static str) -> (Arc<dyn Inode>, Arc<dyn Inode>) {
    let proc = Directory::root_filled_by(PROC_MAGIC, Owner::default(), move |root| {
        machine_files::add(root, command_line);
        memory_files::add(root);
        settings::add(root);
        process_tree::add(root);
    });
    let sys = Directory::root_filled_by(SYSFS_MAGIC, Owner::default(), |root| {
        cpu_tree::add(root);
        node_tree::add(root);
        net_tree::add(root);
    });
    (proc, sys)
}

/// A read-only file of `/sys`.
fn sys_file(content: impl Fn() -> String + Send + Sync + 'static) -> Child {
    Child::Leaf(generated_file(0o444, SYS_FILE_BYTES, Box::new(move || Ok(content().into_bytes())), None))
}

/// A read-only file of `/proc`.
fn proc_file(content: impl Fn() -> Result<Vec<u8>> + Send + Sync + 'static) -> Child {
    Child::Leaf(generated_file(0o444, 0, Box::new(content), None))
}

/// A symbolic link.
fn text_link(target: String) -> Child {
    Child::Leaf(link(LinkTarget::Text(target.into_bytes())))
}

/// Registers a read-only file with content that is made on each opening.
fn add_text(root: &Directory, path: &str, content: fn() -> String) {
    root.file(path, move || Ok(content().into_bytes()));
}

/// Entries of one kind whose names are numbers, which may be many.
fn numbered(numbers: impl Iterator<Item = u32>, kind: FileKind) -> Result<Vec<(Vec<u8>, FileKind)>> {
    let mut all = Vec::new();
    for number in numbers {
        all.make_room(1)?;
        fallible::admit(fallible::SMALL_BYTES)?;
        all.push((decimal(number.into()), kind));
    }
    Ok(all)
}

/// The number in a name such as `cpu12`; leading zeros and signs make it another name.
fn number_after(name: &[u8], prefix: &str) -> Option<usize> {
    match name.strip_prefix(prefix.as_bytes())? {
        b"0" => Some(0),
        digits @ [b'1'..=b'9', ..] => digits.iter().try_fold(0_usize, |number, &byte| {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 { None } else { number.checked_mul(10)?.checked_add(digit.into()) }
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_spelling() {
        assert_eq!(number_after(b"cpu0", "cpu"), Some(0));
        assert_eq!(number_after(b"cpu254", "cpu"), Some(254));
        for name in
            [&b"cpu"[..], b"cpu00", b"cpu01", b"cpu+1", b"cpu1x", b"node1", b"cpu99999999999999999999999"]
        {
            assert_eq!(number_after(name, "cpu"), None);
        }
        assert_eq!(number_after(b"17", ""), Some(17));
    }
}
