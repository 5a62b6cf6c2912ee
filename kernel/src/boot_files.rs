// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came with the kernel: configuration, symbols, program, root file system and modules, wherever each was put.
//!
//! With a command: its boot module holds configuration, modules and symbols (`hadal_abi::config`). A loader that knows
//! several modules (GRUB) gives that one first, then the archive if the configuration speaks of one, then named ones.
//! Without a configuration there the kernel's own payload (`hadal_abi::image`) has one.

use alloc::ffi::CString;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use hadal_abi::config::{self, RunConfig};
use hadal_abi::image::{self, Contents, Header};
use hadal_abi::symbols::SymbolTable;
use hadal_hal::boot::{self, BootInfo};
use hadal_hrt::module::Module;

/// What the kernel's segment for a program holds until an image is made.
#[allow(unsafe_code, reason = "the section is the one that the linker script puts into that segment")]
#[unsafe(link_section = ".hadal.image")]
#[used]
static EMPTY: [u8; image::HEADER_LEN] = Header::EMPTY.to_bytes();

/// Files that came with the kernel.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The ELF file in the kernel's own image.
    pub(crate) program: Option<&'static [u8]>,
    /// The root file system, a cpio archive.
    pub(crate) archive: Option<&'static [u8]>,
}

/// Everything, sorted.
pub(crate) struct Boot {
    /// What to do.
    pub(crate) config: RunConfig,
    /// Names of the kernel's functions.
    pub(crate) symbols: Option<SymbolTable<'static>>,
    /// The files.
    pub(crate) files: Files,
    /// The program's modules: those of the configuration, then the loader's, then the image's.
    pub(crate) modules: Vec<Module>,
}

/// Looks at everything that the boot loader left. The error is a sentence.
pub(crate) fn find(info: &BootInfo) -> Result<Boot, String> {
    let payload = info.payload.map(|payload| image::decode(payload.bytes())).transpose();
    let payload: Option<Contents<'static>> = payload.map_err(|error| error.to_string())?;
    let mut given = info.modules.iter().peekable();
    // An image with modules of its user's, but without a command: the first one is no configuration.
    let configures = |module: &&boot::Module| payload.is_none() || module.bytes().starts_with(config::MAGIC);
    let boot_module = match (given.next_if(configures), &payload) {
        (Some(first), _) => first.bytes(),
        (None, Some(payload)) => payload.config,
        (None, None) => &[],
    };
    let decoded = config::split(boot_module).map_err(|error| error.to_string())?;
    let mut files = Files::default();
    if decoded.config.initramfs {
        files.archive = given.next().map(|module| module.bytes());
    }
    let mut modules = Vec::new();
    let names = decoded.config.modules.iter().map(|module| module.name.as_str());
    modules.extend(names.zip(decoded.modules).map(|(name, content)| named(name, content)));
    modules.extend(given.map(|module| named(module.text, module.bytes())));
    if let Some(payload) = payload {
        files.program = Some(payload.program);
        modules.extend(payload.modules.iter().map(|(name, content)| named(name, content)));
    }
    Ok(Boot { config: decoded.config, symbols: SymbolTable::find_in(decoded.rest), files, modules })
}

fn named(name: &str, content: &'static [u8]) -> Module {
    Module { name: CString::new(name).unwrap_or_default(), content }
}
