// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Linux guest's kernel and tools from Debian, downloaded once and kept in the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::host;

/// Depends on the newest kernel for virtual machines.
const KERNEL_PACKAGE: &str = "linux-image-cloud-amd64";
const BUSYBOX_PACKAGE: &str = "busybox-static";
const APT_REMEDY: &str = "this needs Debian's package lists: `apt-get update`";

/// What a Linux guest is booted from.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    pub(crate) kernel: PathBuf,
    pub(crate) busybox: PathBuf,
    /// Names and versions of the packages.
    versions: String,
}

impl Linux {
    /// What it is, for the report.
    pub(crate) fn describe(&self) -> String {
        self.versions.trim().replace('\n', ", ")
    }
}

/// The Linux guest's files, downloaded if they are not there.
pub(crate) fn linux(cache: &Path) -> Result<Linux> {
    let dir = cache.join("linux");
    let record = dir.join("packages.txt");
    let found = || Linux {
        kernel: dir.join("vmlinuz"),
        busybox: dir.join("busybox"),
        versions: fs::read_to_string(&record).unwrap_or_default(),
    };
    // Written last: when it is there, everything is.
    if !record.is_file() {
        fs::create_dir_all(&dir).context("cannot make the directory for packages")?;
        let versions = download(&dir)?;
        fs::write(&record, versions).context("cannot note the packages")?;
    }
    Ok(found())
}

fn download(dir: &Path) -> Result<String> {
    let image = kernel_image_package()?;
    eprintln!("Downloading {image} and {BUSYBOX_PACKAGE} ...");
    let scratch = tempfile::tempdir_in(dir).context("cannot make a directory for packages")?;
    let mut apt = Command::new("apt-get");
    apt.current_dir(&scratch).args(["download", &image, BUSYBOX_PACKAGE]);
    host::run_tool(&mut apt, APT_REMEDY)?;
    let mut versions = String::new();
    for entry in fs::read_dir(&scratch).context("cannot list packages")? {
        let package = entry.context("cannot list packages")?.path();
        let content = scratch.path().join("content");
        host::run_tool(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&content), "install dpkg")?;
        let mut show = Command::new("dpkg-deb");
        show.args(["-W", "--showformat=${Package} ${Version}\n"]).arg(&package);
        versions.push_str(&host::run_tool(&mut show, "install dpkg")?);
    }
    let content = scratch.path().join("content");
    let kernel = fs::read_dir(content.join("boot")).context("the kernel's package has no /boot")?;
    let mut kernels = kernel.flatten().map(|entry| entry.path());
    let is_kernel =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"));
    let kernel = kernels.find(is_kernel).context("the kernel's package has no kernel")?;
    fs::rename(kernel, dir.join("vmlinuz")).context("cannot keep the kernel")?;
    fs::rename(content.join("bin/busybox"), dir.join("busybox")).context("cannot keep busybox")?;
    Ok(versions)
}

/// The package with the kernel itself.
fn kernel_image_package() -> Result<String> {
    let text = host::run_tool(Command::new("apt-cache").args(["depends", KERNEL_PACKAGE]), APT_REMEDY)?;
    let mut names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    match names.find(|name| name.starts_with("linux-image-")) {
        Some(name) => Ok(name.to_owned()),
        None => bail!("{KERNEL_PACKAGE} names no kernel; {APT_REMEDY}"),
    }
}
