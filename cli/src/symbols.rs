// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's symbol table in the form in which the kernel reads it ([`hadal_abi::symbols`]), from its ELF file.

use object::{Object, ObjectSymbol, SymbolKind};

/// The table of all functions; without any if the bytes are no ELF file.
pub(crate) fn table(elf: &[u8]) -> Vec<u8> {
    let file = object::File::parse(elf).ok();
    let functions = file.iter().flat_map(|file| file.symbols()).filter(|s| s.kind() == SymbolKind::Text);
    hadal_abi::symbols::encode(functions.filter_map(|s| Some((s.address(), s.name().ok()?))))
}
