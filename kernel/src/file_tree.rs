// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files that the program sees: a root, shares of the host, the kernel's own trees, and the image's program.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_abi::config::{Mount, ProgramSource, RunConfig};
use hadal_drivers::Devices;
use hadal_hal::boot::BootInfo;
use hadal_linux::tty;
use hadal_vfs::memory_file::MemoryFile;
use hadal_vfs::ninep::MountOptions;
use hadal_vfs::{
    Caller, Errno, Follow, Inode, Location, MountFlags, Namespace, Owner, cpio, devfs, ninep, tmpfs,
};

use crate::boot_files::Files;
use crate::{entropy, file_pages};

/// Share of the machine's memory that files in `/tmp` and `/dev/shm` may take.
const TMP_SHARE: u64 = 2;

/// Mounts everything; errors are sentences for the person at the host.
pub(crate) fn build(
    config: &RunConfig,
    files: &Files,
    info: &BootInfo,
    devices: &Devices,
) -> Result<Namespace, String> {
    let namespace = root(config, files, devices)?;
    mount_kernel_trees(&namespace, info)?;
    mount_shares(config, devices, &namespace)?;
    mount_program(config, files, &namespace)?;
    Ok(namespace)
}

/// Where the program starts.
pub(crate) fn working_directory(config: &RunConfig, namespace: &Namespace) -> Result<Location, String> {
    namespace
        .resolve(&Caller::KERNEL, &namespace.root(), &config.cwd, Follow::Yes)
        .map_err(|error| in_words(&config.cwd, "the working directory", error))
}

fn in_words(path: &[u8], what: &str, error: Errno) -> String {
    format!("{}: {what} cannot be used in the guest ({error})", String::from_utf8_lossy(path))
}

/// The root file system: a share of the host, the archive that came with the image, or empty memory around a program.
fn root(config: &RunConfig, files: &Files, devices: &Devices) -> Result<Namespace, String> {
    let in_memory = |root, source| Namespace::new(root, MountFlags::empty(), "tmpfs", source);
    if config.initramfs {
        let archive = files.archive.ok_or("the image has no file system module")?;
        let root = tmp(0o755)?;
        cpio::unpack(archive, &root).map_err(|error| format!("the image's file system: {error:?}"))?;
        return Ok(in_memory(root, "initramfs"));
    }
    match config.mounts.first() {
        None if config.program_source == ProgramSource::Image => Ok(in_memory(tmp(0o755)?, "image")),
        Some(mount) if mount.guest_path == b"/" => {
            let root = share(config, devices, mount)?;
            Ok(Namespace::new(root, flags(mount), "9p", &mount.tag))
        }
        _ => Err(String::from("the run configuration names no root file system")),
    }
}

fn flags(mount: &Mount) -> MountFlags {
    if mount.writable { MountFlags::empty() } else { MountFlags::READ_ONLY }
}

fn share(config: &RunConfig, devices: &Devices, mount: &Mount) -> Result<Arc<dyn Inode>, String> {
    let transport = devices
        .ninep_by_tag(&mount.tag)
        .ok_or_else(|| format!("the machine has no 9P device with tag '{}'", mount.tag))?;
    let options = MountOptions {
        tree: Vec::new(),
        uid: config.uid,
        read_only: !mount.writable,
        pages: file_pages::cache(),
    };
    ninep::mount(transport, &options).map_err(|error| format!("9P share '{}': {error}", mount.tag))
}

fn mount_shares(config: &RunConfig, devices: &Devices, namespace: &Namespace) -> Result<(), String> {
    for mount in config.mounts.iter().filter(|mount| mount.guest_path != b"/") {
        let root = share(config, devices, mount)?;
        make_directory(namespace, &mount.guest_path);
        namespace
            .mount(&mount.guest_path, root, flags(mount), "9p", &mount.tag)
            .map_err(|error| in_words(&mount.guest_path, "a share of the host", error))?;
    }
    Ok(())
}

/// Shows the program of an image at its path, whatever else is there.
fn mount_program(config: &RunConfig, files: &Files, namespace: &Namespace) -> Result<(), String> {
    if config.program_source != ProgramSource::Image {
        return Ok(());
    }
    let content = files.program.ok_or("the kernel's image holds no program")?;
    let owner = Owner { uid: config.uid, gid: config.gid };
    let file = MemoryFile::create(content, 0o555, owner);
    if let Some(end) = config.program.iter().rposition(|&byte| byte == b'/').filter(|&end| end > 0) {
        make_directory(namespace, &config.program[..end]);
    }
    namespace
        .mount(&config.program, file, MountFlags::READ_ONLY, "image", "image")
        .map_err(|error| in_words(&config.program, "the image's program", error))
}

/// Makes a directory and those above it where that can be: in the kernel's own trees.
fn make_directory(namespace: &Namespace, path: &[u8]) {
    let root = namespace.root();
    for (at, _) in
        path.iter().enumerate().skip(1).filter(|&(_, &byte)| byte == b'/').chain([(path.len(), &0)])
    {
        // An error here shows when something is mounted on the path.
        let _ = namespace.mkdir(&Caller::KERNEL, &root, &path[..at], 0o755);
    }
}

fn tmp(mode: u32) -> Result<Arc<dyn Inode>, String> {
    let frames = hadal_mem::frames::global();
    let limit = frames.stats().total_bytes / TMP_SHARE;
    tmpfs::TmpFs::create(frames, limit, mode, Owner::default())
        .map_err(|error| format!("a file system in memory: {error}"))
}

/// `/proc`, `/sys`, `/dev`, `/dev/mqueue`, `/dev/shm` and `/tmp`.
fn mount_kernel_trees(namespace: &Namespace, info: &BootInfo) -> Result<(), String> {
    let (proc, sys) = hadal_procfs::build(info.command_line);
    let dev = devfs::create(Arc::new(|buffer: &mut [u8]| entropy::fill(buffer)), Some(tty::devices::own()));
    tty::devices::add(&dev);
    type Tree = (&'static [u8], Arc<dyn Inode>, MountFlags, &'static str);
    let trees: [Tree; 6] = [
        (b"/proc", proc, MountFlags::empty(), "proc"),
        (b"/sys", sys, MountFlags::READ_ONLY, "sysfs"),
        (b"/dev", dev, MountFlags::empty(), "devtmpfs"),
        (b"/dev/mqueue", hadal_linux::mqueue::root(), MountFlags::empty(), "mqueue"),
        (b"/dev/shm", tmp(0o1777)?, MountFlags::empty(), "tmpfs"),
        (b"/tmp", tmp(0o1777)?, MountFlags::empty(), "tmpfs"),
    ];
    for (path, root, flags, kind) in trees {
        make_directory(namespace, path);
        namespace.mount(path, root, flags, kind, kind).map_err(|error| {
            in_words(path, "a tree of the kernel", error)
                + ": the root file system (--root) needs such a directory"
        })?;
    }
    Ok(())
}
