// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Line`]: what a compiler's command line asks for, as far as `hadal cc` has to know.
//!
//! Everything is the compiler's and is passed through untouched, but for the few options that are Hadal's own. Of the
//! others it matters whether the line links, what the output is called, and which libraries are wanted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::response_file;
use crate::failure::Failure;

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It answers a question or does nothing: there is no input, or `-###` is given.
    Query,
    /// It preprocesses, compiles, assembles, or links to another object file (`-r`).
    Objects,
    /// It links a program.
    Program,
}

/// Whose threads `-pthread` and `-fopenmp` use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pthread {
    /// Hadal's, on its own primitives.
    Hadal,
    /// The C library's.
    System,
}

/// Whose OpenMP run-time an image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMp {
    /// Hadal's, made for the kernel.
    Hadal,
    /// The compiler's.
    System,
}

/// What Hadal's own options ask for instead of compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// `--help`
    Help,
    /// `--print-paths`
    Paths,
}

/// A compiler's command line, read.
#[derive(Debug)]
pub(crate) struct Line {
    /// The arguments for the compiler, without the output's name and without Hadal's own options.
    pub(crate) args: Vec<OsString>,
    pub(crate) stage: Stage,
    pub(crate) output: Option<OsString>,
    pub(crate) pthread: Pthread,
    /// Whether threads are asked for.
    pub(crate) threads: bool,
    /// Whether OpenMP is.
    pub(crate) openmp: bool,
    /// As the line says.
    openmp_of: Option<OpenMp>,
    /// `--openmp-tools`: whether an image loads OpenMP tools.
    pub(crate) openmp_tools: bool,
    /// `-flto`: whether the program is optimised as a whole when it is linked.
    pub(crate) link_time: bool,
    /// Whether Fortran's library is linked.
    pub(crate) fortran: bool,
    /// Whether `-static` or `-static-pie` is there.
    pub(crate) is_static: bool,
    /// Whether the line does without the compiler's libraries, so that Hadal's stay away, too.
    pub(crate) no_libraries: bool,
    /// `--linux`: an ordinary Linux program.
    pub(crate) for_linux: bool,
    /// `--module`, as written.
    pub(crate) modules: Vec<OsString>,
    /// Libraries of the languages that sources of the line are in.
    pub(crate) runtimes: Vec<PathBuf>,
    pub(crate) question: Option<Question>,
}

/// Options whose value is the next argument (GCC manual, "Option Summary"; clang takes the same and more).
const WITH_VALUE: &[&str] = &[
    "-A",
    "-B",
    "-D",
    "-I",
    "-J",
    "-L",
    "-MF",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-Xassembler",
    "-Xclang",
    "-Xlinker",
    "-Xpreprocessor",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-e",
    "-idirafter",
    "-imacros",
    "-imultilib",
    "-include",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-l",
    "-mllvm",
    "-target",
    "-u",
    "-wrapper",
    "-x",
    "-z",
    "--entry",
    "--param",
    "--sysroot",
];

/// Options that make something other than a program.
const NO_PROGRAM: &[&str] =
    &["-shared", "--shared", "-dynamiclib", "-Wl,-shared", "-Wl,--shared", "-Wl,-Bshareable"];

/// Libraries that [`super::add_libraries`] adds.
const OWN_LIBRARIES: [&str; 2] = ["libhrt.a", "libhrt-pthread.a"];

/// The compilers' OpenMP run-times, as they are linked.
const OPENMP_LIBRARIES: [&str; 3] = ["gomp", "omp", "iomp5"];

