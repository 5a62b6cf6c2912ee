// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.7: files of the host and in memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_same, expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::{arguments, hadal_command};
use hadal_tests::programs::{APPEND, BULK, FILE_STREAMS, FILES, MAPPED, REFUSED, SAME_PAGE, SEALS, TIMES};
use hadal_tests::run::{self, descendants};
use hadal_tests::{Hadal, TestError, Way, scratch};
use rustix::process::geteuid;

use crate::suite::Suite;

/// The user without rights: "nobody".
const NOBODY: u32 = 65534;

pub(crate) fn register(suite: &mut Suite) {
    for way in [Way::GccDynamic, Way::MuslStatic] {
        suite.compare(format!("files/host/{}", way.name()), &FILES, way, 2, |case| case);
    }
    for directory in ["/tmp/hadal-test-files", "/dev/shm/hadal-test-files"] {
        let name = format!("files/in{}", directory.trim_end_matches("/hadal-test-files").replace('/', "-"));
        suite.compare(name, &FILES, Way::GccDynamic, 2, |case| case.args(&["-C", directory]));
    }
    suite.compare("files/many-10000", &BULK, Way::GccDynamic, 2, |case| {
        case.args(&["many", "10000"]).limit_s(120)
    });
    suite.compare("files/append/host", &APPEND, Way::GccDynamic, 2, |case| {
        case.args(&["threads", "appended"]).limit_s(120)
    });
    suite.compare("files/append/memory", &APPEND, Way::GccDynamic, 2, |case| {
        case.args(&["threads", "/tmp/hadal-appended"])
    });
    suite.hadal("files/append/machines", append_from_machines);
    for (name, directory) in [("host", "mapped"), ("memory", "/tmp/hadal-mapped")] {
        suite.compare(format!("files/mapped/{name}"), &MAPPED, Way::GccDynamic, 2, |case| {
            case.args(&["set", directory]).limit_s(120)
        });
    }
    suite.compare("files/times", &TIMES, Way::GccDynamic, 2, |case| case);
    for (cpus, ring) in [(1, "0"), (4, "0"), (2, "3")] {
        suite.compare(format!("files/seals/{cpus}cpus/ring{ring}"), &SEALS, Way::GccDynamic, cpus, |case| {
            case.hadal(move |hadal| hadal.with("--ring", ring))
        });
    }
    suite.hadal("files/mapped/on-the-host", mapped_on_the_host);
    suite.hadal("files/mapped/read-once", read_once);
    suite.hadal("files/streams", file_streams);
    suite.hadal("files/stream-16-mib", |name| stream(name, 16, 60));
    suite.hadal_slow("files/stream-1-gib", |name| stream(name, 1024, 300));
    suite.hadal("files/read-only-root", read_only_root);
    suite.hadal("files/no-access", no_access);
    suite.hadal("files/full-memory", full_memory);
    if geteuid().is_root() {
        suite.hadal("files/full-host", full_host);
    }
    suite.hadal("files/left-at-exit", left_at_exit);
    suite.hadal("files/killed-after-fsync", killed_after_fsync);
}

/// A file written by the guest is right on the host, and read by the guest as it is on the host.
fn stream(name: &str, mebibytes: u32, limit_s: u64) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = BULK.build(Way::GccDynamic)?;
    let hadal = Hadal::new(2).cwd(&directory).limit(Duration::from_secs(limit_s)).alone();
    let written = hadal.run(&program, &arguments(&["write", "data", &mebibytes.to_string()]))?;
    expect_status(&written, 0)?;
    let mut native = Command::new(&program);
    native.args(["read", "data"]).current_dir(&directory);
    let on_host = run::run(native, b"", Duration::from_secs(60))?;
    expect_status(&on_host, 0)?;
    expect_stdout(&written, &on_host.stdout_text().replace("read", "wrote"))?;
    let read = hadal.run(&program, &arguments(&["read", "data"]))?;
    expect_same(&on_host, &read, true)?;
    scratch::make_empty(&directory)
}

