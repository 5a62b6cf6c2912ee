// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds the shared libraries of a program as the loader in the guest will: `DT_RPATH`, `LD_LIBRARY_PATH`,
//! `DT_RUNPATH`, the directories of `/etc/ld.so.conf`, then the loader's own. What `LD_PRELOAD` and `LD_AUDIT` name counts
//! as needed by the program.
//!
//! [`find`] never fails: what is missing is a list, because the loader may know places that are not known here, and
//! it says so itself when it does not.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::elf::{self, Dynamic, Elf};
use crate::view::{LookupError, View};

/// Directories that every loader searches; the multiarch ones are Debian's.
const GLIBC_DIRS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
const MUSL_DIRS: [&str; 3] = ["/lib", "/usr/local/lib", "/usr/lib"];

/// Deepest chain of `include` lines in loader configuration files.
const MAX_INCLUDES: u32 = 8;

/// A library that was found.
#[derive(Debug)]
pub(crate) struct Library {
    /// Guest path under which the loader finds it (links not followed).
    pub(crate) guest: PathBuf,
    /// The file on the host.
    pub(crate) host: PathBuf,
    /// Whether only the loader's configuration leads there.
    pub(crate) by_loader_config: bool,
}

/// A library that was not found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Its name.
    pub(crate) name: OsString,
    /// The file that needs it.
    pub(crate) needed_by: PathBuf,
}

/// The libraries of one program.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    pub(crate) found: Vec<Library>,
    pub(crate) missing: Vec<Missing>,
    /// Host files that exist where the guest has a tree of its own.
    pub(crate) hidden: Vec<PathBuf>,
}

/// What the program's environment tells its loader.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// `LD_LIBRARY_PATH`.
    dirs: Vec<PathBuf>,
    /// `LD_PRELOAD`, separated by colons or blanks, and `LD_AUDIT`, by colons.
    extra: Vec<OsString>,
}

impl Settings {
    /// Finds the settings in an environment.
    pub(crate) fn of(environment: &[OsString]) -> Self {
        let value =
            |name: &[u8]| environment.iter().find_map(|setting| setting.as_bytes().strip_prefix(name));
        let lists = [&b"LD_PRELOAD="[..], b"LD_AUDIT="].into_iter().filter_map(value);
        let names = lists.flat_map(|list| list.split(|byte| b": ".contains(byte)));
        Self {
            dirs: value(b"LD_LIBRARY_PATH=")
                .map(|list| split_path(OsStr::from_bytes(list)))
                .unwrap_or_default(),
            extra: names.filter(|name| !name.is_empty()).map(|name| OsStr::from_bytes(name).into()).collect(),
        }
    }
}

/// The search as it stands.
struct Search<'a> {
    view: &'a View,
    /// `LD_LIBRARY_PATH`.
    environment: Vec<PathBuf>,
    /// The loader's configuration.
    configured: Vec<PathBuf>,
    defaults: &'static [&'static str],
    seen: HashSet<OsString>,
    result: Libraries,
}

/// Finds every library that `program` (a guest path) needs, libraries of libraries included.
pub(crate) fn find(view: &View, program: &Path, elf: &Elf, settings: &Settings) -> Libraries {
    let Some(interpreter) = &elf.interpreter else { return Libraries::default() };
    let is_musl = interpreter.file_name().is_some_and(|n| n.as_bytes().starts_with(b"ld-musl"));
    let configured = match is_musl {
        true => musl_config(view),
        false => glibc_config(view, "/etc/ld.so.conf", MAX_INCLUDES),
    };
    let mut search = Search {
        view,
        environment: settings.dirs.clone(),
        configured,
        defaults: if is_musl { &MUSL_DIRS } else { &GLIBC_DIRS },
        seen: HashSet::new(),
        result: Libraries::default(),
    };
    // The loader is itself a library of the program, under its own name.
    search.seen.extend(interpreter.file_name().map(OsStr::to_owned));
    if is_musl {
        search.seen.insert("libc.so".into());
        search.seen.insert("libc.musl-x86_64.so.1".into());
    }
    search.walk(program, &elf.dynamic, &settings.extra);
    search.result
}

