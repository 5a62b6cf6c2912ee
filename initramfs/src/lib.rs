// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Archive`]: an initramfs under construction, in the "newc" format of cpio. Bootable images have one, and the Linux guest
//! of `hadal bench`.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cpio::newc::{Builder, ModeFileType, trailer};

/// Largest file the format can hold, in bytes.
pub const MAX_FILE_LEN: u64 = u32::MAX as u64;

/// An archive under construction. What comes first under a name stays.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    present: BTreeSet<PathBuf>,
}

impl Archive {
    /// Adds a file, with the directories above it; `path` counts from the root, with or without a slash in front. Errors: a
    /// name that is not UTF-8, or a content of more than [`MAX_FILE_LEN`].
    pub fn file(&mut self, path: &Path, permissions: u32, content: &[u8]) -> Result<()> {
        let path = path.strip_prefix("/").unwrap_or(path);
        if self.present.contains(path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        self.entry(path, ModeFileType::Regular, permissions & 0o7777, content)
    }

    /// Adds a directory and those above it.
    pub fn directory(&mut self, path: &Path) -> Result<()> {
        let path = path.strip_prefix("/").unwrap_or(path);
        if path == Path::new("") || self.present.contains(path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        self.entry(path, ModeFileType::Directory, 0o755, &[])
    }

    /// Ends the archive.
    pub fn finish(self) -> Result<Vec<u8>> {
        trailer(self.bytes).context("cannot end the archive")
    }

    fn entry(&mut self, path: &Path, kind: ModeFileType, permissions: u32, content: &[u8]) -> Result<()> {
        let failed = || format!("cannot put {} into the archive", path.display());
        let name = path.to_str().context("its name is not UTF-8").with_context(failed)?;
        let len = u32::try_from(content.len())
            .context("it is larger than the format can hold (4 GiB)")
            .with_context(failed)?;
        self.entries += 1;
        let builder =
            Builder::new(name).ino(self.entries).mode(permissions).set_mode_file_type(kind).nlink(1);
        let mut writer = builder.write(&mut self.bytes, len);
        writer.write_all(content).with_context(failed)?;
        writer.finish().with_context(failed)?;
        self.present.insert(path.to_path_buf());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use std::ffi::OsStr;
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;

    /// Name, mode and content of each entry.
    fn entries(archive: Archive) -> Vec<(String, u32, Vec<u8>)> {
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let mut rest = bytes.as_slice();
        let mut found = Vec::new();
        loop {
            let mut reader = Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                return found;
            }
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            found.push((name, mode, content));
            rest = reader.finish().unwrap();
        }
    }

    #[test]
    fn parents_come_first_and_the_first_content_stays() {
        let mut archive = Archive::default();
        archive.file(Path::new("/usr/bin/p"), 0o100_755, b"12345").unwrap();
        archive.file(Path::new("usr/bin/p"), 0o644, b"other").unwrap();
        archive.file(Path::new("/usr/q"), 0o4644, b"").unwrap();
        archive.directory(Path::new("/usr/bin")).unwrap();
        let directory = |name: &str| (name.to_owned(), 0o040_755, Vec::new());
        let expected = [
            directory("usr"),
            directory("usr/bin"),
            ("usr/bin/p".to_owned(), 0o100_755, b"12345".to_vec()),
            ("usr/q".to_owned(), 0o104_644, Vec::new()),
        ];
        assert_eq!(entries(archive), expected);
    }

    #[test]
    fn names_and_contents_of_any_length_are_aligned() {
        let mut archive = Archive::default();
        for len in 0..9 {
            archive.file(Path::new(&"n".repeat(250 + len)), 0o644, &vec![b'c'; len]).unwrap();
        }
        let entries = entries(archive);
        assert_eq!(entries.len(), 9);
        for (len, (name, _, content)) in entries.iter().enumerate() {
            assert_eq!((name.len(), content.len()), (250 + len, len));
        }
    }

    #[test]
    fn names_that_are_no_text_are_refused() {
        let mut archive = Archive::default();
        let error = archive.file(Path::new(OsStr::from_bytes(b"/a\xff")), 0o644, b"").unwrap_err();
        assert!(format!("{error:#}").ends_with("its name is not UTF-8"), "{error:#}");
        assert_eq!(entries(archive), []);
    }
}
