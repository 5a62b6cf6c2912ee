// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`View`]: the file tree as the guest will see it, made of host directories and of trees that the kernel makes
//! itself (`/tmp`, `/dev`, `/proc`, `/sys`).
//!
//! The command uses it to find programs, interpreters and libraries where the guest will look for them, following
//! symbolic links as the guest will, and [`View::plan`] decides which host directories a run needs.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;
use crate::values::MountArg;

/// Trees that the kernel makes itself; a host mount at or below one hides that part of it.
const GUEST_TREES: [&str; 4] = ["/tmp", "/dev", "/proc", "/sys"];

/// Guest trees in which the kernel can make a mount point.
const MEMORY_TREES: [&str; 2] = ["/tmp", "/dev/shm"];

/// Most 9P devices a machine gets; each takes a slot of its PCI bus.
const MAX_MOUNTS: usize = 24;

/// Most symbolic links followed for one path, as on Linux.
const MAX_LINKS: u32 = 40;

/// A host directory and where the guest sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostMount {
    /// Directory on the host, absolute.
    pub(crate) host: PathBuf,
    /// Absolute guest path.
    pub(crate) guest: PathBuf,
    /// Whether the guest may write.
    pub(crate) writable: bool,
}

/// A file found in the guest's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Guest path without symbolic links.
    pub(crate) guest: PathBuf,
    /// Where it lies on the host.
    pub(crate) host: PathBuf,
}

/// Why a guest path cannot be resolved on the host.
#[derive(Debug)]
pub(crate) enum LookupError {
    /// Nothing of this name.
    NotFound,
    /// It lies in a tree that the kernel makes itself; the path as far as it is known.
    InGuestTree(PathBuf),
    /// The host refused.
    Io(io::Error),
}

/// What the user asked for, as far as it shapes the tree.
#[derive(Debug, Default)]
pub(crate) struct ViewRequest<'a> {
    /// `--root`.
    pub(crate) root: Option<&'a Path>,
    /// `--cwd`.
    pub(crate) cwd: Option<&'a Path>,
    /// `--mount`.
    pub(crate) mounts: &'a [MountArg],
}

/// The guest's file tree.
#[derive(Debug)]
pub(crate) struct View {
    /// In the order in which they are mounted: a parent before what lies below it.
    mounts: Vec<HostMount>,
    /// The program's working directory.
    pub(crate) cwd: PathBuf,
}

impl View {
    /// Decides which host directories the guest sees, and the working directory.
    pub(crate) fn plan(request: &ViewRequest<'_>, host_cwd: &Path) -> Result<Self, Failure> {
        let root = match request.root {
            Some(dir) => directory("--root", dir)?,
            None => PathBuf::from("/"),
        };
        let mut view = Self {
            mounts: vec![HostMount { host: root, guest: "/".into(), writable: false }],
            cwd: "/".into(),
        };
        let mut asked: Vec<&MountArg> = request.mounts.iter().collect();
        asked.sort_by_key(|mount| mount.guest.components().count());
        for mount in asked {
            let host = directory("--mount", &mount.host)?;
            view.add(HostMount { host, guest: normalise(&mount.guest), writable: mount.writable })?;
        }
        match request.cwd {
            Some(dir) => view.use_cwd(&host_cwd.join(dir))?,
            None => view.use_host_cwd(host_cwd)?,
        }
        if view.mounts.len() > MAX_MOUNTS {
            return Err(Failure::setup(
                format!(
                    "{} host directories are more than a machine takes ({MAX_MOUNTS})",
                    view.mounts.len()
                ),
                "mount a directory above them instead",
            ));
        }
        Ok(view)
    }

    /// Host directories, a parent before what lies below it.
    pub(crate) fn mounts(&self) -> &[HostMount] {
        &self.mounts
    }

    /// Makes a guest directory the working directory, and lets the program write there.
    fn use_cwd(&mut self, dir: &Path) -> Result<(), Failure> {
        match self.resolve(dir) {
            Ok(found) if found.host.is_dir() => {
                self.allow_writing(&found)?;
                self.cwd = found.guest;
                Ok(())
            }
            Err(LookupError::InGuestTree(path)) if !self.has_other_root() && is_in_memory_tree(&path) => {
                let host = directory("--cwd", dir)?;
                self.cwd.clone_from(&host);
                self.add(HostMount { host: host.clone(), guest: host, writable: true })
            }
            Err(LookupError::InGuestTree(path)) => {
                self.cwd = path;
                Ok(())
            }
            Ok(_) => Err(Failure::setup(
                format!("--cwd {}: not a directory", dir.display()),
                "name a directory of the tree that the program sees",
            )),
            Err(error) => Err(Failure::setup(
                format!("--cwd {}: {}", dir.display(), lookup_text(&error)),
                "name a directory of the tree that the program sees, or add one with --mount",
            )),
        }
    }

