// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.8: a bootable image under SeaBIOS and OVMF, started by QEMU directly as on a real machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_in_order, expect_status};
use hadal_tests::machine::{Permit, hadal};
use hadal_tests::programs::MANY;
use hadal_tests::run;
use hadal_tests::{TestError, Way, scratch};

use crate::cc::POWERED_OFF;
use crate::suite::Suite;

/// Where distributions put the firmware.
const FIRMWARE: [(&str, &str); 3] = [
    ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"),
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
    ("/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"),
];

/// What the program in the image prints.
const EXPECTED: &str = "8 threads, sum 696";

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("image/seabios", |name| boot(name, false));
    suite.hadal("image/ovmf", |name| boot(name, true));
}

fn boot(name: &str, uefi: bool) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = MANY.build(Way::GccDynamic)?;
    let iso = directory.join("many.iso");
    let (iso_text, program_text) = (iso.to_string_lossy(), program.to_string_lossy());
    let made =
        hadal(&["image", "--iso", &iso_text, &program_text, "8"], &directory, Duration::from_secs(120))?;
    expect_status(&made, 0)?;
    if !iso.is_file() {
        return Err(TestError::Wrong(format!("no image was written\n{made}")));
    }
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-M", "q35", "-cpu", "max", "-smp", "4", "-m", "1G", "-display", "none", "-serial", "stdio"]);
    qemu.args(["-no-reboot", "-monitor", "none"]).arg("-cdrom").arg(&iso);
    if uefi {
        for (file, read_only) in firmware(&directory)? {
            let mode = if read_only { ",readonly=on" } else { "" };
            qemu.arg("-drive").arg(format!("if=pflash,format=raw{mode},file={}", file.display()));
        }
    }
    let _permit = Permit::one();
    let outcome = run::run(qemu, b"", Duration::from_secs(200))?;
    // The screen, which QEMU has by default, is written to as well: nothing may break between the output and the end.
    expect_status(&outcome, POWERED_OFF)?;
    expect_in_order(&outcome, &[EXPECTED, "the program ended with status 0"])
}

/// The firmware and a copy of its variables.
fn firmware(directory: &Path) -> Result<[(PathBuf, bool); 2], TestError> {
    for (code, variables) in FIRMWARE {
        if Path::new(code).is_file() && Path::new(variables).is_file() {
            let copy = directory.join("variables.fd");
            fs::copy(variables, &copy).map_err(TestError::io("cannot copy the firmware's variables"))?;
            return Ok([(code.into(), true), (copy, false)]);
        }
    }
    Err(TestError::Missing { tool: "OVMF firmware".to_owned(), remedy: "sudo apt-get install ovmf" })
}
