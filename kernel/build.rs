// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links the kernel image with its linker script.

fn main() {
    println!("cargo::rerun-if-changed=kernel.ld");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "none" {
        let directory = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
        for argument in [
            format!("-T{directory}/kernel.ld"),
            "--build-id=none".into(),
            "-zmax-page-size=0x1000".into(),
            "-znorelro".into(),
        ] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}
