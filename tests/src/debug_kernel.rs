// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The debug kernel: the release kernel with assertions, overflow checks and the checks of locks and interrupts
//! (decision 0027), for machines that a test starts.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::error::TestError;
use crate::machine::Hadal;
use crate::scratch;

const TARGET: &str = "x86_64-unknown-none";
const BUILD: &[&str] = &[
    "build",
    "--profile",
    "checked",
    "--package",
    "hadal-kernel",
    "--bin",
    "hadal-kernel",
    "--target",
    TARGET,
];

/// The file of the debug kernel of this tree, built by the first call.
pub fn file() -> Result<PathBuf, TestError> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(build).clone().map_err(TestError::Wrong)
}

fn build() -> Result<PathBuf, String> {
    // Where the release kernel of the command is built, too.
    let target = scratch::target().join("hadal-kernel-image");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // From the root of the workspace, whose `.cargo/config.toml` has the kernel's linker flags.
    cargo.current_dir(scratch::workspace()).args(BUILD).arg("--target-dir").arg(&target);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
        cargo.env_remove(name);
    }
    let output = cargo.output().map_err(|error| format!("cannot run {cargo:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(target.join(TARGET).join("checked/hadal-kernel"))
}

impl Hadal {
    /// Boots the debug kernel.
    pub fn debug_kernel(self) -> Result<Self, TestError> {
        Ok(self.command_env("HADAL_KERNEL", file()?))
    }
}
