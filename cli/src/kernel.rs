// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel image that the command carries inside itself.
//!
//! `HADAL_KERNEL=FILE` in the environment boots another image; it is for people who work on the kernel.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use anyhow::{Context, Result};
use hadal_abi::config::{self, RunConfig};

use crate::failure::Failure;
use crate::program_image::ProgramImage;
use crate::{paths, symbols};

/// Boots; has symbols but no debug information.
static BOOT_IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hadal-kernel.elf"));

/// The same kernel with source lines, for debuggers.
static DEBUG_IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hadal-kernel.debug"));

/// File named by `HADAL_KERNEL`.
fn replacement() -> Option<PathBuf> {
    env::var_os("HADAL_KERNEL").filter(|file| !file.is_empty()).map(PathBuf::from)
}

/// The image to boot.
pub(crate) fn image() -> Result<Cow<'static, [u8]>> {
    match replacement() {
        Some(file) => {
            let bytes = fs::read(&file).with_context(|| format!("HADAL_KERNEL={}", file.display()))?;
            Ok(Cow::Owned(bytes))
        }
        None => Ok(Cow::Borrowed(BOOT_IMAGE)),
    }
}

/// A kernel and the names of its functions: what a machine boots.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Its ELF file.
    pub(crate) elf: Cow<'static, [u8]>,
    symbols: Vec<u8>,
}

impl Kernel {
    /// The kernel of this command.
    pub(crate) fn own() -> Result<Self> {
        let elf = image()?;
        Ok(Self { symbols: symbols::table(&elf), elf })
    }

    /// The kernel of a program image. `HADAL_KERNEL` replaces it, too.
    pub(crate) fn of_image(image: &ProgramImage) -> Result<Self> {
        if replacement().is_none() {
            return Ok(Self { symbols: image.symbols(), elf: image.bytes().to_vec().into() });
        }
        let own = Self::own()?;
        let repacked = ProgramImage::pack(&own.elf, &image.contents()).context("HADAL_KERNEL")?;
        Ok(Self { elf: repacked.bytes().to_vec().into(), symbols: own.symbols })
    }

    /// The names of its functions ([`hadal_abi::symbols`]).
    pub(crate) fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// The boot module for a run: its configuration, the modules that it names, then the kernel's symbols.
    pub(crate) fn boot_module(&self, config: &RunConfig, modules: &[Vec<u8>]) -> Vec<u8> {
        let modules: Vec<&[u8]> = modules.iter().map(Vec::as_slice).collect();
        let mut module = config::encode_with_modules(config, &modules);
        module.extend_from_slice(&self.symbols);
        module
    }
}

/// A file with the kernel's symbols and source lines, kept in the cache.
///
/// An earlier clone of the same sources may have left it there. Its time is renewed, since a debugger calls
/// sources that are more recent than the executable changed.
pub(crate) fn symbols_file() -> Result<PathBuf, Failure> {
    if let Some(file) = replacement() {
        return Ok(file);
    }
    let file = paths::cache_dir("kernel")?.join(format!("hadal-kernel-{}.debug", identity()));
    if file.metadata().is_ok_and(|m| m.len() == DEBUG_IMAGE.len() as u64) && renew(&file).is_ok() {
        return Ok(file);
    }
    paths::write_atomically(&file, DEBUG_IMAGE)?;
    Ok(file)
}

/// Sets the time of the last change to now.
fn renew(file: &Path) -> io::Result<()> {
    fs::File::options().write(true).open(file)?.set_modified(SystemTime::now())
}

/// A short name that changes with the image.
pub(crate) fn identity() -> String {
    let Some(file) = replacement() else { return env!("HADAL_KERNEL_HASH").to_owned() };
    let changed = file.metadata().and_then(|m| m.modified()).ok();
    let changed_ns = changed.and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |d| d.as_nanos());
    let hash = paths::content_hash(&[file.as_os_str().as_bytes(), &changed_ns.to_le_bytes()]);
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_an_earlier_clone_is_renewed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_modified(UNIX_EPOCH).unwrap();
        renew(file.path()).unwrap();
        assert!(file.path().metadata().unwrap().modified().unwrap() > UNIX_EPOCH);
    }
}