impl Search<'_> {
    fn walk(&mut self, program: &Path, dynamic: &Dynamic, extra: &[OsString]) {
        let program_rpath = match dynamic.runpath {
            None => expand(dynamic.rpath.as_deref(), program),
            Some(_) => Vec::new(),
        };
        let mut todo = vec![(program.to_path_buf(), clone_dynamic(dynamic))];
        for name in extra {
            // The loader goes on without one that it does not find, and says so itself.
            if let Some((library, elf)) = self.locate(name, program, dynamic, &program_rpath) {
                todo.insert(0, (library.guest.clone(), elf.dynamic));
                self.result.found.push(library);
            }
        }
        while let Some((object, dynamic)) = todo.pop() {
            for name in &dynamic.needed {
                if !self.seen.insert(name.clone()) {
                    continue;
                }
                let Some((library, elf)) = self.locate(name, &object, &dynamic, &program_rpath) else {
                    self.result.missing.push(Missing { name: name.clone(), needed_by: object.clone() });
                    continue;
                };
                self.seen.extend(elf.dynamic.soname.clone());
                todo.insert(0, (library.guest.clone(), elf.dynamic));
                self.result.found.push(library);
            }
        }
    }

    /// The first file of this name that the loader accepts.
    fn locate(
        &mut self,
        name: &OsStr,
        object: &Path,
        dynamic: &Dynamic,
        program_rpath: &[PathBuf],
    ) -> Option<(Library, Elf)> {
        if name.as_bytes().contains(&b'/') {
            return self.candidate(&expand_origin(name, object), false);
        }
        let mut dirs = Vec::new();
        if dynamic.runpath.is_none() {
            dirs.extend(expand(dynamic.rpath.as_deref(), object));
            dirs.extend_from_slice(program_rpath);
        }
        dirs.extend_from_slice(&self.environment);
        dirs.extend(expand(dynamic.runpath.as_deref(), object));
        for dir in dirs {
            if let Some(found) = self.candidate(&dir.join(name), false) {
                return Some(found);
            }
        }
        let is_default = |dir: &Path| self.defaults.iter().any(|default| dir == Path::new(default));
        let configured: Vec<_> = self.configured.iter().map(|dir| (dir.clone(), !is_default(dir))).collect();
        let defaults = self.defaults.iter().map(|dir| (PathBuf::from(dir), false));
        for (dir, by_loader_config) in configured.into_iter().chain(defaults) {
            if let Some(found) = self.candidate(&dir.join(name), by_loader_config) {
                return Some(found);
            }
        }
        None
    }

    fn candidate(&mut self, path: &Path, by_loader_config: bool) -> Option<(Library, Elf)> {
        let host = match self.view.resolve(path) {
            Ok(found) => found.host,
            Err(LookupError::InGuestTree(hidden)) if !self.view.has_other_root() && hidden.is_file() => {
                self.result.hidden.push(hidden.clone());
                hidden
            }
            Err(_) => return None,
        };
        // The loader skips libraries of other architectures, so a damaged or foreign file is no candidate.
        let elf = elf::inspect(&host).ok()?;
        let guest = self.view.cwd.join(path);
        Some((Library { guest, host, by_loader_config }, elf))
    }
}

fn clone_dynamic(dynamic: &Dynamic) -> Dynamic {
    Dynamic {
        needed: dynamic.needed.clone(),
        soname: dynamic.soname.clone(),
        rpath: dynamic.rpath.clone(),
        runpath: dynamic.runpath.clone(),
    }
}

/// Directories of a colon-separated list; an empty entry is the working directory.
fn split_path(list: &OsStr) -> Vec<PathBuf> {
    let dir = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(if bytes.is_empty() { b"." } else { bytes }));
    list.as_bytes().split(|b| *b == b':').map(dir).collect()
}

/// Directories of `DT_RPATH` or `DT_RUNPATH` of `object`.
fn expand(list: Option<&OsStr>, object: &Path) -> Vec<PathBuf> {
    list.map(|list| split_path(expand_origin(list, object).as_os_str())).unwrap_or_default()
}

