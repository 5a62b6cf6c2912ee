// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names for kernel addresses: the symbol table that the command appends to the run configuration.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hadal_abi::symbols::SymbolTable;
use spin::Once;

static TABLE: Once<SymbolTable<'static>> = Once::new();

/// Keeps the table for reports.
pub(crate) fn set(table: SymbolTable<'static>) {
    TABLE.call_once(|| table);
}

/// The function that begins at an address: its module and its own name.
pub(crate) fn function(address: u64) -> Option<String> {
    let (name, 0) = TABLE.get()?.find(address)? else { return None };
    let path = format!("{:#}", rustc_demangle::demangle(name));
    let last = path.rsplitn(3, "::").take(2).collect::<Vec<_>>();
    Some(last.into_iter().rev().collect::<Vec<_>>().join("::"))
}

/// Shows an address as `function + offset`.
pub(crate) struct Name(pub(crate) u64);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match TABLE.get().and_then(|table| table.find(self.0)) {
            Some((name, offset)) => write!(f, "{:#}+{offset:#x}", rustc_demangle::demangle(name)),
            None => f.write_str("?"),
        }
    }
}
