// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.2: many processors.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, wrong};
use hadal_tests::machine::{Permit, arguments, hadal_command};
use hadal_tests::programs::{AFFINITY, MANY};
use hadal_tests::{Hadal, TestError, Way, run, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for way in [Way::GccDynamic, Way::ClangDynamic] {
        suite.compare_slow(format!("scale/64-threads/{}", way.name()), &MANY, way, 64, |case| {
            case.args(&["64"])
                .env("OMP_WAIT_POLICY", "passive")
                .limit_s(240)
                .hadal(|hadal| hadal.with("--memory", "2G").alone())
        });
    }
    suite.hadal_slow("scale/200-processors-boot", |name| boot(name, 200));
    suite.hadal_slow("scale/255-processors-boot", |name| boot(name, 255));
    suite.hadal_slow("scale/200-processors-run", |name| {
        let directory = scratch::empty_directory(name)?;
        let hadal =
            Hadal::new(200).with("--memory", "2G").cwd(&directory).alone().limit(Duration::from_secs(240));
        let outcome = hadal.run(&AFFINITY.build(Way::GccDynamic)?, &arguments(&["count"]))?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "CPUID names the processor asked for\n200 processors\n")
    });
}

/// The machine without a program reports its processors.
fn boot(name: &str, cpus: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let mut command = std::process::Command::new(hadal_command()?);
    command.args(["machine", "--memory", "2G", "--timeout", "180", "--cpus"]).arg(cpus.to_string());
    command.current_dir(directory);
    let _permit = Permit::alone();
    let outcome = run::run(command, b"", Duration::from_secs(210))?;
    expect_status(&outcome, 0)?;
    let number = cpus.to_string();
    let reported = outcome.stdout_text().split(|c: char| !c.is_ascii_digit()).any(|word| word == number);
    if reported { Ok(()) } else { Err(wrong(&format!("{cpus} processors are not reported"), &outcome)) }
}