impl Line {
    /// Reads the arguments of `hadal cc`.
    pub(crate) fn read(args: Vec<OsString>) -> Result<Self, Failure> {
        let mut line = Self {
            args: Vec::new(),
            stage: Stage::Query,
            output: None,
            pthread: Pthread::Hadal,
            threads: false,
            openmp: false,
            openmp_of: None,
            openmp_tools: false,
            link_time: false,
            fortran: false,
            is_static: false,
            no_libraries: false,
            for_linux: false,
            modules: Vec::new(),
            runtimes: Vec::new(),
            question: None,
        };
        let mut inputs = 0;
        let mut objects = false;
        let mut dry = false;
        let mut rest = response_file::expand(args).into_iter();
        while let Some(arg) = rest.next() {
            let text = arg.to_string_lossy().into_owned();
            match text.as_str() {
                "-o" | "--output" => {
                    line.output = Some(rest.next().ok_or_else(|| missing(&text))?);
                    continue;
                }
                "--module" => {
                    line.modules.push(rest.next().ok_or_else(|| missing(&text))?);
                    continue;
                }
                "--help" => line.question = Some(Question::Help),
                "--print-paths" => line.question = Some(Question::Paths),
                "--linux" => line.for_linux = true,
                "--pthread=system" => line.pthread = Pthread::System,
                "--pthread=hadal" => line.pthread = Pthread::Hadal,
                text if text.starts_with("--pthread=") => return Err(wrong_library(text, "thread")),
                "--openmp=system" => line.openmp_of = Some(OpenMp::System),
                "--openmp=hadal" => line.openmp_of = Some(OpenMp::Hadal),
                "--openmp-tools" => line.openmp_tools = true,
                text if text.starts_with("--openmp=") => return Err(wrong_library(text, "OpenMP")),
                text if NO_PROGRAM.contains(&text) => return Err(no_program(text)),
                _ => {
                    if let Some(value) = attached(&arg, "--module=") {
                        line.modules.push(value);
                        continue;
                    }
                    if let Some(value) = attached(&arg, "--output=").or_else(|| attached(&arg, "-o")) {
                        line.output = Some(value);
                        continue;
                    }
                    match text.as_str() {
                        "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" | "-r" | "-Wl,-r" => {
                            objects = true
                        }
                        "-###" => dry = true,
                        "-pthread" | "-lpthread" => line.threads = true,
                        "-fopenmp" | "-fopenmp=libgomp" | "-fopenmp=libomp" | "-fopenmp=libiomp5"
                        | "-lgomp" | "-lomp" | "-liomp5" => {
                            line.threads = true;
                            line.openmp = true;
                        }
                        "-lgfortran" => line.fortran = true,
                        "-fno-lto" => line.link_time = false,
                        text if text == "-flto" || text.starts_with("-flto=") => line.link_time = true,
                        "-static" | "--static" | "-static-pie" => line.is_static = true,
                        "-nostdlib" | "-nodefaultlibs" | "-nolibc" => line.no_libraries = true,
                        _ => {}
                    }
                    let is_option = text.starts_with('-') && text != "-";
                    inputs += usize::from(!is_option || text.starts_with("-l"));
                    let takes_value = WITH_VALUE.contains(&text.as_str());
                    let input_by_name = text == "-l";
                    line.args.push(arg);
                    if takes_value && let Some(value) = rest.next() {
                        line.threads |= input_by_name && value == "pthread";
                        line.args.push(value);
                    }
                }
            }
        }
        line.stage = match (inputs, dry, objects) {
            (0, ..) | (_, true, _) => Stage::Query,
            (.., true) => Stage::Objects,
            _ => Stage::Program,
        };
        line.make_static();
        if line.openmp_tools && line.stage == Stage::Program && (line.for_linux || !line.has_own_openmp()) {
            return Err(no_tools());
        }
        Ok(line)
    }

    /// Whether the program gets Hadal's OpenMP run-time: if it is to have Hadal's threads, unless the line says otherwise.
    pub(crate) fn has_own_openmp(&self) -> bool {
        let default = match self.pthread {
            Pthread::Hadal => OpenMp::Hadal,
            Pthread::System => OpenMp::System,
        };
        self.openmp && !self.no_libraries && self.openmp_of.unwrap_or(default) == OpenMp::Hadal
    }

