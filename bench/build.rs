// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists the files that an installed command needs to build the benchmarks: programs, the counting plugin, the example
//! `heat`. They are embedded and compiled when used.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Folders and files below the repository's root, all of whose sources are embedded.
const ROOTS: [&str; 3] = ["bench/plugin", "bench/programs", "examples/heat"];

const ENDINGS: [&str; 6] = ["c", "cpp", "h", "ndpc", "nesl", "vcode"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = manifest.parent().expect("bench/ lies in the workspace");
    let mut files = Vec::new();
    for folder in ROOTS {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(root).expect("found below the root");
        name.hash(&mut hasher);
        fs::read(file).expect("a source can be read").hash(&mut hasher);
        writeln!(
            list,
            "    ({:?}, include_bytes!({:?})),",
            name.display().to_string(),
            file.display().to_string()
        )
        .expect("a string takes any text");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("sources.rs"), list).expect("OUT_DIR is writable");
    println!("cargo::rustc-env=HADAL_BENCH_SOURCES={:016x}", hasher.finish());
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
}