/// Two machines and a program of the host append to one file at once: every record of each is there, whole and in order.
fn append_from_machines(name: &str) -> Result<(), TestError> {
    const RECORDS: usize = 1000;
    const RECORD: usize = 16;
    let directory = scratch::empty_directory(name)?;
    let program = APPEND.build(Way::GccDynamic)?;
    let writer = |who: &str| arguments(&["writer", "shared", who, &RECORDS.to_string()]);
    let hadal = Hadal::new(1).cwd(&directory).limit(Duration::from_secs(120));
    let machines = ["a", "b"].map(|who| hadal.start(&program, &writer(who)));
    let mut native = Command::new(&program);
    native.args(writer("c")).current_dir(&directory);
    expect_status(&run::run(native, b"", Duration::from_secs(60))?, 0)?;
    for machine in machines {
        let (_permit, running) = machine?;
        expect_status(&running.finish(Duration::from_secs(150))?, 0)?;
    }
    let bytes = fs::read(directory.join("shared")).map_err(TestError::io("cannot read the shared file"))?;
    for who in ["a", "b", "c"] {
        let own = bytes.chunks(RECORD).filter(|record| record.starts_with(who.as_bytes()));
        let expected: Vec<u8> =
            (0..RECORDS).flat_map(|number| format!("{who}{number:014}\n").into_bytes()).collect();
        if own.flatten().copied().ne(expected) {
            return Err(TestError::Wrong(format!("records of {who} are lost, torn or out of order")));
        }
    }
    if bytes.len() == 3 * RECORDS * RECORD {
        return Ok(());
    }
    Err(TestError::Wrong(format!("the shared file has {} bytes", bytes.len())))
}

/// Standard streams that are files, devices, pipes or closed: the shell finds them as after a run on Linux.
fn file_streams(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = FILE_STREAMS.build(Way::GccDynamic)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/files/streams.sh");
    let run_in = |place: &str, line: Vec<std::ffi::OsString>| {
        let place = directory.join(place);
        fs::create_dir(&place).map_err(TestError::io("cannot make a directory"))?;
        let mut bash = Command::new("bash");
        bash.arg(&script).args(line).current_dir(&place);
        expect_status(&run::run(bash, b"", Duration::from_secs(200))?, 0)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&place).map_err(TestError::io("cannot list"))?.flatten() {
            let content = fs::read(entry.path()).map_err(TestError::io("cannot read"))?;
            files.push((entry.file_name(), String::from_utf8_lossy(&content).into_owned()));
        }
        files.sort();
        Ok::<_, TestError>(files)
    };
    let native = run_in("linux", vec![program.clone().into()])?;
    let mut line: Vec<std::ffi::OsString> = vec![hadal_command()?.into()];
    line.extend(arguments(&["run", "--cpus", "1", "--timeout", "60"]));
    line.push(program.into());
    let guest = run_in("hadal", line)?;
    if native == guest && native.len() >= 6 {
        return Ok(());
    }
    Err(TestError::Wrong(format!("on Linux: {native:#?}\non Hadal: {guest:#?}")))
}

/// What mappings wrote is on the host, by whichever way the mapping ended.
fn mapped_on_the_host(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(2).cwd(&directory);
    let program = MAPPED.build(Way::GccDynamic)?;
    expect_status(&hadal.run(&program, &arguments(&["set", "."]))?, 0)?;
    let kept =
        fs::read(directory.join("mapped-file")).map_err(TestError::io("cannot read the mapped file"))?;
    let pages = [&b"by msync"[..], b"by close", b"by munmap"];
    let right = kept.len() == 3 * 4096
        && kept.chunks(4096).zip(pages).all(|(page, text)| {
            page.strip_prefix(text).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
        });
    if !right {
        return Err(TestError::Wrong("the mapped file is not as it was written".into()));
    }
    expect_status(&hadal.run(&program, &arguments(&["leave", "left"]))?, 0)?;
    expect_bytes(&directory.join("left"), b'e', 3 * 4096)
}

