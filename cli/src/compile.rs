// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles a source file given in place of a program, with the system's compiler and OpenMP.
//!
//! The result is kept in the cache as long as the compiler, the flags, the source and every header it includes are
//! the same (the compiler writes the list of headers). `CC`, `CXX` and `FC` name other compilers. A source that includes
//! `hadal/hrt.h` becomes what `hadal cc --linux` makes: a Linux program with the library for both places.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::iter::once;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;

use crate::cc::sdk::{self, Sdk};
use crate::failure::Failure;
use crate::{languages, paths};

const FLAGS: [&str; 3] = ["-O2", "-g", "-fopenmp"];

/// Age at which an unused cache entry is removed.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);

/// Languages that are recognised by the ending of the source's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cpp,
    Fortran,
}

impl Language {
    fn of(source: &Path) -> Option<Self> {
        match source.extension()?.to_str()? {
            "c" => Some(Self::C),
            "cc" | "cpp" | "cxx" | "c++" | "C" => Some(Self::Cpp),
            "f" | "F" | "for" | "f90" | "F90" | "f95" | "F95" | "f03" | "F03" | "f08" | "F08" => {
                Some(Self::Fortran)
            }
            _ => None,
        }
    }

    /// Variable that names the compiler.
    pub(crate) fn variable(self) -> &'static str {
        self.compiler().0
    }

    /// A compiler that a user is likely to have.
    pub(crate) fn usual_compiler(self) -> &'static str {
        self.compiler().2
    }

    /// Variable that names the compiler, its usual name, and the Debian package that has it.
    fn compiler(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::C => ("CC", "cc", "gcc"),
            Self::Cpp => ("CXX", "c++", "g++"),
            Self::Fortran => ("FC", "gfortran", "gfortran"),
        }
    }
}

/// Whether a file is to be compiled: its name is that of a source file, and it is no program already (`cc x.c -o y.c`).
pub(crate) fn is_source(path: &Path) -> bool {
    (Language::of(path).is_some() || languages::Language::of(path).is_some()) && !is_program(path)
}

fn is_program(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && magic == *b"\x7fELF"
}

/// Refuses compiler flags for a program that nothing compiles, which would have no effect.
pub(crate) fn check_flags(program: &Path, cflags: Option<&str>) -> Result<(), Failure> {
    match cflags {
        Some(_) if Language::of(program).is_none() || !is_source(program) => Err(Failure::Usage {
            what: format!("--cflags is for sources in C, C++ and Fortran, and {} is none", program.display()),
            help: "leave out --cflags, or name the source (.c, .cc, .cpp, .f90, …)".into(),
        }),
        _ => Ok(()),
    }
}

/// Compiles `source` unless the cache has the result, and returns the program's path. `arguments` are those of the program,
/// which some languages compile with it.
pub(crate) fn compile(
    source: &Path,
    cflags: Option<&str>,
    arguments: &[OsString],
) -> Result<PathBuf, Failure> {
    if let Some(language) = languages::Language::of(source) {
        return languages::program::of_source(language, source, arguments);
    }
    let language = Language::of(source).context("not a source file")?;
    let named = env::var(language.variable()).ok();
    let compiler = compiler_command(language, named.as_deref())?;
    let content = fs::read(source).map_err(|e| {
        Failure::setup(format!("{}: {e}", source.display()), "name a source file that can be read")
    })?;
    let flags = split_words(cflags.unwrap_or(""), "--cflags")?;
    let source = source.canonicalize().with_context(|| source.display().to_string())?;
    let dir = programs_dir()?;
    let entry = dir.join(format!("{:016x}", entry_hash(&compiler, &flags, &source, &content)));
    let program = entry.join(source.file_stem().unwrap_or(OsStr::new("program")));
    let dependencies = entry.join("dependencies");
    if program.is_file() && is_fresh(&entry, &dependencies) {
        // Keeps the entry from being removed as unused.
        let _ = fs::File::open(&entry).and_then(|dir| dir.set_modified(SystemTime::now()));
        return Ok(program);
    }
    build(language, &compiler, &flags, &source, &entry, &program)?;
    Ok(program)
}

