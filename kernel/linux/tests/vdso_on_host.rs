// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the vDSO image on the host: `vdso/host_test.c` maps it beside a page of its own and checks every
//! function.

use std::path::Path;
use std::process::Command;

use hadal_linux::vdso::IMAGE;

#[test]
fn functions_follow_the_data_page() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (image, program) = (directory.join("vdso.so"), directory.join("vdso_host_test"));
    std::fs::write(&image, IMAGE).expect("image written");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("vdso/host_test.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".into());
    let mut words = compiler.split_whitespace();
    let compiled = Command::new(words.next().unwrap_or("gcc"))
        .args(words)
        .args(["-O2", "-Wall", "-Wextra", "-pthread", "-o"])
        .args([&program, &source])
        .status()
        .expect("C compiler runs");
    assert!(compiled.success());
    let output = Command::new(&program).arg(&image).output().expect("test program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