/// Replaces `$ORIGIN` and `$LIB` as the loader does.
fn expand_origin(text: &OsStr, object: &Path) -> PathBuf {
    let origin = object.parent().unwrap_or(Path::new("/")).as_os_str().as_bytes();
    let mut out = text.as_bytes().to_vec();
    let tokens: [(&[u8], &[u8]); 6] = [
        (b"${ORIGIN}", origin),
        (b"$ORIGIN", origin),
        (b"${LIB}", b"lib/x86_64-linux-gnu"),
        (b"$LIB", b"lib/x86_64-linux-gnu"),
        (b"${PLATFORM}", b"x86_64"),
        (b"$PLATFORM", b"x86_64"),
    ];
    for (token, value) in tokens {
        while let Some(at) = out.windows(token.len()).position(|window| window == token) {
            out.splice(at..at + token.len(), value.iter().copied());
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// Directories of glibc's loader configuration in the guest's tree.
fn glibc_config(view: &View, file: &str, includes_left: u32) -> Vec<PathBuf> {
    let Some(text) = read_guest(view, Path::new(file)) else { return Vec::new() };
    let mut dirs = Vec::new();
    for line in text.lines().map(|l| l.split('#').next().unwrap_or(l).trim()).filter(|l| !l.is_empty()) {
        match line.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace)) {
            Some(pattern) if includes_left > 0 => {
                for file in glob(view, pattern.trim()) {
                    dirs.extend(glibc_config(view, &file, includes_left - 1));
                }
            }
            Some(_) => {}
            None if line.starts_with('/') => dirs.push(PathBuf::from(line)),
            None => {}
        }
    }
    dirs
}

/// Directories of musl's loader configuration in the guest's tree.
fn musl_config(view: &View) -> Vec<PathBuf> {
    let text = read_guest(view, Path::new("/etc/ld-musl-x86_64.path")).unwrap_or_default();
    text.split(['\n', ':']).filter(|dir| dir.starts_with('/')).map(PathBuf::from).collect()
}

fn read_guest(view: &View, path: &Path) -> Option<String> {
    fs::read_to_string(view.resolve(path).ok()?.host).ok()
}

/// Guest files that match a pattern with `*` in its last component only, which is all that distributions use.
fn glob(view: &View, pattern: &str) -> Vec<String> {
    let (dir, last) = pattern.rsplit_once('/').unwrap_or(("/etc", pattern));
    let Some((before, after)) = last.split_once('*') else { return vec![pattern.to_owned()] };
    let Ok(found) = view.resolve(Path::new(dir)) else { return Vec::new() };
    let entries = fs::read_dir(found.host).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut files: Vec<String> = names
        .filter(|n| n.len() >= before.len() + after.len() && n.starts_with(before) && n.ends_with(after))
        .map(|name| format!("{dir}/{name}"))
        .collect();
    files.sort();
    files
}

/// The warning line for a missing library, with the remedy.
pub(crate) fn warning(missing: &Missing) -> String {
    format!(
        "hadal: warning: {}: library {} was not found in the program's file tree; install it, or name its directory \
         with --env LD_LIBRARY_PATH=DIR (and --mount DIR:DIR when the program cannot see it)",
        missing.needed_by.display(),
        Path::new(&missing.name).display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::ViewRequest;

    fn host_view() -> View {
        View::plan(&ViewRequest::default(), Path::new("/")).unwrap()
    }

    #[test]
    fn origin_and_lib_are_expanded() {
        let dirs = expand(Some(OsStr::new("$ORIGIN/../lib:${ORIGIN}:/x/$LIB:")), Path::new("/opt/a/bin/p"));
        let expected = ["/opt/a/bin/../lib", "/opt/a/bin", "/x/lib/x86_64-linux-gnu", "."];
        assert_eq!(dirs, expected.map(PathBuf::from));
    }

    #[test]
    fn libraries_of_a_system_program_are_found() {
        let view = host_view();
        let program = view.resolve(Path::new("/bin/ls")).unwrap();
        let elf = elf::inspect(&program.host).unwrap();
        let libraries = find(&view, &program.guest, &elf, &Settings::default());
        assert_eq!(libraries.missing, []);
        let is_libc = |l: &Library| l.guest.file_name() == Some(OsStr::new("libc.so.6"));
        assert!(elf.interpreter.is_none() || libraries.found.iter().any(is_libc), "{libraries:?}");
    }

    #[test]
    fn the_loader_is_told_of_libraries_by_the_environment() {
        let settings =
            Settings::of(&["A=b", "LD_PRELOAD=./a.so:b.so c.so", "LD_AUDIT=d"].map(OsString::from));
        assert_eq!(settings.extra, ["./a.so", "b.so", "c.so", "d"]);
        assert!(settings.dirs.is_empty());
    }

    #[test]
    fn missing_libraries_name_the_file_that_needs_them() {
        let view = host_view();
        let dynamic = Dynamic { needed: vec!["libnosuch.so.1".into()], ..Dynamic::default() };
        let elf = Elf {
            fixed_address: false,
            interpreter: Some("/lib64/ld-linux-x86-64.so.2".into()),
            entry: 1,
            memory_bytes: 0,
            dynamic,
        };
        let settings = Settings::of(&["LD_LIBRARY_PATH=/usr/share".into()]);
        let libraries = find(&view, Path::new("/bin/p"), &elf, &settings);
        assert_eq!(
            libraries.missing,
            [Missing { name: "libnosuch.so.1".into(), needed_by: "/bin/p".into() }]
        );
        assert!(warning(&libraries.missing[0]).contains("libnosuch.so.1"));
    }
}
