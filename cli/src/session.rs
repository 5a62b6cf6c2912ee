// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Session`]: one machine from start to end. It starts QEMU, answers the guest, forwards signals, keeps the time
//! limit, and turns what happened into an [`Outcome`] or a [`Failure`].

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus as ProcessStatus;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use hadal_abi::config::{BootAction, RunConfig};
use hadal_abi::control::{self, ExitStatus, HostMessage, OutputStream};
use hadal_abi::machine::{QEMU_STATUS_DONE, QEMU_STATUS_PANIC};
use hadal_abi::paths::Paths;
use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;
use rustix::process::{Signal, getpid, kill_process};

use crate::channel::{self, Event, GuestSender, Recorded, ReportTarget};
use crate::child::QemuProcess;
use crate::failure::Failure;
use crate::job_control::is_orphaned;
use crate::kernel::Kernel;
use crate::line_editor::TerminalMode;
use crate::live::{Asked, Description, Listener, Requests};
use crate::log_tail::{LogSink, LogTail};
use crate::observed::Observed;
use crate::qemu::{self, Accel, Endpoints, MachineSpec};
use crate::qemu_failure::Cause;
use crate::signals;
use crate::terminal::Terminal;
use crate::view::HostMount;

/// How long the kernel may take to say its first word; machines of hundreds of CPUs need a part of it.
const BOOT_LIMIT: Duration = Duration::from_secs(120);

/// How long the kernel may take to list its threads after the time limit, or to end after a panic.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(3);

/// How long QEMU may take to end after its control channel has closed.
const REAP_LIMIT: Duration = Duration::from_secs(3);

/// A second Ctrl-C within this time ends the machine.
const SECOND_SIGNAL_WINDOW: Duration = Duration::from_secs(3);

const SIGINT: u8 = 2;
const SIGPIPE: u8 = 13;
const SIGTERM: u8 = 15;
const SIGTSTP: u8 = 20;
const SIGWINCH: u8 = 28;

/// What to run and how to watch it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) spec: MachineSpec,
    pub(crate) boot: Boot,
    pub(crate) mounts: Vec<HostMount>,
    pub(crate) log: LogSink,
    pub(crate) reports: ReportTarget,
    pub(crate) time_limit: Option<Duration>,
    /// Whether signals to this process go to the program.
    pub(crate) forward_signals: bool,
    /// What the run is called in the list of live runs; `None`: it is not listed.
    pub(crate) listed: Option<Description>,
}

/// What a machine is started with.
#[derive(Debug)]
pub(crate) struct Boot {
    pub(crate) kernel: Kernel,
    pub(crate) config: RunConfig,
    /// Contents of the modules that the configuration names.
    pub(crate) modules: Vec<Vec<u8>>,
    /// The kernel's command line.
    pub(crate) command_line: OsString,
}

impl Boot {
    /// This command's kernel with a configuration and nothing else.
    pub(crate) fn plain(config: RunConfig) -> anyhow::Result<Self> {
        Ok(Self { kernel: Kernel::own()?, config, modules: Vec::new(), command_line: OsString::new() })
    }

    /// The boot module.
    pub(crate) fn module(&self) -> Vec<u8> {
        self.kernel.boot_module(&self.config, &self.modules)
    }
}

/// A run that ended in order.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Exit status of the program.
    pub(crate) status: u8,
    /// What the kernel uses of the machine, when the machine report was asked for.
    pub(crate) paths: Option<Paths>,
}

impl Session {
    /// Runs the machine to its end.
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        self.observe(&mut Observed::default())
    }

    /// The same, and keeps what the guest recorded, however the run ends.
    pub(crate) fn observe(self, observed: &mut Observed) -> Result<Outcome, Failure> {
        let _terminal = (self.boot.config.on_boot == BootAction::Shell).then(TerminalMode::save);
        let has_terminal = self.boot.config.terminal.is_some();
        let terminal = has_terminal.then(Terminal::open).flatten().map(Arc::new);
        // The threads of the channel outlive the run.
        let _restored = terminal.clone().map(Restored);
        let (sender, events) = mpsc::channel();
        if self.forward_signals {
            signals::forward(sender.clone(), terminal.is_some()).context("cannot watch for signals")?;
        }
        let kernel = memory_file("hadal-kernel", &self.boot.kernel.elf)?;
        let config = memory_file("hadal-config", &self.boot.module())?;
        let (control, control_far) = socket_pair()?;
        let (log, log_far) = socket_pair()?;
        let ends = Endpoints {
            kernel: inherited_path(&kernel),
            config: inherited_path(&config),
            command_line: self.boot.command_line,
            control: Some(format!("fd={}", control_far.as_raw_fd()).into()),
            serial: format!("socket,id=serial,fd={}", log_far.as_raw_fd()).into(),
        };
        let line = qemu::command_line(&self.spec, &ends, &self.mounts);
        let mut process = QemuProcess::spawn(&line)
            .with_context(|| format!("cannot start {}", self.spec.qemu.display()))?;
        drop((control_far, log_far, kernel, config));
        let _listener = self
            .listed
            .and_then(|described| Listener::open(described, &self.spec, process.id(), sender.clone()));

        let stderr = process.take_stderr().context("QEMU's standard error is a pipe")?;
        let on_panic = sender.clone();
        let watch = Watch {
            started: Instant::now(),
            log: LogTail::follow(log, self.log, move || drop(on_panic.send(Event::PanicLogged))),
            qemu_output: LogTail::follow(stderr, LogSink::Quiet, || {}),
            guest: channel::open(control, sender, self.reports, terminal.clone())
                .context("cannot open the control channel")?,
            process,
            events,
            time_limit: self.time_limit,
            boot_limit: self.spec.gdb_port.is_none().then_some(BOOT_LIMIT),
            spec: self.spec,
            hello: false,
            ending: None,
            observed,
            requests: Requests::default(),
            paths: None,
            last_signal: None,
            output_error: None,
            terminal,
        };
        watch.run()
    }
}