/// The cache's directory of compiled programs, one directory for each; old ones are gone.
pub(crate) fn programs_dir() -> Result<PathBuf, Failure> {
    let dir = paths::cache_dir("programs")?;
    remove_old_entries(&dir);
    Ok(dir)
}

/// The compiler's command words: those that the environment names, or the usual ones.
pub(crate) fn compiler_command(language: Language, named: Option<&str>) -> Result<Vec<OsString>, Failure> {
    let (variable, usual, package) = language.compiler();
    let named = named.filter(|words| !words.trim().is_empty());
    let words = split_words(named.unwrap_or(usual), variable)?;
    let (name, arguments) = words.split_first().context("no compiler")?;
    match paths::find_command(OsStr::new(name)) {
        Some(file) => Ok(once(file.into()).chain(arguments.iter().map(Into::into)).collect()),
        None => Err(Failure::setup(
            format!("compiler {name} not found"),
            format!("install one (Debian, Ubuntu: apt-get install {package}) or name one in {variable}"),
        )),
    }
}

/// Words of a command line; `from` is where it was given.
fn split_words(text: &str, from: &str) -> Result<Vec<String>, Failure> {
    shlex::split(text).ok_or_else(|| Failure::setup(format!("{from}: a quote is not closed"), "close it"))
}

/// Name of a cache entry: everything that decides the result but the included files.
fn entry_hash(compiler: &[OsString], flags: &[String], source: &Path, content: &[u8]) -> u64 {
    let stamp = file_stamp(Path::new(&compiler[0])).unwrap_or_default();
    // The headers of hadal/hrt.h are not in the list that the compiler writes, which leaves out the system's.
    let own_sources = sdk::sources_hash().to_le_bytes();
    let mut parts: Vec<&[u8]> =
        vec![stamp.as_bytes(), &own_sources, source.as_os_str().as_bytes(), content, b"compiler"];
    parts.extend(compiler.iter().map(|word| word.as_bytes()));
    parts.push(b"flags");
    parts.extend(flags.iter().map(|flag| flag.as_bytes()));
    paths::content_hash(&parts)
}

/// Size and time of change of a file, as text.
pub(crate) fn file_stamp(file: &Path) -> Option<String> {
    let metadata = file.metadata().ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(format!("{} {}", metadata.len(), changed.as_nanos()))
}

/// Whether every included file is older than the entry's list of them, and the list is complete.
fn is_fresh(entry: &Path, dependencies: &Path) -> bool {
    let stamps = fs::read_to_string(entry.join("stamps")).unwrap_or_default();
    let Some(files) = included_files(dependencies) else { return false };
    stamps == all_stamps(&files)
}

fn all_stamps(files: &[PathBuf]) -> String {
    let line = |file: &PathBuf| format!("{} {}\n", file_stamp(file).unwrap_or_default(), file.display());
    files.iter().map(line).collect()
}

/// Files in a make rule that the compiler wrote (`target: file file \`, blanks escaped).
fn included_files(rule: &Path) -> Option<Vec<PathBuf>> {
    let text = fs::read_to_string(rule).ok()?;
    let (_, list) = text.split_once(": ")?;
    let list = list.replace("\\\n", " ").replace("\\ ", "\0");
    Some(list.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))).collect())
}

/// Whether a source includes `hadal/hrt.h`, by itself or through other headers: the preprocessor is asked, which with `-MG`
/// takes a header that is not there as one that will be.
fn uses_hrt(compiler: &[OsString], flags: &[String], source: &Path) -> bool {
    let mut command = Command::new(&compiler[0]);
    command.args(&compiler[1..]).args(FLAGS).args(flags).args(["-M", "-MG"]).arg(source);
    // What is wrong with the source is said when it is compiled.
    let rule = command.stderr(Stdio::null()).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&rule).split_whitespace().any(|header| header.ends_with("hadal/hrt.h"))
}

