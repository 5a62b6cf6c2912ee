// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal run` at a terminal, from an interactive shell of the host: what is typed, jobs, settings, size, and that the terminal is
//! afterwards what it was.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hadal_tests::case::expect_status;
use hadal_tests::machine::{Permit, hadal_command};
use hadal_tests::run::Running;
use hadal_tests::{TestError, scratch};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(60);
/// Prompts of the host's shell and of that in the guest.
const HOST: &str = "host% ";
const GUEST: &str = "guest% ";

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_Z: &str = "\x1a";

pub(crate) fn register(suite: &mut Suite) {
    for ring in ["0", "3"] {
        suite.hadal(format!("terminal/jobs/ring{ring}"), move |name| jobs(name, ring));
    }
    suite.hadal("terminal/settings", settings);
    suite.hadal("terminal/signals", signals);
    suite.hadal("terminal/background", background);
    suite.hadal("terminal/streams", streams);
    suite.hadal("terminal/orphaned", orphaned);
}

/// The beginning of a command in a session with a terminal. A shell does not hear of signals that it was started to ignore, as
/// what runs in the background may be.
fn on_own_terminal() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,QUIT,HUP,TERM,TSTP", "setsid", "-c", "-w"]);
    command
}

/// An interactive shell of the host on a terminal of its own.
struct Person {
    running: Running,
    /// Bytes of the screen that have been looked at.
    seen: usize,
    hadal: String,
    _permit: Permit,
}

impl Person {
    fn sits_down(name: &str) -> Result<Self, TestError> {
        let directory = scratch::empty_directory(name)?;
        let mut command = on_own_terminal();
        command.args(["bash", "--norc", "--noprofile", "-i"]);
        command.current_dir(&directory).env("TERM", "dumb").env("PS1", HOST).env("HISTFILE", "");
        let hadal = hadal_command()?.display().to_string();
        let permit = Permit::one();
        let mut person =
            Self { running: Running::start_on_terminal(command)?, seen: 0, hadal, _permit: permit };
        person.sees(HOST)?;
        person.does("stty rows 30 cols 100; stty -g > before", HOST)?;
        Ok(person)
    }

    fn types(&mut self, keys: &str) -> Result<(), TestError> {
        self.running.type_in(keys.as_bytes())
    }