    /// An image holds no dynamic linker: what asks for a position-independent program gets a static one, and what names the
    /// file of a shared library, as CMake does, the static one of that name.
    fn make_static(&mut self) {
        if self.for_linux || self.stage != Stage::Program {
            return;
        }
        // Build systems that ask the compiler which libraries it links name them again, and twice is once too often.
        if !self.no_libraries {
            let is_own = |arg: &OsString| {
                Path::new(arg).file_name().is_some_and(|name| OWN_LIBRARIES.iter().any(|own| name == *own))
            };
            self.args.retain(|arg| !is_own(arg));
        }
        for arg in &mut self.args {
            if let Some((library, name)) = static_library(arg) {
                let is_openmp = OPENMP_LIBRARIES.contains(&name.as_str());
                self.threads |= is_openmp || name == "pthread";
                self.openmp |= is_openmp;
                // Without a directory, so that Hadal's is found if it is wanted.
                *arg = if is_openmp { format!("-l{name}").into() } else { library };
            }
        }
        for arg in self.args.iter_mut().filter(|arg| *arg == "-pie" || *arg == "--pie") {
            *arg = "-static-pie".into();
            self.is_static = true;
        }
    }
}

/// For the file of a shared library: the static one beside it, or an option that makes the linker look for one; and its name.
fn static_library(arg: &OsStr) -> Option<(OsString, String)> {
    let file = Path::new(arg);
    let (name, version) = file.file_name()?.to_str()?.strip_prefix("lib")?.split_once(".so")?;
    let is_version = version.chars().all(|c| c == '.' || c.is_ascii_digit());
    if arg.as_bytes().starts_with(b"-") || name.is_empty() || !is_version {
        return None;
    }
    let beside = file.with_file_name(format!("lib{name}.a"));
    let library = if beside.is_file() { beside.into_os_string() } else { format!("-l{name}").into() };
    Some((library, name.to_owned()))
}

fn missing(option: &str) -> Failure {
    Failure::Usage {
        what: format!("{option} needs a value"),
        help: "`hadal cc --help` lists Hadal's own options".into(),
    }
}

fn wrong_library(option: &str, what: &str) -> Failure {
    let name = option.split('=').next().unwrap_or(option);
    Failure::Usage {
        what: format!("{option}: no such {what} library"),
        help: format!("{name}=hadal (the default) or {name}=system"),
    }
}

fn no_program(option: &str) -> Failure {
    Failure::Usage {
        what: format!("{option}: a shared library cannot be part of an image, which is one static program"),
        help:
            "compile with -c, put the objects into a static library (ar rcs libX.a X.o), and link with that"
                .into(),
    }
}

fn no_tools() -> Failure {
    Failure::Usage {
        what: "--openmp-tools: this program does not get Hadal's OpenMP run-time, which would load them"
            .into(),
        help: "link an image with -fopenmp, and without --linux, --openmp=system and --pthread=system".into(),
    }
}

