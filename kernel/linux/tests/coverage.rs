// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes `docs/coverage/linux.md` from the sources and fails when the file in the tree is a different one.
//!
//! The table of calls is read from the `calls!` lists of the folders below `src/syscall`, what a call honours and refuses
//! from the head of its file. After a change: `UPDATE_COVERAGE=1 cargo test -p hadal-linux --test coverage`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use syscalls::Sysno;

const COMMAND: &str = "UPDATE_COVERAGE=1 cargo test -p hadal-linux --test coverage";

/// What programs of each kind were seen to call, by the tiers of the traces that Hadal's scope was set from.
const TIERS: [(&str, &str); 3] = [
    (
        "Tier 1: OpenMP, pthread, C++, Fortran and Rust programs",
        "arch_prctl brk clone3 close exit exit_group futex getpid getrandom madvise mmap mprotect munmap newfstatat \
         openat prlimit64 read readlink rseq rt_sigaction rt_sigprocmask sched_getaffinity sched_setaffinity sched_yield \
         set_robust_list set_tid_address sysinfo write access pread64 fstat clock_nanosleep tgkill ftruncate getuid \
         unlink rt_sigreturn gettid ioctl writev poll sigaltstack clone membarrier nanosleep tkill clock_gettime kill \
         rt_sigtimedwait sched_getparam sched_getscheduler timer_create timer_settime gettimeofday time getcpu",
    ),
    (
        "Tier 1b: threaded benchmarks",
        "alarm pipe2 socketpair get_mempolicy getdents64 lseek mbind mlock sched_setscheduler set_mempolicy mlockall \
         munlockall",
    ),
    (
        "Tier 2: HPC programs, Python, utilities",
        "fadvise64 prctl getcwd statfs uname fcntl getegid geteuid getgid copy_file_range dup2 fstatfs symlinkat \
         renameat2 unlinkat utimensat fchdir mremap open lstat connect socket getgroups statx llistxattr creat getppid \
         times umask fchmodat close_range getpeername getpgrp getxattr lgetxattr chdir mkdir dup faccessat2 dup3 fsync \
         getsockopt readlinkat rename setsockopt chmod chown getrusage vfork wait4 fchown fdatasync pwrite64 accept bind \
         epoll_create1 epoll_ctl epoll_wait eventfd2 fallocate getsockname listen pselect6 recvfrom rmdir sendto setsid \
         shmat shmctl shmdt shmget shutdown",
    ),
];

/// One call as its file describes it.
struct Call {
    number: usize,
    name: String,
    purpose: String,
    honoured: String,
    refused: String,
}

/// The calls of one subject.
struct Folder {
    title: String,
    calls: Vec<Call>,
}

fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The paragraphs of the comment at the head of a file, each on one line.
fn head(source: &str) -> Vec<String> {
    let lines = source.lines().skip_while(|line| !line.starts_with("//!"));
    let text: Vec<&str> = lines.map_while(|line| line.strip_prefix("//!")).map(|line| line.trim()).collect();
    text.split(|line| line.is_empty())
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join(" "))
        .collect()
}

/// Numbers and names in the `calls!` list of a folder.
fn listed(source: &str) -> Vec<(usize, String)> {
    let Some((_, rest)) = source.split_once("calls! {") else { return Vec::new() };
    let body = rest.split_once('}').expect("the list of calls ends").0;
    let entry = |line: &str| {
        let mut words = line.split_whitespace();
        let number = words.next()?.parse().ok()?;
        Some((number, words.next()?.to_string()))
    };
    let lines = body.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines
        .flat_map(|line| line.split(';'))
        .filter(|text| !text.trim().is_empty())
        .map(|text| entry(text).unwrap_or_else(|| panic!("not a line of a list of calls: {text}")))
        .collect()
}

fn paragraph(paragraphs: &[String], mark: &str, path: &Path) -> String {
    let found = paragraphs.iter().find_map(|text| text.strip_prefix(mark));
    let text = found.unwrap_or_else(|| panic!("{}: the head has no paragraph `{mark}`", path.display()));
    text.trim().trim_end_matches('.').to_string()
}

fn call(folder: &Path, number: usize, name: String) -> Call {
    let path = folder.join(format!("{name}.rs"));
    let paragraphs = head(&read(&path));
    let title = format!("`{name}(2)`:");
    let purpose = paragraphs.first().and_then(|text| text.strip_prefix(&title));
    let purpose =
        purpose.unwrap_or_else(|| panic!("{}: the head does not begin with {title}", path.display()));
    Call {
        number,
        purpose: purpose.trim().trim_end_matches('.').to_string(),
        honoured: paragraph(&paragraphs, "Honoured:", &path),
        refused: paragraph(&paragraphs, "Refused:", &path),
        name,
    }
}

