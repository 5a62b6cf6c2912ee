// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds the programs from the sources that are embedded in the command, with the system's compiler. What is built is
//! kept in the cache until a source changes.

mod languages;

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::catalogue::openmp;
use crate::host;
use crate::place::{Place, Runtime, System, Waiting};

/// Name below the repository's root, and content.
const SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Optimises a program as a whole, when it is linked. Debian's clang needs a linker for this that is no dependency of ours.
const LINK_TIME: &str = "-flto=auto";

/// For short functions: none crosses a page. TCG does not chain blocks that do, so by chance of the layout a
/// loop would cost several times as much.
const WITHIN_PAGES: &str = "-falign-functions=256";

/// For long functions: where they cross pages, which TCG's blocks are not chained across, is then the same in all places.
const FROM_PAGES: &str = "-falign-functions=4096";

const FLAGS: [&str; 4] = ["-O2", "-g", "-Wall", "-Wextra"];

const COMPILER_REMEDY: &str = "install gcc, g++ and libc6-dev (for libomp: clang and libomp-dev)";
const CLANG_REMEDY: &str = "install clang and libomp-dev";

/// A program on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    pub(crate) args: Vec<String>,
    /// Variables of its environment, which has no others.
    pub(crate) env: Vec<(String, String)>,
}

impl Program {
    /// The same program with arguments.
    pub(crate) fn with_args(&self, args: impl IntoIterator<Item = String>) -> Self {
        Self { args: args.into_iter().collect(), ..self.clone() }
    }

    /// The same program with a further variable.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The program and its arguments.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let args = self.args.iter().map(OsString::from);
        std::iter::once(self.file.clone().into_os_string()).chain(args).collect()
    }

    /// The interpreter and the libraries, as the loader names them; none for a static program.
    pub(crate) fn libraries(&self) -> Result<Vec<PathBuf>> {
        // Fails for a static program, and says so on standard error.
        let output =
            Command::new("ldd").arg(&self.file).output().context("cannot run ldd: install libc-bin")?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(library_path).map(Path::to_path_buf).collect())
    }
}

/// The file in a line of ldd: `libc.so.6 => /lib/libc.so.6 (0x...)` or `/lib64/ld.so (0x...)`.
fn library_path(line: &str) -> Option<&Path> {
    let target = line.split_once("=>").map_or(line, |(_, target)| target);
    let path = Path::new(target.split_whitespace().next()?);
    path.is_absolute().then_some(path)
}

/// Results of another command or of older sources are removed after this.
const KEEP: Duration = Duration::from_secs(3600);

/// The sources on disk, and where results go.
#[derive(Debug)]
pub(crate) struct Toolchain {
    hadal: PathBuf,
    tree: PathBuf,
    built: PathBuf,
}

impl Toolchain {
    /// Unpacks the sources into the cache, unless they are there. Images hold a kernel, so they belong to one command.
    pub(crate) fn new(cache: &Path, hadal: &Path) -> Result<Self> {
        let name = format!("programs-{}-{:016x}", env!("HADAL_BENCH_SOURCES"), identity(hadal));
        remove_old(cache, &name);
        let home = cache.join(name);
        let toolchain =
            Self { hadal: hadal.to_path_buf(), tree: home.join("tree"), built: home.join("built") };
        // Written last: when it is there, everything is.
        let record = home.join("complete");
        if !record.is_file() {
            for (name, content) in SOURCES {
                write(&toolchain.tree.join(name), content)?;
            }
            fs::create_dir_all(&toolchain.built).context("cannot make the directory for programs")?;
            write(&record, b"")?;
        }
        Ok(toolchain)
    }

    /// Directory of the programs: the working directory of every run.
    pub(crate) fn programs(&self) -> &Path {
        &self.built
    }

