// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Input of the program that its own `/tmp` hides: a file of the host below `/tmp` (or `/dev/shm`) that an argument names.
//!
//! The kernel cannot know what the host has there, and an argument may be no path, or name what the program is to make. So
//! this looks only when a program has failed, and then it is a note beside what the program says itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::view::View;

/// The note about the first argument that names a hidden file, if there is one.
pub(crate) fn note(view: &View, arguments: &[OsString]) -> Option<String> {
    let hidden = arguments.iter().flat_map(paths_in).find_map(|path| view.hidden(path))?;
    let tree = if hidden.starts_with("/dev/shm") { "/dev/shm" } else { "/tmp" };
    let dir = if hidden.is_dir() { &hidden } else { hidden.parent()? };
    // Over the whole tree programs expect to write.
    let writable = if dir == Path::new(tree) { ":rw" } else { "" };
    let (file, dir) = (hidden.display(), dir.display());
    Some(format!(
        "hadal: the program did not see {file} of this host: its {tree} is its own, in memory\n  \
         help: --mount {dir}:{dir}{writable} shows it the host's {dir}\n"
    ))
}

/// What may be a path in an argument: all of it, or what stands behind the first `=`.
fn paths_in(argument: &OsString) -> impl Iterator<Item = &Path> {
    let bytes = argument.as_bytes();
    let value = bytes.iter().position(|&byte| byte == b'=').map(|at| &bytes[at + 1..]);
    [Some(bytes), value].into_iter().flatten().map(|path| Path::new(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::ViewRequest;

    #[test]
    fn files_below_tmp_are_found_in_arguments() {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let file = dir.path().join("in");
        std::fs::write(&file, "x").unwrap();
        let view = |cwd: &Path| View::plan(&ViewRequest::default(), cwd).unwrap();
        let told = |cwd: &Path, argument: String| note(&view(cwd), &["-v".into(), argument.into()]);
        let expected = format!(
            "hadal: the program did not see {0}/in of this host: its /tmp is its own, in memory\n  \
             help: --mount {0}:{0} shows it the host's {0}\n",
            dir.path().display()
        );
        let root = Path::new("/");
        assert_eq!(told(root, file.display().to_string()).as_ref(), Some(&expected));
        assert_eq!(told(root, format!("--input={}", file.display())).as_ref(), Some(&expected));
        assert_eq!(told(root, "/tmp/no/such/file".into()), None);
        assert_eq!(told(root, "/etc/passwd".into()), None);
        assert_eq!(told(dir.path(), file.display().to_string()), None, "the working directory is mounted");
        assert!(told(root, "/tmp/.".into()).unwrap().contains("--mount /tmp:/tmp:rw shows"));
    }
}