/// Makes the terminal what it was at the end of a run.
struct Restored(Arc<Terminal>);

impl Drop for Restored {
    fn drop(&mut self) {
        self.0.restore();
    }
}

/// A file in memory that QEMU inherits.
fn memory_file(name: &str, content: &[u8]) -> anyhow::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::empty()).context("cannot make a file in memory")?;
    let mut file = File::from(fd);
    file.write_all(content).context("cannot fill a file in memory")?;
    Ok(file.into())
}

/// Path under which a child opens a file that it inherits.
fn inherited_path(fd: &OwnedFd) -> OsString {
    format!("/dev/fd/{}", fd.as_raw_fd()).into()
}

/// A connection whose second end QEMU inherits.
fn socket_pair() -> anyhow::Result<(UnixStream, UnixStream)> {
    let (near, far) = UnixStream::pair().context("cannot make a socket pair")?;
    rustix::io::fcntl_setfd(&far, FdFlags::empty()).context("cannot pass on a socket")?;
    Ok((near, far))
}

/// Why the machine is being ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    TimeLimit,
    Panic,
}

/// A running machine and what is known of it.
struct Watch<'a> {
    started: Instant,
    process: QemuProcess,
    spec: MachineSpec,
    guest: GuestSender,
    events: Receiver<Event>,
    log: LogTail,
    qemu_output: LogTail,
    time_limit: Option<Duration>,
    boot_limit: Option<Duration>,
    hello: bool,
    /// Set when last words are awaited, with the time when patience ends.
    ending: Option<(Ending, Instant)>,
    /// What others have asked on the run's socket.
    requests: Requests,
    paths: Option<Paths>,
    observed: &'a mut Observed,
    last_signal: Option<(u8, Instant)>,
    output_error: Option<(OutputStream, std::io::Error)>,
    terminal: Option<Arc<Terminal>>,
}