    /// A program of `programs/` for a place: an image for Hadal, and one static program with libhrt-linux for all others.
    pub(crate) fn program(&self, name: &str, place: Place) -> Result<Program> {
        let source = format!("bench/programs/{name}.c");
        let mut compiler = Command::new(&self.hadal);
        compiler.arg("cc").args(FLAGS);
        match place.system() {
            System::Image => self.build(
                &format!("{name}.hadal"),
                compiler.arg("-DBENCH_IMAGE=1").args(image_flags(name)).arg(source),
            ),
            System::Pik | System::Isolated | System::Guest | System::Host => {
                self.build(name, compiler.args(["--linux", "-static"]).arg(source))
            }
        }
    }

    /// A program of OpenMP for a place, with the variables that let it have its run-time there. Flags are the same for all
    /// compilers but for [`LINK_TIME`]. But for images it is dynamic: one file of gcc for libgomp and for Hadal's run-time in its place.
    pub(crate) fn openmp(&self, program: &openmp::Program, place: Place) -> Result<Program> {
        let (system, runtime) = (place.system(), place.way().runtime);
        let libraries = program.sources.iter().any(|source| source.ends_with(".cpp")).then_some("-lstdc++");
        let code_of = match runtime {
            Runtime::Libgomp | Runtime::Hadal => "gcc",
            Runtime::Libomp | Runtime::HadalClang => "clang",
        };
        let (mut compiler, ending) = match (system, code_of) {
            (System::Image, "gcc") => (Command::new(&self.hadal), ".hadal"),
            (System::Image, _) => (Command::new(&self.hadal), ".clang.hadal"),
            (_, "gcc") => (Command::new(code_of), ".libgomp"),
            _ => (Command::new(code_of), ".libomp"),
        };
        if system == System::Image {
            compiler.arg("cc").env("CC", code_of);
        }
        compiler.args(FLAGS).args(program.flags());
        if code_of == "gcc" && program.class.is_none() {
            // What a construct costs: gcc can make an image's run-time part of the program.
            compiler.arg(LINK_TIME);
        }
        compiler
            .arg(if program.class.is_none() { WITHIN_PAGES } else { FROM_PAGES })
            .args(program.sources.iter().map(|source| format!("bench/programs/{source}")))
            .arg("-lm")
            .args(libraries);
        if runtime == Runtime::Libomp {
            compiler.arg(libomp_path()?);
        }
        let mut built = self.build(&format!("{}{ending}", program.name), &mut compiler)?;
        if (system, runtime) == (System::Host, Runtime::Hadal) {
            built = built.with_variable("LD_LIBRARY_PATH", &self.openmp_library()?.to_string_lossy());
        }
        if place.way().waiting == Waiting::Passive {
            built = built.with_variable("OMP_WAIT_POLICY", "passive");
        }
        Ok(built)
    }

    /// The directory with Hadal's OpenMP run-time for Linux.
    fn openmp_library(&self) -> Result<PathBuf> {
        let sdk = self.built.join("sdk");
        if !sdk.is_dir() {
            let scratch =
                tempfile::tempdir_in(&self.built).context("cannot make a directory for a library")?;
            let made = scratch.path().join("sdk");
            host::run_tool(Command::new(&self.hadal).arg("sdk").arg(&made), COMPILER_REMEDY)?;
            // Of two commands that make it at once, one finds the other's.
            if fs::rename(&made, &sdk).is_err() {
                ensure!(sdk.is_dir(), "cannot keep {}", sdk.display());
            }
        }
        Ok(sdk.join("lib/openmp"))
    }

    /// An ordinary program, or something like it, from one source of the tree.
    pub(crate) fn compile(&self, name: &str, source: &str, flags: &[&str]) -> Result<Program> {
        self.build(name, Command::new("cc").args(FLAGS).arg(source).args(flags))
    }