    /// Uses the command's own working directory where the guest can see it; otherwise the guest starts in `/`.
    fn use_host_cwd(&mut self, host_cwd: &Path) -> Result<(), Failure> {
        if !self.has_other_root() {
            return self.use_cwd(host_cwd);
        }
        if let Some(guest) = self.guest_path_of(host_cwd) {
            return self.use_cwd(&guest);
        }
        // A mount over `/` would undo --root.
        let has_mount_point = match self.resolve(host_cwd) {
            Ok(found) if found.guest == Path::new("/") => false,
            Ok(found) => found.host.is_dir(),
            Err(LookupError::InGuestTree(path)) => is_in_memory_tree(&path),
            Err(_) => false,
        };
        if has_mount_point {
            self.cwd = host_cwd.to_path_buf();
            self.add(HostMount { host: host_cwd.into(), guest: host_cwd.into(), writable: true })?;
        }
        Ok(())
    }

    /// Mounts a directory over itself, writable, unless it is `/` or the user's own mounts already decide.
    fn allow_writing(&mut self, dir: &Found) -> Result<(), Failure> {
        let mount = self.mount_over(&dir.guest);
        let user_decided = mount.guest != Path::new("/");
        if user_decided || dir.guest == Path::new("/") {
            return Ok(());
        }
        self.add(HostMount { host: dir.host.clone(), guest: dir.guest.clone(), writable: true })
    }

    /// Adds a mount; its mount point must exist or be makeable.
    fn add(&mut self, mount: HostMount) -> Result<(), Failure> {
        if let Some(same) = self.mounts.iter_mut().find(|m| m.guest == mount.guest) {
            *same = mount;
            return Ok(());
        }
        let point = match self.resolve(&mount.guest) {
            Ok(found) if found.host.is_dir() => found.guest,
            Err(LookupError::InGuestTree(path)) if is_in_memory_tree(&path) => path,
            _ => {
                return Err(Failure::setup(
                    format!("--mount: there is no directory {} to mount on", mount.guest.display()),
                    "make it first, or choose a place below /tmp, which is in memory",
                ));
            }
        };
        let mount = HostMount { guest: point, ..mount };
        let depth = |m: &HostMount| m.guest.components().count();
        let at = self.mounts.partition_point(|m| depth(m) <= depth(&mount));
        self.mounts.insert(at, mount);
        Ok(())
    }

    /// Mounts the host directory that holds `file` at the same path, read-only, if only a guest tree hides it. Under its path
    /// without links and `..` it may be visible already, in the working directory for one.
    pub(crate) fn uncover(&mut self, file: &Path) -> bool {
        let Ok(file) = file.canonicalize() else { return false };
        if self.resolve(&file).is_ok_and(|found| found.host == file) {
            return true;
        }
        let Some(dir) = file.parent().map(Path::to_path_buf) else { return false };
        let mount = HostMount { host: dir.clone(), guest: dir, writable: false };
        !self.has_other_root() && self.mounts.len() < MAX_MOUNTS && self.add(mount).is_ok()
    }

    /// The host's file or directory that a path names, if the guest's own tree in memory hides it; a relative path starts at
    /// the guest's cwd.
    pub(crate) fn hidden(&self, path: &Path) -> Option<PathBuf> {
        match self.resolve(path) {
            Err(LookupError::InGuestTree(path))
                if !self.has_other_root() && is_in_memory_tree(&path) && path.exists() =>
            {
                Some(path)
            }
            _ => None,
        }
    }

    /// Mounts a directory of the command itself (a compiled program) where the guest always has room for it.
    pub(crate) fn add_below_tmp(&mut self, host: &Path, name: &str) -> Result<PathBuf, Failure> {
        let guest = Path::new("/tmp").join(name);
        self.add(HostMount { host: host.into(), guest: guest.clone(), writable: false })?;
        Ok(guest)
    }

    /// Whether `--root` replaced the host's tree.
    pub(crate) fn has_other_root(&self) -> bool {
        self.mounts[0].host != Path::new("/")
    }

