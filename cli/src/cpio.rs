// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes a cpio archive in the "newc" format, the root file system of a bootable image.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"070701";
const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;

/// Largest file the format can hold.
pub(crate) const MAX_FILE_LEN: u64 = u32::MAX as u64;

/// An archive under construction.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    next_inode: u32,
    present: BTreeSet<PathBuf>,
}

impl Archive {
    /// An archive with only the root directory, `/tmp` and the mount points of the kernel's own trees.
    pub(crate) fn new() -> Self {
        let mut archive = Self { next_inode: 1, ..Self::default() };
        for dir in ["dev", "proc", "sys", "tmp"] {
            archive.directory(Path::new(dir));
        }
        archive
    }

    /// Adds a file at an absolute guest path, with the directories above it. A path that is present is left alone.
    pub(crate) fn file(&mut self, guest: &Path, permissions: u32, content: &[u8]) {
        let name = guest.strip_prefix("/").unwrap_or(guest).to_path_buf();
        if self.present.contains(&name) {
            return;
        }
        self.parents(&name);
        self.entry(&name, REGULAR | permissions & 0o7777, content);
        self.present.insert(name);
    }

    fn parents(&mut self, name: &Path) {
        let mut above: Vec<&Path> = name.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()).collect();
        above.reverse();
        for dir in above {
            self.directory(dir);
        }
    }

    fn directory(&mut self, name: &Path) {
        if self.present.insert(name.to_path_buf()) {
            self.entry(name, DIRECTORY, &[]);
        }
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.next_inode = 0;
        self.entry(Path::new(OsStr::from_bytes(b"TRAILER!!!")), 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &Path, mode: u32, content: &[u8]) {
        let name = name.as_os_str().as_bytes();
        let links = if mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let fields = [
            self.next_inode,
            mode,
            0, // user
            0, // group
            links,
            0, // time of change
            content.len() as u32,
            0, // device
            0,
            0, // device the node stands for
            0,
            name.len() as u32 + 1,
            0, // checksum, unused in this format
        ];
        self.next_inode += 1;
        self.bytes.extend_from_slice(MAGIC);
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn archives_are_aligned_and_list_parents_first() {
        let mut archive = Archive::new();
        archive.file(Path::new("/usr/bin/p"), 0o755, b"12345");
        archive.file(Path::new("/usr/bin/p"), 0o755, b"other");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(&format!("{name}\0")).unwrap_or_else(|| panic!("no {name}"));
        assert!(at("usr") < at("usr/bin") && at("usr/bin") < at("usr/bin/p"));
        assert_eq!(text.matches("usr/bin/p\0").count(), 1);
        assert!(text.contains("TRAILER!!!"));
    }

    #[test]
    fn the_cpio_program_reads_it() {
        if crate::paths::find_command("cpio").is_none() {
            eprintln!("skipped: no cpio on this machine");
            return;
        }
        let mut archive = Archive::new();
        archive.file(Path::new("/a/b"), 0o644, b"content");
        let mut cpio = Command::new("cpio")
            .args(["-t", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        cpio.stdin.take().unwrap().write_all(&archive.finish()).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "dev\nproc\nsys\ntmp\na\na/b\n");
    }
}