/// The rest of an argument behind a prefix, unless nothing is there.
fn attached(arg: &OsStr, prefix: &str) -> Option<OsString> {
    let rest = arg.as_bytes().strip_prefix(prefix.as_bytes())?;
    // The only options of compilers that begin with -o and are no names are spelt with a letter more (-object, …).
    (!rest.is_empty()).then(|| OsString::from_vec(rest.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(args: &[&str]) -> Line {
        Line::read(args.iter().map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn stages_are_told_apart() {
        for objects in ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"] {
            assert_eq!(read(&[objects, "a.c"]).stage, Stage::Objects, "{objects}");
        }
        for query in
            [&["--version"][..], &["-v"], &["-dumpmachine"], &["-o", "x"], &["-###", "a.c"], &["-I", "dir"]]
        {
            assert_eq!(read(query).stage, Stage::Query, "{query:?}");
        }
        for program in [&["a.c"][..], &["-MD", "-MF", "d", "a.c"], &["-x", "c", "-"], &["-L.", "-lmine"]] {
            assert_eq!(read(program).stage, Stage::Program, "{program:?}");
        }
    }

    #[test]
    fn the_output_is_taken_out_and_the_rest_stays() {
        let line = read(&["-O2", "-o", "x", "a.c", "-Wl,-z,now", "-funknown-to-us", "--param", "x=1"]);
        assert_eq!(line.output, Some("x".into()));
        assert_eq!(line.args, ["-O2", "a.c", "-Wl,-z,now", "-funknown-to-us", "--param", "x=1"]);
        assert_eq!(read(&["-ox", "a.c"]).output, Some("x".into()));
        assert_eq!(read(&["-D", "-o", "a.c"]).output, None);
    }

    #[test]
    fn own_options_do_not_reach_the_compiler() {
        let line =
            read(&["--pthread=system", "--linux", "--module", "a=b", "--module=c=d", "-pthread", "a.c"]);
        assert_eq!(line.args, ["-pthread", "a.c"]);
        assert!(line.for_linux && line.threads && line.pthread == Pthread::System);
        assert_eq!(line.modules, ["a=b", "c=d"]);
        assert_eq!(read(&["--help"]).question, Some(Question::Help));
    }

    #[test]
    fn tools_need_the_run_time_that_loads_them() {
        let line = |args: &[&str]| Line::read(args.iter().map(Into::into).collect());
        assert!(line(&["--openmp-tools", "-fopenmp", "a.c"]).is_ok_and(|line| line.openmp_tools));
        assert!(line(&["--openmp-tools", "-c", "a.c"]).is_ok());
        for other in [&["a.c"][..], &["-fopenmp", "--openmp=system", "a.c"], &["-fopenmp", "--linux", "a.c"]]
        {
            assert!(line(&[&["--openmp-tools"], other].concat()).is_err(), "{other:?}");
        }
    }

    #[test]
    fn the_last_word_on_link_time_optimisation_counts() {
        assert!(read(&["-flto=auto", "a.c"]).link_time && read(&["-fno-lto", "-flto", "a.c"]).link_time);
        assert!(
            !read(&["a.c", "-flto-partition=one"]).link_time
                && !read(&["-flto", "-fno-lto", "a.c"]).link_time
        );
    }

    #[test]
    fn openmp_is_hadals_where_the_threads_are() {
        assert!(read(&["-fopenmp", "a.c"]).has_own_openmp());
        assert!(read(&["a.o", "-lgomp"]).has_own_openmp());
        assert!(read(&["-fopenmp", "--pthread=system", "--openmp=hadal", "a.c"]).has_own_openmp());
        for other in
            [&["a.c"][..], &["-fopenmp", "--openmp=system", "a.c"], &["-fopenmp", "--pthread=system", "a.c"]]
        {
            assert!(!read(other).has_own_openmp(), "{other:?}");
        }
    }

    #[test]
    fn shared_libraries_and_wrong_values_are_refused() {
        for wrong in
            [&["-shared", "a.c"][..], &["-Wl,-shared", "a.o"], &["--pthread=mine", "a.c"], &["a.c", "-o"]]
        {
            assert!(Line::read(wrong.iter().map(OsString::from).collect()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn position_independent_programs_become_static() {
        let line = read(&["-pie", "a.c"]);
        assert_eq!((line.args[0].clone(), line.is_static), ("-static-pie".into(), true));
        assert!(!read(&["--linux", "-pie", "a.c"]).is_static);
    }

    #[test]
    fn shared_libraries_become_static_ones() {
        let dir = tempfile::tempdir().unwrap();
        let beside = dir.path().join("libm-2.36.a");
        fs::write(&beside, "").unwrap();
        let shared = dir.path().join("libm-2.36.so.6");
        let line = read(&[
            "a.o",
            "/usr/lib/libgomp.so",
            &shared.to_string_lossy(),
            "libx.so.1.2",
            "a.so",
            "libx.sock",
        ]);
        assert_eq!(line.args, ["a.o", "-lgomp", &beside.to_string_lossy(), "-lx", "a.so", "libx.sock"]);
        assert!(line.threads);
        assert_eq!(read(&["/cache/libhrt-pthread.a", "a.o", "/cache/libhrt.a"]).args, ["a.o"]);
        assert_eq!(read(&["-nostdlib", "a.o", "/cache/libhrt.a"]).args.len(), 3);
        assert_eq!(read(&["--linux", "a.o", "/usr/lib/libgomp.so"]).args[1], "/usr/lib/libgomp.so");
        assert_eq!(read(&["a.o", "-Wl,-rpath,/x/libx.so"]).args[1], "-Wl,-rpath,/x/libx.so");
    }

    #[test]
    fn response_files_are_part_of_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("args");
        fs::write(&file, "-c a.c -o 'x y'").unwrap();
        let line = read(&[&format!("@{}", file.display())]);
        assert_eq!((line.stage, line.output), (Stage::Objects, Some("x y".into())));
        assert_eq!(read(&["@/no/such/file"]).args, ["@/no/such/file"]);
    }
}