/// A page that a thousand threads want at once is read once.
fn read_once(name: &str) -> Result<(), TestError> {
    const READS: &str = "pages of files read from the host, requests";
    let directory = scratch::empty_directory(name)?;
    let program = SAME_PAGE.build(Way::GccDynamic)?;
    let reads = |threads: &str| {
        let hadal = Hadal::new(2).option("--stats").cwd(&directory).limit(Duration::from_secs(120));
        let outcome = hadal.run(&program, &arguments(&[threads, "data"]))?;
        expect_status(&outcome, 0)?;
        let text = outcome.stderr_text();
        let count = text.lines().find_map(|line| line.trim().strip_prefix(READS)?.trim().parse::<u64>().ok());
        count.ok_or_else(|| wrong("the counters do not tell how often was read", &outcome))
    };
    let (few, many) = (reads("2")?, reads("1000")?);
    if few == many {
        return Ok(());
    }
    Err(TestError::Wrong(format!("2 threads cost {few} reads, 1000 threads {many}")))
}

/// Nothing outside the working directory can be changed. The files that are tried are the test's own: whatever goes
/// wrong, no file of the host is in danger.
fn read_only_root(name: &str) -> Result<(), TestError> {
    let inside = scratch::empty_directory(name)?;
    // Not below /tmp, where a checkout may be: the guest has a /tmp of its own.
    let place = tempfile::Builder::new()
        .prefix("hadal-test")
        .tempdir_in("/var/tmp")
        .map_err(TestError::io("cannot make a directory in /var/tmp"))?;
    let outside = place.path().to_path_buf();
    let kept = outside.join("kept");
    fs::write(&kept, "kept").map_err(TestError::io("cannot write"))?;
    let attempts = [
        ("open-read", "kept", "no error"),
        ("open-write", "kept", "EROFS"),
        ("create", "new", "EROFS"),
        ("mkdir", "new-directory", "EROFS"),
        ("unlink", "kept", "EROFS"),
        ("unlink", "none", "ENOENT"),
        ("rename", "kept", "EXDEV"),
        ("open-read", "none/file", "ENOENT"),
    ];
    let mut arguments = Vec::new();
    let mut expected = String::new();
    for (how, file, error) in attempts {
        let path = outside.join(file);
        expected += &format!("{how} {}: {error}\n", path.display());
        arguments.push(how.into());
        arguments.push(path.into_os_string());
    }
    let outcome = Hadal::new(1).cwd(&inside).run(&REFUSED.build(Way::GccDynamic)?, &arguments)?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &expected)?;
    let left: Vec<_> = fs::read_dir(&outside).map_err(TestError::io("cannot list"))?.flatten().collect();
    if left.len() == 1 && fs::read(&kept).is_ok_and(|text| text == b"kept") {
        return Ok(());
    }
    Err(wrong("something outside the working directory was changed", &outcome))
}

/// As a user whom the host refuses, Hadal's program is refused in the same way.
fn no_access(name: &str) -> Result<(), TestError> {
    let describe = || format!("cannot prepare {name}");
    // A place that every user may enter, outside the directories of this one.
    let place = tempfile::Builder::new()
        .prefix("hadal-test")
        .tempdir_in("/var/tmp")
        .map_err(TestError::io(describe()))?;
    let open_to_all = fs::Permissions::from_mode(0o777);
    fs::set_permissions(place.path(), open_to_all.clone()).map_err(TestError::io(describe()))?;
    let hadal = place.path().join("hadal");
    let program = place.path().join("refused");
    for (from, to) in [(hadal_command()?, &hadal), (REFUSED.build(Way::GccStatic)?, &program)] {
        fs::copy(&from, to).map_err(TestError::io(describe()))?;
        fs::set_permissions(to, open_to_all.clone()).map_err(TestError::io(describe()))?;
    }
    let work = place.path().join("work");
    let barred = work.join("barred");
    let closed = work.join("closed");
    fs::create_dir_all(&closed).map_err(TestError::io(describe()))?;
    fs::write(&barred, "secret").map_err(TestError::io(describe()))?;
    fs::write(closed.join("inside"), "secret").map_err(TestError::io(describe()))?;
    fs::set_permissions(&barred, fs::Permissions::from_mode(0o000)).map_err(TestError::io(describe()))?;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).map_err(TestError::io(describe()))?;
    fs::set_permissions(&work, open_to_all).map_err(TestError::io(describe()))?;

    let arguments = arguments(&[
        "open-read",
        "barred",
        "open-write",
        "barred",
        "open-read",
        "closed/inside",
        "create",
        "closed/new",
    ]);
    let mut linux = Command::new(&program);
    linux.args(&arguments).env_clear().current_dir(&work);
    let mut guest = Hadal::new(1).cwd(&work).command_env("XDG_CACHE_HOME", &work).command_env("HOME", &work);
    if geteuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut linux, NOBODY);
        std::os::unix::process::CommandExt::gid(&mut linux, NOBODY);
        guest = guest.as_user(NOBODY);
    }
    let on_linux = run::run(linux, b"", Duration::from_secs(20))?;
    expect_stdout(
        &on_linux,
        "open-read barred: EACCES\nopen-write barred: EACCES\nopen-read closed/inside: EACCES\ncreate closed/new: EACCES\n",
    )?;
    let (_permit, running) = guest.start_with(&hadal, &program, &arguments)?;
    let result = running.finish(Duration::from_secs(90));
    // So that the directory can be removed by the one who made it.
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).map_err(TestError::io(describe()))?;
    expect_same(&on_linux, &result?, true)
}

