// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links the kernel image with its linker script.

use std::env;
use std::fs;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=kernel.ld");
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "none" {
        // Linked from a copy: cargo keeps paths below OUT_DIR right when the source tree or its target directory moves,
        // and passes any other path on as it was.
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let script = out.join("kernel.ld");
        fs::copy("kernel.ld", &script).expect("OUT_DIR can be written");
        for argument in [
            format!("-T{}", script.display()),
            "--build-id=none".into(),
            "-zmax-page-size=0x1000".into(),
            "-znorelro".into(),
        ] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}
