// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds the kernel for its own target and leaves two forms of it for the command to embed: `hadal-kernel.elf`, which
//! boots (symbols, no debug information), and `hadal-kernel.debug`, which `--gdb` hands to the debugger.
//!
//! The kernel is a second cargo invocation, because host and kernel crates need different targets, flags and features. This
//! script has no dependencies, so that it starts at once: the kernel takes longest to build.
//! `HADAL_KERNEL_IMAGE=FILE` embeds that file instead (for work on the command alone).

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-none";

fn main() {
    println!("cargo::rerun-if-env-changed=HADAL_KERNEL_IMAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let kernel = match env::var_os("HADAL_KERNEL_IMAGE") {
        Some(image) => PathBuf::from(image),
        None => build_kernel(&out),
    };
    println!("cargo::rerun-if-changed={}", kernel.display());
    embed(&kernel, &out);
    // Names cache entries that belong to this kernel.
    let bytes = fs::read(out.join("hadal-kernel.elf")).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    println!("cargo::rustc-env=HADAL_KERNEL_HASH={:016x}", hasher.finish());
    list_sdk(&out);
}

/// Writes the list of headers and sources that `hadal cc` carries, as pairs of a name and the file's text.
fn list_sdk(out: &Path) {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = manifest.parent().expect("cli/ lies in the workspace");
    let mut files = Vec::new();
    for (from, to) in [
        ("kernel/hrt/include", "include"),
        ("runtimes/hrt", "src"),
        ("runtimes/openmp", "openmp"),
        ("runtimes/vcode", "vcode"),
        ("runtimes/ndpc", "ndpc"),
    ] {
        println!("cargo::rerun-if-changed={}", root.join(from).display());
        find_files(&root.join(from), Path::new(to), &mut files);
    }
    files.sort();
    let line = |(name, file): &(PathBuf, PathBuf)| format!("({name:?}, include_str!({file:?})),\n");
    let lines: String = files.iter().map(line).collect();
    fs::write(out.join("sdk_files.rs"), format!("&[\n{lines}]\n")).expect("OUT_DIR is writable");
}

/// Finds files of C, C++, assembly language and for the linker below a directory.
fn find_files(dir: &Path, name: &Path, files: &mut Vec<(PathBuf, PathBuf)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        if path.is_dir() {
            find_files(&path, &name, files);
        } else if path
            .extension()
            .is_some_and(|ending| ["c", "cpp", "h", "map", "S"].iter().any(|one| ending == *one))
        {
            files.push((name, path));
        }
    }
}

/// Runs the nested build and returns the path of the kernel's ELF file.
fn build_kernel(out: &Path) -> PathBuf {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = manifest.parent().expect("cli/ lies in the workspace").to_path_buf();
    for input in ["kernel", "abi", "Cargo.toml", "Cargo.lock", ".cargo/config.toml", "rust-toolchain.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    require_target();

    let target_dir = kernel_target_dir(out);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    // From the workspace root, so that .cargo/config.toml (the kernel's linker flags) applies.
    cargo.current_dir(&root).args([
        "build",
        "--profile",
        "kernel",
        "--package",
        "hadal-kernel",
        "--bin",
        "hadal-kernel",
    ]);
    cargo.args(["--target", TARGET]).arg("--target-dir").arg(&target_dir);
    if env::var_os("CARGO_NET_OFFLINE").is_some_and(|v| v == "true") {
        cargo.arg("--offline");
    }
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_outer_build_setting) {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().unwrap_or_else(|e| fail(&format!("cannot run cargo for the kernel: {e}")));
    if !status.success() {
        fail("the kernel did not build; the messages above say why");
    }
    target_dir.join(TARGET).join("kernel/hadal-kernel")
}

/// Whether a variable belongs to the host build around this script and must not reach the kernel's.
fn is_outer_build_setting(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_TARGET_DIR",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_MAKEFLAGS",
        "CLIPPY_ARGS",
        "HOST",
        "LLVM_PROFILE_FILE",
        "NUM_JOBS",
        "OPT_LEVEL",
        "OUT_DIR",
        "PROFILE",
        "RUSTC",
        "RUSTC_LINKER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOC",
        "RUSTDOCFLAGS",
        "RUSTFLAGS",
        "TARGET",
        "DEBUG",
    ];
    const PREFIXES: &[&str] =
        &["CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PKG_", "CARGO_MANIFEST", "CARGO_PROFILE_", "DEP_"];
    NAMES.contains(&name) || PREFIXES.iter().any(|p| name.starts_with(p))
}

/// Stops with the remedy when rustc has no library for the kernel's target.
fn require_target() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let Ok(output) = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output()
    else {
        return; // cargo itself will say it better
    };
    let libdir = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !Path::new(&libdir).is_dir() {
        fail(&format!("Rust has no library for the kernel's target; type: rustup target add {TARGET}"));
    }
}

/// A target directory that debug and release builds of the command share, so that the kernel is built once.
fn kernel_target_dir(out: &Path) -> PathBuf {
    out.ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == "build"))
        .and_then(|build| build.parent()?.parent())
        .unwrap_or(out)
        .join("hadal-kernel-image")
}

/// Writes both forms of the kernel to `out`.
fn embed(kernel: &Path, out: &Path) {
    let boot = out.join("hadal-kernel.elf");
    let debug = out.join("hadal-kernel.debug");
    let tools = objcopy_tools();
    if !tools.iter().any(|tool| objcopy(tool, "--strip-debug", kernel, &boot)) {
        copy(kernel, &boot);
    }
    if !tools.iter().any(|tool| objcopy(tool, "--compress-debug-sections=zlib", kernel, &debug)) {
        copy(kernel, &debug);
    }
}

/// Tools that can rewrite ELF files: binutils, and the one that comes with Rust.
fn objcopy_tools() -> Vec<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut tools = vec![PathBuf::from("objcopy")];
    if let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() {
        let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let host = env::var("HOST").unwrap_or_default();
        tools.push(sysroot.join("lib/rustlib").join(host).join("bin/rust-objcopy"));
    }
    tools
}

fn objcopy(tool: &Path, option: &str, from: &Path, to: &Path) -> bool {
    let done = Command::new(tool).arg(option).arg(from).arg(to).output();
    done.is_ok_and(|output| output.status.success()) && to.is_file()
}

fn copy(from: &Path, to: &Path) {
    if let Err(e) = fs::copy(from, to) {
        fail(&format!("cannot copy {} to {}: {e}", from.display(), to.display()));
    }
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    std::process::exit(1);
}