    /// Runs a compiler unless its result is there.
    fn build(&self, name: &str, compiler: &mut Command) -> Result<Program> {
        let file = self.built.join(name);
        if !file.is_file() {
            let scratch =
                tempfile::tempdir_in(&self.built).context("cannot make a directory for a program")?;
            let built = scratch.path().join(name);
            host::run_tool(compiler.current_dir(&self.tree).arg("-o").arg(&built), COMPILER_REMEDY)?;
            // Two commands may build the same program; either result is good.
            fs::rename(&built, &file).with_context(|| format!("cannot keep {}", file.display()))?;
        }
        Ok(Program { file, args: Vec::new(), env: Vec::new() })
    }

    /// The QEMU plugin that counts instructions, for the version of its interface.
    pub(crate) fn counting_plugin(&self, api: u32) -> Result<PathBuf> {
        let define = format!("-DPLUGIN_API={api}");
        let flags = ["-shared", "-fPIC", "-fvisibility=hidden", &define];
        let plugin = self.compile(&format!("path-{api}.so"), "bench/plugin/path.c", &flags)?;
        ensure!(plugin.file.is_file(), "the plugin is gone");
        Ok(plugin.file)
    }
}

/// Lets a program of clang find its OpenMP run-time in the Linux guest too, which has no cache of the linker's.
fn libomp_path() -> Result<String> {
    let file = host::run_tool(Command::new("clang").arg("-print-file-name=libomp.so.5"), CLANG_REMEDY)?;
    let directory = Path::new(file.trim()).parent().context("clang has no libomp: install libomp-dev")?;
    Ok(format!("-Wl,-rpath,{}", directory.display()))
}

/// Programs that measure pthreads, or are ordinary ones, get libhrt-pthread in images. All others keep libc's threads, which are only there to have
/// something on every CPU.
fn image_flags(program: &str) -> &'static [&'static str] {
    match program {
        "pthread" | "scaling" | "apps" => &["-pthread"],
        _ => &[],
    }
}

/// A number that changes with the command and with the kernel that it puts into images.
fn identity(hadal: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let kernel = std::env::var_os("HADAL_KERNEL").map(PathBuf::from);
    for file in std::iter::once(hadal).chain(kernel.as_deref()) {
        let metadata = file.metadata().ok();
        let stamp = metadata.and_then(|metadata| Some((metadata.len(), metadata.modified().ok()?)));
        (file, stamp).hash(&mut hasher);
    }
    hasher.finish()
}

/// Removes what other commands have left in the cache.
fn remove_old(cache: &Path, name: &str) {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let is_other = |entry: &fs::DirEntry| {
        let other = entry.file_name();
        other.to_string_lossy().starts_with("programs-") && other != name
    };
    for entry in entries.filter(is_other) {
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > KEEP) {
            // What cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    let folder = file.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{BENCHMARKS, How};

    #[test]
    fn lines_of_ldd() {
        let path = |line| library_path(line).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(path("\tlinux-vdso.so.1 (0x7ff)"), None);
        assert_eq!(path("\tlibc.so.6 => /lib/libc.so.6 (0x7f)").as_deref(), Some("/lib/libc.so.6"));
        assert_eq!(path("\t/lib64/ld.so.2 (0x7f)").as_deref(), Some("/lib64/ld.so.2"));
    }

    #[test]
    fn every_program_is_embedded() {
        for benchmark in BENCHMARKS.iter() {
            let sources = match benchmark.how {
                How::Program(name) => vec![format!("{name}.c")],
                How::OpenMp(program) => program.sources.iter().map(|name| (*name).to_owned()).collect(),
                How::Language(program) => {
                    let by_hand = program.peer.iter().flat_map(|peer| peer.sources);
                    by_hand.chain([&program.source]).map(|name| (*name).to_owned()).collect()
                }
                _ => Vec::new(),
            };
            for source in sources {
                let source = format!("bench/programs/{source}");
                assert!(SOURCES.iter().any(|(known, _)| *known == source), "{source}");
            }
        }
    }
}
