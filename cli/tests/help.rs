// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Help texts: those in `cli/help`, which the bootstrap script shows before there is a command, are the command's own, and
//! every option that a message names is there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Subcommands, and the name of the text without one.
const PAGES: [&str; 19] = [
    "hadal",
    "run",
    "shell",
    "ps",
    "stop",
    "stacks",
    "machine",
    "image",
    "cc",
    "c++",
    "fc",
    "pack",
    "nesl",
    "ndpc",
    "sdk",
    "doctor",
    "bench",
    "test",
    "completions",
];

/// Options of other commands that messages name.
const OF_OTHERS: [&str; 1] = ["--version"];

fn cli() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What the command prints, as at a terminal of a hundred columns and with no settings in the environment.
fn help(args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_hadal")).args(args).arg("--help").env_clear().output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn help_of_page(page: &str) -> String {
    if page == "hadal" { help(&[]) } else { help(&[page]) }
}

#[test]
fn help_texts_are_the_commands() {
    let written = help(&[]);
    let listed: Vec<&str> = written
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert_eq!(listed, PAGES[1..], "PAGES lists the subcommands");
    for page in PAGES {
        let file = cli().join("help").join(format!("{page}.txt"));
        let text = help_of_page(page);
        if std::env::var_os("UPDATE_HELP").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
        }
        let stored = fs::read_to_string(&file).unwrap_or_default();
        assert!(stored == text, "cli/help/{page}.txt is old: UPDATE_HELP=1 cargo test -p hadal --test help");
    }
}

/// The bootstrap script in a tree where nothing is built, on a machine without compiler, Rust and QEMU, where everything that
/// could install something leaves a mark.
struct FreshClone(tempfile::TempDir);

impl FreshClone {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = cli().parent().unwrap().canonicalize().unwrap();
        fs::copy(root.join("hadal"), dir.path().join("hadal")).unwrap();
        fs::copy(root.join("Cargo.toml"), dir.path().join("Cargo.toml")).unwrap();
        fs::create_dir(dir.path().join("cli")).unwrap();
        symlink(root.join("cli/help"), dir.path().join("cli/help")).unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for tool in ["sh", "cat", "dirname", "find", "id", "mkdir", "readlink", "sed"] {
            let place = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(tool));
            symlink(place.iter().find(|file| file.exists()).unwrap(), bin.join(tool)).unwrap();
        }
        for trap in ["apt-get", "cargo", "curl", "rustc", "rustup", "sudo"] {
            fs::write(bin.join(trap), format!("#!/bin/sh\n: >'{}/installed'\n", dir.path().display()))
                .unwrap();
            fs::set_permissions(bin.join(trap), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(dir)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new("/bin/sh");
        command.arg(self.0.path().join("hadal")).args(args).current_dir(self.0.path());
        command
            .env_clear()
            .env("PATH", self.0.path().join("bin"))
            .env("HOME", "/no/such/home")
            .output()
            .unwrap()
    }

    fn has_installed(&self) -> bool {
        self.0.path().join("installed").exists()
    }
}

#[test]
fn help_of_a_fresh_clone_installs_nothing() {
    let clone = FreshClone::new();
    for (args, page) in [
        (&["--help"][..], "hadal"),
        (&["-h"], "hadal"),
        (&["help"], "hadal"),
        (&["help", "image"], "image"),
        (&["run", "--help"], "run"),
        (&["run", "--cpus", "4", "--strace", "-h"], "run"),
        (&["test", "--help"], "test"),
        (&["c++", "--help"], "c++"),
        (&["bench", "compare", "--help"], "bench"),
    ] {
        let output = clone.run(args);
        assert_eq!(String::from_utf8_lossy(&output.stdout), help_of_page(page), "{args:?}");
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    }
    let version = clone.run(&["--version"]);
    assert_eq!(String::from_utf8_lossy(&version.stdout), format!("hadal {}\n", env!("CARGO_PKG_VERSION")));
    let nothing = clone.run(&[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&nothing.stderr), help(&[]));
    assert!(!clone.has_installed());
}

#[test]
fn help_of_the_program_is_the_programs() {
    let clone = FreshClone::new();
    fs::write(clone.0.path().join("program"), "").unwrap();
    for args in [&["run", "./program", "--help"][..], &["run", "--", "other", "--help"]] {
        let output = clone.run(args);
        assert!(clone.has_installed() && output.stdout.is_empty(), "{args:?}: {output:?}");
        fs::remove_file(clone.0.path().join("installed")).unwrap();
    }
}

/// Files with messages: the command's but for those that call compilers and cargo, and what the kernel says to people.
fn sources_with_messages() -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = ["src", "src/elf", "src/live", "src/profile", "src/strace", "src/trace"]
        .map(|dir| cli().join(dir))
        .into();
    let kernel = cli().join("../kernel");
    dirs.extend(["src", "shell/src", "hrt/src", "linux/src", "linux/src/loader"].map(|dir| kernel.join(dir)));
    dirs.extend(["report/src", "linux/src/syscall/process"].map(|dir| kernel.join(dir)));
    let files = dirs.iter().flat_map(|dir| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()));
    let calls_others = |file: &Path| ["test.rs", "tests.rs"].iter().any(|name| file.ends_with(name));
    files.filter(|file| file.extension().is_some_and(|end| end == "rs") && !calls_others(file)).collect()
}

/// Long options in a text.
fn options(text: &str) -> impl Iterator<Item = String> {
    let starts = text.match_indices("--").map(|(at, _)| at);
    starts.filter_map(|at| {
        let is_start = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let name = text[at + 2..].split(|c: char| !c.is_ascii_lowercase() && c != '-').next()?;
        (is_start && name.starts_with(|c: char| c.is_ascii_lowercase()))
            .then(|| format!("--{}", name.trim_end_matches('-')))
    })
}

#[test]
fn messages_name_options_that_there_are() {
    let mut known: BTreeSet<String> = OF_OTHERS.map(str::to_owned).into();
    for page in PAGES {
        known.extend(options(&help_of_page(page)));
    }
    for args in [["bench", "run"], ["bench", "compare"], ["bench", "report"]] {
        known.extend(options(&help(&args)));
    }
    let files = sources_with_messages();
    assert!(files.len() > 100, "only {} files were found", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for option in options(line) {
                assert!(known.contains(&option), "{}: {option} in {}", file.display(), line.trim());
            }
        }
    }
}
