// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the harness of the target `vcode`, and, to fuzz, the interpreter with it: by clang, which instruments
//! C++ for libFuzzer as rustc does Rust.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const RUNTIME: &str = "../runtimes/vcode";
const FOLDERS: [&str; 4] = ["core", "io", "load", "ops"];
const HEADERS: &str = "../kernel/hrt/include";

fn main() {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").opt_level(1).debug(true).flag("-fno-exceptions").flag("-fno-rtti");
    build.flag("-fno-threadsafe-statics").flag("-Wall").flag("-Wextra").flag("-Werror");
    build.include(RUNTIME).include(HEADERS).file("vcode/harness.cpp");
    // `cargo check` needs no more: the interpreter is compiled elsewhere.
    if env::var_os("CARGO_CFG_FUZZING").is_some() {
        build.compiler("clang++").flag("-fsanitize=fuzzer-no-link");
        if env::var("CARGO_CFG_SANITIZE").is_ok_and(|list| list.split(',').any(|one| one == "address")) {
            build.flag("-fsanitize=address");
        }
        for folder in FOLDERS {
            build.files(sources(&Path::new(RUNTIME).join(folder)));
        }
    }
    for place in [RUNTIME, HEADERS, "vcode"] {
        println!("cargo::rerun-if-changed={place}");
    }
    build.compile("hadal-fuzz-vcode");
}

/// The C++ files of a folder, in an order that does not depend on the file system.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    found.sort();
    found
}