fn build(
    language: Language,
    compiler: &[OsString],
    flags: &[String],
    source: &Path,
    entry: &Path,
    program: &Path,
) -> Result<(), Failure> {
    fs::create_dir_all(entry).with_context(|| entry.display().to_string())?;
    // Built beside its place, so that a run at the same time never sees half a program.
    let scratch = tempfile::tempdir_in(entry).with_context(|| entry.display().to_string())?;
    let built = scratch.path().join("program");
    let rule = scratch.path().join("dependencies");
    let mut command = Command::new(&compiler[0]);
    command.args(&compiler[1..]).args(FLAGS);
    let lists_headers = language != Language::Fortran;
    if lists_headers {
        command.arg("-MMD").arg("-MF").arg(&rule).args(["-MT", "program"]);
    }
    if language == Language::Fortran {
        // Module files are by-products; they do not belong into the user's directory.
        command.arg("-J").arg(scratch.path());
    }
    command.args(flags).arg(source).arg("-o").arg(&built);
    if language != Language::Fortran && uses_hrt(compiler, flags, source) {
        let sdk = Sdk::find()?;
        command.arg("-isystem").arg(sdk.include()).args(sdk.library("libhrt-linux.a")).arg("-pthread");
    }
    command.arg("-lm");
    let status = command.status().with_context(|| Path::new(&compiler[0]).display().to_string())?;
    if !status.success() {
        drop(scratch);
        // Goes only if it is empty, that is, if nothing was built there before.
        let _ = fs::remove_dir(entry);
        return Err(Failure::Compile {
            path: source.to_path_buf(),
            compiler: Path::new(&compiler[0]).display().to_string(),
            ended: status.to_string(),
        });
    }
    fs::rename(&built, program).with_context(|| program.display().to_string())?;
    let dependencies = entry.join("dependencies");
    if lists_headers && fs::rename(&rule, &dependencies).is_ok() {
        let stamps = all_stamps(&included_files(&dependencies).unwrap_or_default());
        fs::write(entry.join("stamps"), stamps).with_context(|| entry.display().to_string())?;
    }
    Ok(())
}

/// Removes entries that nobody has used for a long time; failures leave them for the next run.
fn remove_old_entries(dir: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let used = entry.metadata().and_then(|m| m.modified());
        if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > KEEP)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_follow_the_ending() {
        assert_eq!(Language::of(Path::new("a.c")), Some(Language::C));
        assert_eq!(Language::of(Path::new("a.C")), Some(Language::Cpp));
        assert_eq!(Language::of(Path::new("a.F90")), Some(Language::Fortran));
        assert!(!is_source(Path::new("a.out")) && !is_source(Path::new("c")));
    }

    #[test]
    fn a_program_with_the_name_of_a_source_is_not_compiled() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.c");
        assert!(is_source(&file)); // there is none: the compiler says so
        fs::write(&file, "int").unwrap();
        assert!(is_source(&file));
        fs::write(&file, b"\x7fELF\x02\x01").unwrap();
        assert!(!is_source(&file));
    }

    #[test]
    fn flags_are_split_like_words_of_a_shell() {
        let words = |text| split_words(text, "--cflags").unwrap();
        assert_eq!(words(" -DX='a b'  -I\"x y\" -O3 "), ["-DX=a b", "-Ix y", "-O3"]);
        assert_eq!(words("''"), [""]);
        assert!(words("  ").is_empty());
        let error = split_words("-DX='a", "--cflags").unwrap_err();
        assert!(error.to_string().contains("--cflags: a quote is not closed"), "{error}");
    }

    #[test]
    fn rules_of_the_compiler_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let rule = dir.path().join("rule");
        fs::write(&rule, "program: /a/b.c \\\n /a/with\\ blank.h \\\n  /c.h\n").unwrap();
        let files = included_files(&rule).unwrap();
        assert_eq!(files, ["/a/b.c", "/a/with blank.h", "/c.h"].map(PathBuf::from));
    }
}