    /// Guest path of a host path, if some mount shows it.
    pub(crate) fn guest_path_of(&self, host: &Path) -> Option<PathBuf> {
        let host = host.canonicalize().ok()?;
        self.mounts.iter().rev().find_map(|mount| {
            let rest = host.strip_prefix(mount.host.canonicalize().ok()?).ok()?;
            let guest = mount.guest.join(rest);
            // A deeper mount or a guest tree may hide it.
            matches!(self.locate(&guest), Located::Host(found) if found == mount.host.join(rest))
                .then_some(guest)
        })
    }

    /// The mount that a guest path lies in.
    fn mount_over(&self, guest: &Path) -> &HostMount {
        let covering = self.mounts.iter().filter(|m| guest.starts_with(&m.guest));
        covering.max_by_key(|m| m.guest.components().count()).unwrap_or(&self.mounts[0])
    }

    /// Where a guest path without symbolic links lies.
    fn locate(&self, guest: &Path) -> Located {
        let mount = self.mount_over(guest);
        let is_hidden = GUEST_TREES.iter().any(|tree| {
            guest.starts_with(tree)
                && Path::new(tree).starts_with(&mount.guest)
                && mount.guest != Path::new(tree)
        });
        match guest.strip_prefix(&mount.guest) {
            Ok(rest) if !is_hidden => Located::Host(mount.host.join(rest)),
            _ => Located::GuestTree,
        }
    }

    /// Follows a guest path to a file, symbolic links and `..` included; a relative path starts at the guest's cwd.
    pub(crate) fn resolve(&self, path: &Path) -> Result<Found, LookupError> {
        let mut guest = PathBuf::from("/");
        let mut links = 0;
        let mut todo: Vec<OsString> = reversed_components(&self.cwd.join(path));
        while let Some(name) = todo.pop() {
            if name == ".." {
                guest.pop();
                continue;
            }
            guest.push(&name);
            let host = match self.locate(&guest) {
                Located::Host(host) => host,
                Located::GuestTree => {
                    // A mount may lie deeper in this tree.
                    let whole = todo.iter().rev().fold(guest.clone(), |path, name| path.join(name));
                    let mount = self.mount_over(&whole);
                    if mount.guest.starts_with(&guest) {
                        continue;
                    }
                    return Err(LookupError::InGuestTree(whole));
                }
            };
            let metadata = host.symlink_metadata().map_err(|e| match e.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LookupError::NotFound,
                _ => LookupError::Io(e),
            })?;
            if metadata.is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(LookupError::NotFound);
                }
                let target = host.read_link().map_err(LookupError::Io)?;
                if target.is_absolute() {
                    guest = PathBuf::from("/");
                } else {
                    guest.pop();
                }
                todo.extend(reversed_components(&target));
            }
        }
        match self.locate(&guest) {
            Located::Host(host) => Ok(Found { guest, host }),
            Located::GuestTree => Err(LookupError::InGuestTree(guest)),
        }
    }
}

/// Where a guest path lies.
enum Located {
    Host(PathBuf),
    GuestTree,
}

/// Text of a failed look-up for messages.
pub(crate) fn lookup_text(error: &LookupError) -> String {
    match error {
        LookupError::NotFound => "not found".into(),
        LookupError::InGuestTree(path) => {
            format!(
                "{} is in a tree that the kernel makes itself, the host's is not visible there",
                path.display()
            )
        }
        LookupError::Io(error) => error.to_string(),
    }
}

fn is_in_memory_tree(path: &Path) -> bool {
    MEMORY_TREES.iter().any(|tree| path.starts_with(tree))
}

/// Names of a path, last first, without `.` and the leading `/`.
fn reversed_components(path: &Path) -> Vec<OsString> {
    let name = |c: Component<'_>| match c {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(name).collect()
}

/// An absolute path without `.` and `..`.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            _ => {}
        }
    }
    out
}

/// A directory of the host that an option names, absolute and without symbolic links.
fn directory(option: &str, path: &Path) -> Result<PathBuf, Failure> {
    let help = "name a directory of this machine";
    let real =
        path.canonicalize().map_err(|e| Failure::setup(format!("{option} {}: {e}", path.display()), help))?;
    if !real.is_dir() {
        return Err(Failure::setup(format!("{option} {}: not a directory", path.display()), help));
    }
    Ok(real)
}

#[cfg(test)]
mod tests;