    /// Waits until a text is shown, behind all that was waited for before; returns what came before it.
    fn sees(&mut self, text: &str) -> Result<String, TestError> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let screen = self.running.output();
            let fresh = &screen[self.seen..];
            if let Some(place) = fresh.find(text) {
                self.seen += place + text.len();
                return Ok(fresh[..place].to_owned());
            }
            if Instant::now() > deadline {
                return Err(TestError::Wrong(format!("{text:?} is not shown: {fresh:?}")));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types a command and waits for a prompt; returns what was shown behind the command.
    fn does(&mut self, command: &str, prompt: &str) -> Result<String, TestError> {
        self.types(&format!("{command}\n"))?;
        self.sees("\n")?;
        self.sees(prompt)
    }

    fn expect(&mut self, command: &str, prompt: &str, text: &str) -> Result<(), TestError> {
        let shown = self.does(command, prompt)?;
        if shown.contains(text) {
            return Ok(());
        }
        Err(TestError::Wrong(format!("{command:?} showed {shown:?} instead of {text:?}")))
    }

    /// Starts the guest's shell.
    fn starts_shell(&mut self, ring: &str) -> Result<(), TestError> {
        let line = format!(
            "PS1='{GUEST}' {} run --timeout 60 --cpus 2 --ring {ring} bash --norc --noprofile -i",
            self.hadal
        );
        self.does(&line, GUEST).map(drop)
    }

    /// The terminal is what it was.
    fn gets_up(mut self) -> Result<(), TestError> {
        self.expect("stty -g | cmp - before && echo sa''me", HOST, "same")?;
        self.types("exit\n")?;
        self.running.finish(LIMIT).map(drop)
    }

    /// What a program does by itself has to be given time, since nothing tells.
    fn waits() {
        thread::sleep(Duration::from_millis(500));
    }
}

fn jobs(name: &str, ring: &str) -> Result<(), TestError> {
    let mut person = Person::sits_down(name)?;
    person.starts_shell(ring)?;
    person.expect("tty; stty size", GUEST, "/dev/pts/0\r\n30 100")?;
    person.types("sh -c 'echo rea''dy; exec sleep 100'\n")?;
    person.sees("ready")?;
    person.types(CTRL_Z)?;
    person.sees("Stopped")?;
    person.sees(GUEST)?;
    person.does("bg", GUEST)?;
    person.expect("jobs", GUEST, "Running")?;
    person.types("fg\n")?;
    person.sees("sleep 100")?;
    Person::waits();
    person.types(CTRL_C)?;
    person.sees(GUEST)?;
    person.expect("echo status $?", GUEST, "status 130")?;
    // As often as one likes.
    for _ in 0..4 {
        person.types(CTRL_C)?;
        person.sees(GUEST)?;
    }
    // A job in the background that reads is stopped.
    person.does("cat < /dev/tty & sleep 1", GUEST)?;
    person.expect("jobs", GUEST, "Stopped")?;
    person.does("kill %1; kill -CONT %1; wait", GUEST)?;
    person.does("exit 7", HOST)?;
    person.expect("echo status $?", HOST, "status 7")?;
    person.gets_up()
}

/// Programs change the settings, and see another size.
fn settings(name: &str) -> Result<(), TestError> {
    let mut person = Person::sits_down(name)?;
    person.starts_shell("0")?;
    person.types("cat\n")?;
    Person::waits();
    person.types("hello\n")?;
    person.sees("hello\r\nhello\r\n")?;
    person.types(CTRL_D)?;
    person.sees(GUEST)?;
    person.types("read -s -p 'word? ' x; echo; echo got $x.\n")?;
    person.sees("x.")?;
    person.sees("word? ")?;
    person.types("secret\n")?;
    let shown = person.sees("got secret.")?;
    if shown.contains("secret") {
        return Err(TestError::Wrong(format!("a secret was shown: {shown:?}")));
    }
    person.sees(GUEST)?;
    person.types(
        "stty -icanon -echo min 1; echo rea''dy; x=$(dd bs=1 count=1 2>/dev/null); stty sane; echo key $x.\n",
    )?;
    person.sees("ready")?;
    person.types("q")?;
    person.sees("key q.")?;
    person.sees(GUEST)?;
    // The host's side of the terminal is known to a process outside.
    let tty = person.does("exit", HOST).and_then(|_| person.does("tty", HOST))?;
    let tty = tty.trim().to_owned();
    person.starts_shell("0")?;
    person.does("trap 'echo ch''anged; stty size' WINCH", GUEST)?;
    // A signal between two looks of bash for signals waits for the next line, and one during its trap is dropped, natively
    // too: so it comes while the shell waits for a line, and once, since stty sets rows and columns one after the other.
    Person::waits();
    let resized = Command::new("stty").args(["-F", &tty, "cols", "120"]).status();
    resized.map_err(TestError::io("stty"))?;
    Person::waits();
    person.types("\n")?;
    person.sees("changed\r\n30 120")?;
    person.does("exit", HOST)?;
    person.gets_up()
}

/// Ctrl-C and Ctrl-Z at a program that knows nothing of jobs, the end of the command while the terminal is raw.
fn signals(name: &str) -> Result<(), TestError> {
    let mut person = Person::sits_down(name)?;
    let hadal = person.hadal.clone();
    person.types(&format!("{hadal} run --timeout 60 --cpus 1 sh -c 'echo rea''dy; exec sleep 100'\n"))?;
    person.sees("ready")?;
    person.types(CTRL_Z)?;
    person.sees("Stopped")?;
    person.sees(HOST)?;
    person.types("fg\n")?;
    person.sees("sleep 100")?;
    Person::waits();
    person.types(CTRL_C)?;
    person.sees(HOST)?;
    person.expect("echo status $?", HOST, "status 130")?;
    let raw = "stty raw -echo; echo rea''dy; sleep 100";
    person.types(&format!("{hadal} run --timeout 60 --cpus 1 sh -c \"{raw}\"\n"))?;
    person.sees("ready")?;
    person.types(CTRL_C)?;
    person.types(CTRL_Z)?;
    Person::waits();
    let line = format!("{hadal} run --timeout 60 --cpus 1 sh -c stty raw");
    Command::new("pkill").args(["-TERM", "-f", &line]).status().map_err(TestError::io("pkill"))?;
    person.sees(HOST)?;
    person.expect("echo status $?", HOST, "status 143")?;
    person.gets_up()
}

/// A run in the background of the host's shell stops when it reads.
fn background(name: &str) -> Result<(), TestError> {
    let mut person = Person::sits_down(name)?;
    let hadal = person.hadal.clone();
    person.types(&format!("{hadal} run --timeout 60 --cpus 1 sh -c 'echo rea''dy; exec cat' &\n"))?;
    person.sees("ready")?;
    Person::waits();
    person.expect("jobs", HOST, "Stopped")?;
    person.types("fg\n")?;
    person.sees("exec cat")?;
    Person::waits();
    person.types("a line\n")?;
    person.sees("a line\r\na line\r\n")?;
    person.types(CTRL_D)?;
    person.sees(HOST)?;
    person.gets_up()
}

/// The terminal is there whatever the standard streams are.
fn streams(name: &str) -> Result<(), TestError> {
    let mut person = Person::sits_down(name)?;
    let hadal = person.hadal.clone();
    person.expect(&format!("echo from''pipe | {hadal} run --cpus 1 cat"), HOST, "frompipe")?;
    let asks = "cat; echo rea''dy >/dev/tty; read x </dev/tty; echo read \\$x.";
    person.types(&format!(
        "echo from''pipe | {hadal} run --timeout 60 --cpus 1 sh -c \"{asks}\" | tr a-z A-Z\n"
    ))?;
    let before = person.sees("ready")?;
    person.types("a line\n")?;
    let shown = before + &person.sees("READ A LINE.")?;
    if !shown.contains("FROMPIPE") {
        return Err(TestError::Wrong(format!("standard input is not the pipe: {shown:?}")));
    }
    person.sees(HOST)?;
    person.expect(&format!("{hadal} run --cpus 1 tty < /dev/null"), HOST, "not a tty")?;
    person.gets_up()
}

/// Without a shell that could continue it, the command does not stop.
fn orphaned(name: &str) -> Result<(), TestError> {
    let mut command = on_own_terminal();
    command.arg(hadal_command()?).current_dir(scratch::empty_directory(name)?);
    command.args(["run", "--timeout", "60", "--cpus", "1", "sh", "-c"]);
    command.arg("echo ready; read x; echo got $x; exec sleep 100");
    let _permit = Permit::one();
    let mut running = Running::start_on_terminal(command)?;
    running.wait_for_output("ready", LIMIT)?;
    running.type_in(CTRL_Z.as_bytes())?;
    Person::waits();
    running.type_in(b"a line\n")?;
    running.wait_for_output("got a line", LIMIT)?;
    running.type_in(CTRL_C.as_bytes())?;
    expect_status(&running.finish(LIMIT)?, 130)
}
