// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machines of bochs, an emulator with paths that QEMU's translator never takes: MONITOR and MWAIT, x2APIC, TSC deadlines,
//! AVX-512, and processors of several makers and years.
//!
//! Bochs has a window, a debugger and no way to end: so it gets a terminal of its own, a file of debugger commands that
//! lets the machine go, and is ended when the guest has written a marker to its serial line.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::TestError;
use crate::machine::Permit;
use crate::run::{self, Outcome};

/// Processors of the tests: the newest server of Intel, two generations of AMD's with MONITOR, and one without.
pub const MODELS: [&str; 4] = ["corei7_skylake_x", "ryzen", "phenom_8650_toliman", "athlon64_venice"];

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const PACKAGES: &str = "sudo apt-get install bochs bochsbios vgabios bochs-term";
/// Lines of bochs's own log that a failed test shows.
const LOG_LINES: usize = 30;

/// What a machine starts from.
#[derive(Clone, Debug)]
pub enum Disc {
    /// An ISO image.
    Iso(PathBuf),
    /// A diskette's first sectors.
    Diskette(PathBuf),
}

/// One machine.
#[derive(Clone, Debug)]
pub struct Bochs {
    /// Name of the processor, as bochs calls it.
    pub model: &'static str,
    /// Number of processors.
    pub cpus: u32,
    /// What it starts from.
    pub disc: Disc,
}

impl Bochs {
    /// Runs the machine until its serial line has shown a whole line with `marker` and returns all that the line has shown. `directory` takes
    /// its files.
    pub fn run(&self, directory: &Path, marker: &str, limit: Duration) -> Result<String, TestError> {
        let _permit = Permit::one();
        let serial = directory.join("serial");
        let log = directory.join("bochs.log");
        let configuration = directory.join("bochsrc");
        let commands = directory.join("commands");
        write(&configuration, &self.configuration(directory)?)?;
        write(&commands, "c\n")?;
        let mut machine = start(&configuration, &commands)?;
        let deadline = Instant::now() + limit;
        loop {
            let shown = read(&serial);
            if shown.split_once(marker).is_some_and(|(_, rest)| rest.contains('\n')) {
                return Ok(shown);
            }
            if let Some(status) = machine.has_ended()? {
                let text = format!("bochs ended by itself ({status})\n{shown}\n{}", tail(&read(&log)));
                return Err(TestError::Wrong(text));
            }
            if Instant::now() >= deadline {
                let outcome = Outcome { stdout: shown.into(), stderr: tail(&read(&log)).into(), status: -1 };
                let command = format!("bochs with {self:?}");
                return Err(TestError::Hung { command, limit, outcome: Box::new(outcome) });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn configuration(&self, directory: &Path) -> Result<String, TestError> {
        let disc = match &self.disc {
            Disc::Iso(file) => format!(
                "ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14\n\
                 ata0-master: type=cdrom, path={}, status=inserted\nboot: cdrom\n",
                file.display()
            ),
            Disc::Diskette(file) => {
                format!("floppya: 1_44={}, status=inserted\nboot: floppy\n", file.display())
            }
        };
        let Self { model, cpus, .. } = self;
        // Time passes with instructions, 120 million of them in a second: below 100 million the kernel does not believe its
        // measurement of the time-stamp counter.
        Ok(format!(
            "display_library: term\n\
             cpu: model={model}, count={cpus}, ips=120000000, reset_on_triple_fault=0, ignore_bad_msrs=0\n\
             memory: guest=256, host=256\n\
             romimage: file={}\n\
             vgaromimage: file={}\n\
             vga: extension=none, update_freq=1\n\
             pci: enabled=1, chipset=i440fx\n\
             clock: sync=none, time0=utc\n\
             com1: enabled=1, mode=file, dev={}\n\
             log: {}\n\
             panic: action=fatal\nerror: action=report\ninfo: action=report\ndebug: action=ignore\n\
             {disc}",
            file(&["/usr/share/bochs/BIOS-bochs-latest"])?,
            file(&["/usr/share/vgabios/vgabios.bin", "/usr/share/bochs/VGABIOS-lgpl-latest"])?,
            directory.join("serial").display(),
            directory.join("bochs.log").display(),
        ))
    }
}

/// A running emulator. Dropping it ends it.
struct Machine(Child);

impl Machine {
    fn has_ended(&mut self) -> Result<Option<std::process::ExitStatus>, TestError> {
        self.0.try_wait().map_err(TestError::io("cannot wait for bochs"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(configuration: &Path, commands: &Path) -> Result<Machine, TestError> {
    let (master, slave) = run::terminal().map_err(TestError::io("cannot make a pseudo-terminal"))?;
    let end = || slave.try_clone().map(Stdio::from).map_err(TestError::io("cannot use a pseudo-terminal"));
    let mut command = Command::new("bochs");
    command.arg("-q").arg("-f").arg(configuration).arg("-rc").arg(commands);
    command.env("TERM", "xterm").stdin(end()?).stdout(end()?).stderr(end()?).process_group(0);
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => TestError::Missing { tool: "bochs".to_owned(), remedy: PACKAGES },
        _ => TestError::io("cannot start bochs")(error),
    })?;
    // What it shows on its terminal is the machine's screen: it must be read, and nobody looks at it.
    thread::spawn(move || std::io::copy(&mut File::from(master), &mut std::io::sink()));
    Ok(Machine(child))
}

/// The first of these files that is there.
fn file(places: &[&'static str]) -> Result<&'static str, TestError> {
    places
        .iter()
        .copied()
        .find(|place| Path::new(place).is_file())
        .ok_or_else(|| TestError::Missing { tool: places[0].to_owned(), remedy: PACKAGES })
}

fn write(file: &Path, text: &str) -> Result<(), TestError> {
    fs::write(file, text).map_err(TestError::io(format!("cannot write {}", file.display())))
}

/// The text of a file that may not be there yet.
fn read(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).replace('\r', "")
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}
