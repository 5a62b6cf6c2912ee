// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Directories and files of the command itself: its cache, and commands found in `PATH`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Access, AtFlags, CWD};

use crate::failure::Failure;

/// The command's cache directory, made if needed: `hadal` below `XDG_CACHE_HOME` or `~/.cache`, or else below a private
/// directory for temporary files.
pub(crate) fn cache_dir(sub: &str) -> Result<PathBuf, Failure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let user = rustix::process::geteuid().as_raw();
    let base = home.clone().unwrap_or_else(|| env::temp_dir().join(format!("hadal-cache-{user}")));
    let dir = base.join("hadal").join(sub);
    let private = if home.is_none() { make_private(&base, user) } else { Ok(()) };
    let made = private.and_then(|()| fs::create_dir_all(&dir)).and_then(|()| {
        // One that is there may still belong to somebody else.
        rustix::fs::accessat(CWD, &dir, Access::WRITE_OK, AtFlags::EACCESS).map_err(io::Error::from)
    });
    made.map_err(|error| {
        Failure::setup(
            format!("cannot use the cache directory {}: {error}", dir.display()),
            "name a directory that you may write to: XDG_CACHE_HOME=/tmp/hadal-cache (else it is .cache in HOME)",
        )
    })?;
    Ok(dir)
}

/// Makes a directory that only its user may use. One that is there already must be the user's, and no one else may write to
/// it: its name is known, its parent is everybody's, and what is in the cache is run.
fn make_private(dir: &Path, user: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let metadata = fs::symlink_metadata(dir)?;
    if metadata.is_dir() && metadata.uid() == user && metadata.permissions().mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("others may write to {}", dir.display())))
}

/// The file a shell would run for this command name.
pub(crate) fn find_command(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.components().count() > 1 {
        return is_executable(name).then(|| name.to_path_buf());
    }
    command_places(name).find(|file| is_executable(file))
}

/// Where a shell looks for a command, in this order.
pub(crate) fn command_places(name: &Path) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let places: Vec<PathBuf> = env::split_paths(&path).map(|dir| dir.join(name)).collect();
    places.into_iter()
}

/// Whether it is a file that may be executed.
pub(crate) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Whether this process may execute a file, as the host decides it: by mode, lists, and how its file system is mounted.
pub(crate) fn may_execute(file: &Path) -> bool {
    rustix::fs::accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Writes a file so that a reader sees the old or the whole new content.
pub(crate) fn write_atomically(file: &Path, content: &[u8]) -> Result<()> {
    let dir = file.parent().context("a file has a directory")?;
    let temporary =
        tempfile::NamedTempFile::new_in(dir).with_context(|| format!("cannot write to {}", dir.display()))?;
    fs::write(temporary.path(), content).with_context(|| format!("cannot write {}", file.display()))?;
    temporary.persist(file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(())
}

/// 64-bit FNV-1a: names cache entries by their content. Not for anything an adversary may choose.
pub(crate) fn content_hash(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        // The length keeps ("ab", "c") and ("a", "bc") apart.
        for byte in (part.len() as u64).to_le_bytes().iter().chain(*part) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_as_a_shell_would() {
        assert!(find_command("sh").is_some_and(|p| p.is_absolute()));
        assert_eq!(find_command("/no/such/command"), None);
        assert_eq!(find_command("/etc/passwd"), None);
    }

    #[test]
    fn a_private_directory_stays_private() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("cache");
        let user = rustix::process::geteuid().as_raw();
        for _ in 0..2 {
            make_private(&dir, user).unwrap();
        }
        assert!(make_private(&dir, user + 1).is_err());
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(make_private(&dir, user).is_err());
        let link = place.path().join("link");
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        assert!(make_private(&link, user).is_err());
    }

    #[test]
    fn hashes_tell_parts_apart() {
        assert_ne!(content_hash(&[b"ab", b"c"]), content_hash(&[b"a", b"bc"]));
    }
}
