// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Directories of the tests: where programs are built and where each test works.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::TestError;

/// Root of the source tree.
#[must_use]
pub fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_path_buf()
}

/// The build directory of Cargo: found from the place of this executable.
#[must_use]
pub fn target() -> PathBuf {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET
        .get_or_init(|| {
            let own = std::env::current_exe().unwrap_or_default();
            let marked = own.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file());
            marked.map_or_else(|| workspace().join("target"), Path::to_path_buf)
        })
        .clone()
}

/// Where built programs are kept.
#[must_use]
pub fn programs() -> PathBuf {
    target().join("hadal-tests").join("programs")
}

/// An empty directory for the test of this name.
pub fn empty_directory(name: &str) -> Result<PathBuf, TestError> {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let directory = target().join("hadal-tests").join("work").join(plain);
    make_empty(&directory)?;
    Ok(directory)
}

/// Makes `directory` exist with nothing in it.
pub fn make_empty(directory: &Path) -> Result<(), TestError> {
    let describe = || format!("cannot make the directory {}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(TestError::io(describe()))?;
    }
    fs::create_dir_all(directory).map_err(TestError::io(describe()))
}
