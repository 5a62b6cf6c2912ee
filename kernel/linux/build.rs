// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the vDSO (`vdso/vdso.c`), the shared object that the kernel maps into every program.
//!
//! The host's C compiler builds it, named by `CC` or else `gcc`: the image is code for Linux programs on
//! x86-64, whichever target the kernel crate itself is being built for.

use std::env;
use std::path::PathBuf;
use std::process::{Command, exit};

const SOURCES: [&str; 3] = ["vdso/vdso.c", "vdso/vdso.lds", "vdso/vdso.map"];

/// Code that runs in any program: it must not depend on where it lies, on a library, or on floating-point
/// registers.
const FLAGS: [&str; 18] = [
    "-m64",
    "-O2",
    "-shared",
    "-fPIC",
    "-ffreestanding",
    "-nostdlib",
    "-fno-stack-protector",
    "-fno-strict-aliasing",
    "-fasynchronous-unwind-tables",
    "-fcf-protection=none",
    "-mgeneral-regs-only",
    "-Wall",
    "-Wextra",
    "-Wl,-soname,linux-vdso.so.1,--hash-style=both,--no-undefined,--strip-all",
    "-Wl,--eh-frame-hdr,--build-id=none",
    "-Wl,-z,max-page-size=4096",
    "-Wl,-z,noexecstack",
    "-Wl,--version-script,vdso/vdso.map",
];

fn main() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-env-changed=CC");
    let image = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("vdso.so");
    let compiler = env::var("CC").unwrap_or_else(|_| "gcc".into());
    // `CC` may hold options or a wrapper before the compiler's name.
    let mut words = compiler.split_whitespace();
    let status = Command::new(words.next().unwrap_or("gcc"))
        .args(words)
        .args(FLAGS)
        .args(["-Wl,-T,vdso/vdso.lds", "vdso/vdso.c", "-o"])
        .arg(&image)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{compiler} could not compile vdso/vdso.c ({status})")),
        Err(error) => fail(&format!("cannot run the C compiler {compiler}: {error}; install gcc or set CC")),
    }
}

fn fail(reason: &str) -> ! {
    println!("cargo::error={reason}");
    exit(1);
}
