// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles libhrt-linux by the convention in `runtimes/hrt/README.md`, and the functions that the C header has inline.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let library = Path::new("../hrt");
    let include = Path::new("../../kernel/hrt/include");
    let mut build = cc::Build::new();
    // Whatever the profile: the library's stacks are measured for optimised code.
    build.std("gnu11").opt_level(2).include(include).file("src/inline.c");
    for folder in [library.to_path_buf(), library.join("sync"), library.join("linux")] {
        for source in sources(&folder) {
            build.file(source);
        }
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    println!("cargo::rerun-if-changed=src/inline.c");
    println!("cargo::rerun-if-changed={}", include.display());
    build.compile("hrt");
}

/// The C and assembly files of a folder, in an order that does not depend on the file system.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "S"));
    found.sort();
    found
}