fn folders() -> Vec<Folder> {
    let root = crate_path("src/syscall");
    let entries = fs::read_dir(&root).expect("the folder of the system calls");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.join("mod.rs").is_file());
    paths.sort();
    let folder = |path: PathBuf| {
        let source = read(&path.join("mod.rs"));
        let title = head(&source).into_iter().next().expect("a folder says what it is about");
        let mut calls: Vec<Call> =
            listed(&source).into_iter().map(|(number, name)| call(&path, number, name)).collect();
        calls.sort_by_key(|call| call.number);
        Folder { title: title.trim_end_matches('.').to_string(), calls }
    };
    paths.into_iter().map(folder).collect()
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Writes a list of calls with their numbers, wrapped.
fn write_names(out: &mut String, names: &[&str]) {
    let mut width = 0;
    for (index, name) in names.iter().enumerate() {
        let text = if index + 1 < names.len() { format!("`{name}`,") } else { format!("`{name}`.") };
        if width > 0 && width + text.len() >= 110 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
        }
        width += text.len() + 1;
        out.push_str(&text);
    }
    out.push('\n');
}

fn render(folders: &[Folder]) -> String {
    let total: usize = folders.iter().map(|folder| folder.calls.len()).sum();
    let mut out = format!(
        "# Linux system calls\n\n\
         <!-- Made from the sources by `{COMMAND}`; do not edit. -->\n\n\
         Hadal has {total} calls of Linux on x86-64. Every other call returns `ENOSYS`, and the first use of each leaves a \
         line in the log. Unless a table says otherwise, flags that Linux refuses are refused with the same error, flags \
         that Linux ignores are ignored, and a bad pointer is `EFAULT`.\n\n\
         This page is made from the heads of the files in `kernel/linux/src/syscall`, one file per call.\n"
    );
    for folder in folders {
        let _ = write!(out, "\n## {}\n\n", folder.title);
        if folder.calls.is_empty() {
            out.push_str("No call yet.\n");
            continue;
        }
        out.push_str("| number | call | what it does | honoured | refused |\n|---:|---|---|---|---|\n");
        for call in &folder.calls {
            let cells = [&call.purpose, &call.honoured, &call.refused].map(|text| cell(text));
            let _ = writeln!(out, "| {} | `{}` | {} |", call.number, call.name, cells.join(" | "));
        }
    }
    write_absent(&mut out, folders);
    out
}

fn write_absent(out: &mut String, folders: &[Folder]) {
    out.push_str(
        "\n## Absent calls\n\nPrograms of three kinds were traced on Linux; of the calls that they made, these are absent.\n",
    );
    let present = |name: &str| folders.iter().flat_map(|folder| &folder.calls).any(|call| call.name == name);
    for (title, names) in TIERS {
        let all: Vec<&str> = names.split_whitespace().collect();
        let absent: Vec<&str> = all.iter().copied().filter(|name| !present(name)).collect();
        let _ = write!(out, "\n{title} ({} calls):", all.len());
        if absent.is_empty() {
            out.push_str(" none.\n");
        } else {
            out.push('\n');
            write_names(out, &absent);
        }
    }
}

#[test]
fn the_page_is_up_to_date() {
    let page = render(&folders());
    let path = crate_path("../../docs/coverage/linux.md");
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("docs/coverage can be made");
        fs::write(&path, page).expect("docs/coverage/linux.md can be written");
        return;
    }
    let present = fs::read_to_string(&path).unwrap_or_default();
    let difference = page.lines().zip(present.lines()).find(|(made, found)| made != found);
    assert!(
        page == present,
        "docs/coverage/linux.md is not what the sources say; run `{COMMAND}`.\nFirst difference: {difference:?}"
    );
}

#[test]
fn numbers_and_names_are_those_of_linux() {
    let mut seen = BTreeMap::new();
    for call in folders().iter().flat_map(|folder| &folder.calls) {
        let known = Sysno::new(call.number).map(|number| number.name());
        assert_eq!(known, Some(call.name.as_str()), "call {}", call.number);
        assert!(seen.insert(call.number, &call.name).is_none(), "{} is listed twice", call.name);
    }
    for name in TIERS.iter().flat_map(|(_, names)| names.split_whitespace()) {
        assert!(name.parse::<Sysno>().is_ok(), "{name} is no call of Linux");
    }
}

#[test]
fn heads_and_lists_are_understood() {
    let source = "// SPDX\n//! `x(2)`: does\n//! things.\n//!\n//! Honoured: a,\n//! b.\n//!\n//! Refused: nothing.\n\nuse y;\n//! no\n";
    assert_eq!(head(source), ["`x(2)`: does things.", "Honoured: a, b.", "Refused: nothing."]);
    let list = "calls! {\n    0 read restart; // a; b\n    1 write;\n}\nmod x { }\n";
    assert_eq!(listed(list), [(0, "read".to_string()), (1, "write".to_string())]);
    assert!(listed("//! nothing\n").is_empty());
    assert_eq!(cell("`A|B`"), "`A\\|B`");
}