impl Watch<'_> {
    /// Watches the machine to its end, and tells those who wait for that.
    fn run(mut self) -> Result<Outcome, Failure> {
        let outcome = self.follow();
        let (status, killed) = match &outcome {
            Ok(outcome) => (outcome.status, false),
            Err(failure) => (failure.status(), matches!(failure, Failure::Stopped { .. })),
        };
        self.requests.ended(status, killed);
        outcome
    }

    fn follow(&mut self) -> Result<Outcome, Failure> {
        loop {
            let event = match self.deadline() {
                Some(at) => self.events.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Exit(status)) => return self.exited(status),
                Ok(Event::ChannelEnded(error)) => return Err(self.channel_ended(error)),
                Ok(event) => self.note(event)?,
                Err(RecvTimeoutError::Timeout) => self.deadline_passed()?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.channel_ended(None)),
            }
        }
    }

    /// When the next limit passes.
    fn deadline(&self) -> Option<Instant> {
        if let Some((_, at)) = self.ending {
            return Some(at);
        }
        let boot = self.boot_limit.filter(|_| !self.hello);
        let limit = [self.time_limit, boot].into_iter().flatten().min().map(|limit| self.started + limit);
        [limit, self.requests.deadline()].into_iter().flatten().min()
    }

    /// Handles an event that does not end the run.
    fn note(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Hello { version } if version == control::VERSION => {
                self.hello = true;
                // A counting machine keeps the time of day that its configuration says.
                if self.spec.accel != Accel::TcgCounting {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    self.guest.send(&HostMessage::Clock { realtime_ns: now.as_nanos() as i64 });
                }
            }
            Event::Hello { version } => {
                return Err(Failure::setup(
                    format!(
                        "the kernel speaks version {version} of the control channel, this command {}",
                        control::VERSION
                    ),
                    "HADAL_KERNEL names a kernel of another version",
                ));
            }
            Event::Paths(paths) => self.paths = Some(paths),
            Event::Recorded(part) => self.keep(part)?,
            Event::OutputFailed(stream, error) => {
                // As on Linux: nobody reads any more, and the program is told by a signal.
                if error.kind() == std::io::ErrorKind::BrokenPipe {
                    self.guest.send(&HostMessage::Signal(SIGPIPE));
                } else {
                    self.output_error = Some((stream, error));
                }
            }
            Event::PanicLogged if self.ending.is_none() => {
                self.ending = Some((Ending::Panic, Instant::now() + LAST_WORDS_LIMIT));
            }
            Event::HostSignal(SIGWINCH) => {
                if let Some(size) = self.terminal.as_ref().and_then(|terminal| terminal.size()) {
                    self.guest.send(&size);
                }
            }
            Event::HostSignal(SIGTSTP) if !self.controls_jobs() => self.stop_until_continued(),
            Event::HostSignal(signal) => return self.host_signal(signal),
            Event::ListPiece(listing, piece) => self.requests.add_to_list(listing, &piece),
            Event::Asked(asked) => return self.asked(asked),
            Event::PanicLogged | Event::Reported | Event::Exit(_) | Event::ChannelEnded(_) => {}
        }
        Ok(())
    }

    /// Keeps a part of the trace or the profile. A machine that is still sending gets time for more.
    fn keep(&mut self, part: Recorded) -> Result<(), Failure> {
        if !self.observed.add(part) {
            self.process.kill();
            let how = "a piece of the trace or profile is damaged".into();
            return Err(Failure::Lost { how, log: self.last_lines() });
        }
        if let Some((_, patience)) = &mut self.ending {
            *patience = Instant::now() + LAST_WORDS_LIMIT;
        }
        Ok(())
    }

    /// Passes a signal on; the second in a row means that the program does not react.
    fn host_signal(&mut self, signal: u8) -> Result<(), Failure> {
        let now = Instant::now();
        let is_second = self
            .last_signal
            .is_some_and(|(last, at)| last == signal && now.duration_since(at) < SECOND_SIGNAL_WINDOW);
        // A person at a shell presses Ctrl-C as often as they like.
        if is_second && !self.controls_jobs() || !self.hello {
            self.process.kill();
            return Err(Failure::Interrupted { signal });
        }
        self.last_signal = Some((signal, now));
        self.guest.send(&HostMessage::Signal(signal));
        Ok(())
    }

    fn controls_jobs(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.controls_jobs())
    }

    /// The person wants to do something else: this process and the machine stop, until the shell that it was started from lets
    /// them go on; if there is none, they do not stop.
    fn stop_until_continued(&mut self) {
        // As the default action of the signal goes by.
        if is_orphaned() {
            return;
        }
        let began = Instant::now();
        if let Some(terminal) = &self.terminal {
            terminal.lend();
        }
        self.process.hold(true);
        // SIGSTOP stops all threads before it returns.
        let _ = kill_process(getpid(), Signal::STOP);
        self.process.hold(false);
        if let Some(terminal) = &self.terminal {
            terminal.take_back();
            if let Some(size) = terminal.size() {
                self.guest.send(&size);
            }
        }
        self.started += began.elapsed();
    }

    /// Does what `hadal ps`, `hadal stop` or `hadal stacks` wants.
    fn asked(&mut self, asked: Asked) -> Result<(), Failure> {
        match asked {
            Asked::List(listing, asker) => {
                if self.requests.add_list(listing, asker, self.hello) {
                    self.guest.send(&HostMessage::List(listing));
                }
            }
            Asked::Stop(stop) => {
                let grace = stop.grace.filter(|_| self.hello);
                self.requests.add_stop(stop);
                if grace.is_none() {
                    self.process.kill();
                    return Err(Failure::Stopped { grace: None });
                }
                self.guest.send(&HostMessage::Signal(SIGTERM));
            }
        }
        Ok(())
    }

    fn deadline_passed(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if let Some((ending, at)) = self.ending {
            return if now < at { Ok(()) } else { Err(self.patience_ended(ending)) };
        }
        if let Some(grace) = self.requests.grace_over(now) {
            self.process.kill();
            return Err(Failure::Stopped { grace: Some(grace) });
        }
        if self.time_limit.is_some_and(|limit| now >= self.started + limit) {
            self.guest.send(&HostMessage::ReportThreads);
            self.ending = Some((Ending::TimeLimit, now + LAST_WORDS_LIMIT));
            return Ok(());
        }
        if !self.hello && self.boot_limit.is_some_and(|limit| now >= self.started + limit) {
            self.process.kill();
            let how = format!("the kernel did not start within {} s", BOOT_LIMIT.as_secs());
            return Err(Failure::Lost { how, log: self.last_lines() });
        }
        Ok(())
    }

    /// The machine did not end by itself after its last words.
    fn patience_ended(&mut self, ending: Ending) -> Failure {
        self.process.kill();
        match ending {
            Ending::TimeLimit => self.time_limit_failure(false),
            Ending::Panic => self.panic_failure(None),
        }
    }

    fn time_limit_failure(&self, answered: bool) -> Failure {
        let seconds = self.time_limit.unwrap_or_default().as_secs_f64();
        Failure::Timeout { seconds, answered, log: self.last_lines() }
    }

    fn panic_failure(&self, text: Option<String>) -> Failure {
        self.log.wait_for_end(REAP_LIMIT);
        let logged = self.log.panic_report().unwrap_or_else(|| self.log.last(40));
        let report = match text {
            Some(text) => format!("{text}\n{logged}"),
            None => logged,
        };
        Failure::KernelPanic { report }
    }

    /// The guest said how the run ended; everything it wrote has been passed on.
    fn exited(&mut self, status: ExitStatus) -> Result<Outcome, Failure> {
        self.process.kill();
        self.log.wait_for_end(REAP_LIMIT);
        if let Some((Ending::TimeLimit, _)) = self.ending {
            return Err(self.time_limit_failure(true));
        }
        match &status {
            ExitStatus::CannotStart(text) => return Err(Failure::CannotStart(text.clone())),
            ExitStatus::KernelFailure(text) => return Err(self.panic_failure(Some(text.clone()))),
            ExitStatus::Exited(_) | ExitStatus::Signaled { .. } => {}
        }
        if let Some((stream, error)) = self.output_error.take() {
            let name = match stream {
                OutputStream::Stdout => "standard output",
                OutputStream::Stderr => "standard error",
                OutputStream::Terminal => "the terminal",
            };
            return Err(Failure::Other(anyhow::anyhow!(
                "cannot write {name}: {error} (the program ended with status {})",
                status.command_status()
            )));
        }
        Ok(Outcome { status: status.command_status(), paths: self.paths.take() })
    }

    /// The control channel is gone and the guest had not said that the run is over.
    fn channel_ended(&mut self, error: Option<control::ChannelError>) -> Failure {
        if let Some(error) = error {
            self.process.kill();
            return Failure::Lost {
                how: format!("the control channel is damaged: {error}"),
                log: self.last_lines(),
            };
        }
        let status = match self.process.reap(REAP_LIMIT) {
            Ok(status) => status,
            Err(e) => return Failure::Other(anyhow::Error::new(e).context("cannot wait for QEMU")),
        };
        self.log.wait_for_end(REAP_LIMIT);
        self.qemu_output.wait_for_end(REAP_LIMIT);
        if status.code() == Some(QEMU_STATUS_PANIC) || self.log.panic_report().is_some() {
            return self.panic_failure(None);
        }
        if let Some((Ending::TimeLimit, _)) = self.ending {
            return self.time_limit_failure(false);
        }
        let output = self.qemu_output.last(20);
        let ended_by_itself = matches!(status.code(), Some(0 | QEMU_STATUS_DONE));
        if !self.hello && self.log.last(1).is_empty() {
            let cause = Cause::find(&self.spec, &output);
            // A kernel that resets the machine before its first word makes QEMU end as if all were well.
            if !ended_by_itself || matches!(cause, Cause::NotQemu(_)) {
                return Failure::QemuFailed { cause, ended: status.to_string(), output };
            }
        }
        Failure::Lost { how: how_qemu_ended(status), log: self.last_lines() }
    }

    /// Last lines of the log and of QEMU's own output.
    fn last_lines(&self) -> String {
        let mut text = self.log.last(20);
        for line in self.qemu_output.last(10).lines() {
            text.push_str("QEMU: ");
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

fn how_qemu_ended(status: ProcessStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "it reset or powered itself off; a reset is most often a triple fault".into(),
        (Some(QEMU_STATUS_DONE), _) => "the kernel ended it without a word".into(),
        (Some(code), _) => format!("QEMU ended with status {code}"),
        (None, Some(signal)) => format!("QEMU was killed by signal {signal}"),
        (None, None) => "QEMU is gone".into(),
    }
}

/// Whether this failure means that someone pressed Ctrl-C twice, which needs no long message.
pub(crate) fn is_plain_interrupt(failure: &Failure) -> bool {
    matches!(failure, Failure::Interrupted { signal: SIGINT })
}