fn full_memory(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(1).with("--memory", "256M").cwd(&directory).limit(Duration::from_secs(60));
    let outcome = hadal.run(&BULK.build(Way::GccDynamic)?, &arguments(&["fill", "/tmp/full"]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "full, then free again\n")
}

/// A small file system of the host, which only root can make.
fn full_host(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let small = directory.join("small");
    scratch::make_empty(&small)?;
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&small);
    expect_status(&run::run(mount, b"", Duration::from_secs(10))?, 0)?;
    let result = fill_host(&small);
    let mut unmount = Command::new("umount");
    unmount.arg(&small);
    expect_status(&run::run(unmount, b"", Duration::from_secs(10))?, 0)?;
    result
}

fn fill_host(small: &Path) -> Result<(), TestError> {
    let program = BULK.build(Way::GccDynamic)?;
    let outcome = Hadal::new(1).cwd(small).run(&program, &arguments(&["fill", "full"]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "full, then free again\n")
}

fn left_at_exit(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome =
        Hadal::new(2).cwd(&directory).run(&BULK.build(Way::GccDynamic)?, &arguments(&["leave", "left"]))?;
    expect_status(&outcome, 0)?;
    expect_bytes(&directory.join("left"), b'L', 200_000)
}

/// What was synced is on the host although the machine is killed; the command says that it lost the machine.
fn killed_after_fsync(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = BULK.build(Way::GccDynamic)?;
    let hadal = Hadal::new(2).cwd(&directory);
    let (_permit, running) = hadal.start(&program, &arguments(&["sync", "synced"]))?;
    running.wait_for_output("synced\n", Duration::from_secs(60))?;
    let machines: Vec<i32> = descendants(running.pid()).into_iter().filter(|pid| is_qemu(*pid)).collect();
    for pid in &machines {
        run::kill(*pid);
    }
    let outcome = running.finish(Duration::from_secs(20))?;
    if machines.is_empty() {
        return Err(wrong("no QEMU runs below the hadal command", &outcome));
    }
    expect_bytes(&directory.join("synced"), b'S', 300_000)?;
    expect_status(&outcome, i32::from(status::LOST))?;
    expect_texts(&outcome, &["hadal: "])
}

fn is_qemu(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("qemu"))
}

fn expect_bytes(path: &Path, byte: u8, count: usize) -> Result<(), TestError> {
    let bytes = fs::read(path).map_err(TestError::io(format!("cannot read {}", path.display())))?;
    if bytes.len() == count && bytes.iter().all(|&b| b == byte) {
        return Ok(());
    }
    Err(TestError::Wrong(format!(
        "{} is not {count} times {byte}: it has {} bytes",
        path.display(),
        bytes.len()
    )))
}
