// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/PID/mounts` and `/proc/PID/mountinfo`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use hadal_linux::process::Process;
use hadal_vfs::{Mount, MountFlags, dev_major, dev_minor};

pub(super) fn mounts(process: &Process) -> Vec<u8> {
    let mut text = Vec::new();
    for mount in process.namespace.mounts().iter() {
        text.extend(escaped(source(mount).as_bytes()));
        text.push(b' ');
        text.extend(escaped(&mount.path));
        text.extend_from_slice(format!(" {} {} 0 0\n", mount.kind, options(mount)).as_bytes());
    }
    text
}

pub(super) fn mountinfo(process: &Process) -> Vec<u8> {
    let mut text = Vec::new();
    let all = process.namespace.mounts();
    let root = all.iter().next().map_or(0, |mount| mount.id);
    for mount in all.iter() {
        let dev = mount.root.identity().dev;
        let parent = if mount.id == root { 0 } else { root };
        text.extend_from_slice(
            format!("{} {parent} {}:{} / ", mount.id, dev_major(dev), dev_minor(dev)).as_bytes(),
        );
        text.extend(escaped(&mount.path));
        text.extend_from_slice(format!(" {} - {} ", options(mount), mount.kind).as_bytes());
        text.extend(escaped(source(mount).as_bytes()));
        let access = if mount.read_only() { " ro\n" } else { " rw\n" };
        text.extend_from_slice(access.as_bytes());
    }
    text
}

fn source(mount: &Mount) -> &str {
    if mount.source.is_empty() { "none" } else { &mount.source }
}

fn options(mount: &Mount) -> String {
    let mut options = String::from(if mount.read_only() { "ro" } else { "rw" });
    let names = [
        (MountFlags::NO_SUID, ",nosuid"),
        (MountFlags::NO_DEV, ",nodev"),
        (MountFlags::NO_EXEC, ",noexec"),
        (MountFlags::NO_ATIME, ",noatime"),
    ];
    for (flag, name) in names {
        if mount.flags.contains(flag) {
            options.push_str(name);
        }
    }
    if !mount.flags.contains(MountFlags::NO_ATIME) {
        options.push_str(",relatime");
    }
    options
}

/// What separates fields is written as octal numbers.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in text {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn separators_are_escaped() {
        assert_eq!(escaped(b"/a b\\c"), b"/a\\040b\\134c");
    }
}
