// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Place`]: the directory with the sockets of a user's live runs. It is `hadal` in `XDG_RUNTIME_DIR` if that is the user's
//! own, or else `/tmp/hadal-UID`.
//!
//! Whoever can write there could pass for a run, so a directory of somebody else, or one that others may use, is refused.
//! It is opened once, and files in it are reached through the descriptor: nobody can exchange it after the check, and the
//! paths of sockets stay below the 108 bytes that a socket's address has.

use std::env;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Why the directory is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    /// It belongs to another user.
    #[error("{path} belongs to the user with id {owner}", path = .path.display())]
    Owner { path: PathBuf, owner: u32 },
    /// Others have access.
    #[error("{path} is open to other users (mode {mode:o}); close it with chmod 700", path = .path.display())]
    Mode { path: PathBuf, mode: u32 },
    /// The system refuses it.
    #[error("{path}: {error}", path = .path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// The open directory.
#[derive(Debug)]
pub(super) struct Place {
    directory: OwnedFd,
}

/// Where this user's directory is, there or not.
pub(super) fn path() -> PathBuf {
    choose(env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from))
}

fn choose(runtime: Option<PathBuf>) -> PathBuf {
    // After `su` it may still be the other user's.
    let is_own = |dir: &PathBuf| {
        dir.is_absolute() && rustix::fs::stat(dir).is_ok_and(|stat| stat.st_uid == geteuid().as_raw())
    };
    match runtime.filter(is_own) {
        Some(runtime) => runtime.join("hadal"),
        None => PathBuf::from(format!("/tmp/hadal-{}", geteuid().as_raw())),
    }
}

impl Place {
    /// Opens the directory; `None` if there is none yet.
    pub(super) fn open() -> Result<Option<Self>, PlaceError> {
        open(&path())
    }

    /// Opens the directory, made if needed.
    pub(super) fn create() -> Result<Self, PlaceError> {
        create(&path())
    }

    /// A path of a file in the directory, short and safe for as long as this value lives.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.directory.as_raw_fd()))
    }

    /// Gives a file another name, in the place of the one that has it.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.directory, from, &self.directory, to)?)
    }

    /// Removes a file. One that is gone already is as good.
    pub(super) fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
    }

    /// The names in the directory.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }
}

fn open(path: &Path) -> Result<Option<Place>, PlaceError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let refused = |error: Errno| PlaceError::Io { path: path.to_owned(), error: error.into() };
    let directory = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(refused(error)),
    };
    let stat = rustix::fs::fstat(&directory).map_err(refused)?;
    check(path, stat.st_uid, stat.st_mode, geteuid().as_raw())?;
    Ok(Some(Place { directory }))
}

fn create(path: &Path) -> Result<Place, PlaceError> {
    let refused = |error: Errno| PlaceError::Io { path: path.to_owned(), error: error.into() };
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(refused(error)),
    }
    open(path)?.ok_or_else(|| refused(Errno::NOENT))
}

/// Whether a directory of this owner and mode is private to `user`.
fn check(path: &Path, owner: u32, mode: u32, user: u32) -> Result<(), PlaceError> {
    let path = path.to_owned();
    if FileType::from_raw_mode(mode) != FileType::Directory {
        return Err(PlaceError::Io { path, error: io::ErrorKind::NotADirectory.into() });
    }
    if owner != user {
        return Err(PlaceError::Owner { path, owner });
    }
    if mode & 0o077 != 0 {
        return Err(PlaceError::Mode { path, mode: mode & 0o7777 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    const DIRECTORY: u32 = 0o040_000;

    #[test]
    fn only_a_private_directory_of_the_user_is_used() {
        let verdict = |owner, mode| check(Path::new("/tmp/x"), owner, mode, 1000);
        assert!(verdict(1000, DIRECTORY | 0o700).is_ok());
        assert!(matches!(verdict(1001, DIRECTORY | 0o700), Err(PlaceError::Owner { owner: 1001, .. })));
        assert!(matches!(verdict(0, DIRECTORY | 0o700), Err(PlaceError::Owner { owner: 0, .. })));
        for mode in [0o750, 0o701, 0o777, 0o1777, 0o720] {
            assert!(matches!(verdict(1000, DIRECTORY | mode), Err(PlaceError::Mode { .. })), "{mode:o}");
        }
        assert!(matches!(verdict(1000, 0o100_700), Err(PlaceError::Io { .. })));
    }

    #[test]
    fn a_runtime_directory_of_somebody_else_is_not_used() {
        let own = tempfile::tempdir().unwrap();
        assert_eq!(choose(Some(own.path().to_owned())), own.path().join("hadal"));
        let elsewhere = PathBuf::from(format!("/tmp/hadal-{}", geteuid().as_raw()));
        for other in [None, Some("".into()), Some("relative".into()), Some("/no/such/directory".into())] {
            assert_eq!(choose(other), elsewhere);
        }
        if !geteuid().is_root() {
            assert_eq!(choose(Some("/".into())), elsewhere);
        }
    }

    #[test]
    fn links_and_open_directories_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let (real, link) = (base.path().join("real"), base.path().join("link"));
        assert!(open(&real).unwrap().is_none());
        create(&real).unwrap();
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        symlink(&real, &link).unwrap();
        assert!(matches!(open(&link), Err(PlaceError::Io { .. })));
        assert!(matches!(create(&link), Err(PlaceError::Io { .. })));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).unwrap();
        let error = create(&real).unwrap_err().to_string();
        assert!(error.ends_with("is open to other users (mode 755); close it with chmod 700"), "{error}");
    }

    #[test]
    fn sockets_have_short_paths() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("d".repeat(200));
        let place = create(&deep).unwrap();
        let listener = UnixListener::bind(place.path_of("1.new")).unwrap();
        place.rename("1.new", "1.sock").unwrap();
        UnixStream::connect(place.path_of("1.sock")).unwrap();
        drop(listener);
        assert_eq!(
            UnixStream::connect(place.path_of("1.sock")).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
        assert!(place.names().unwrap().contains(&"1.sock".to_owned()));
        place.remove("1.sock");
        place.remove("1.sock");
        assert!(!deep.join("1.sock").exists());
    }
}
