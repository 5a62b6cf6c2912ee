// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names for kernel addresses: the symbol table that the command appends to the run configuration.

use core::fmt;

use hadal_abi::symbols::SymbolTable;
use spin::Once;

static TABLE: Once<SymbolTable<'static>> = Once::new();

/// Keeps the table for reports.
pub(crate) fn set(table: SymbolTable<'static>) {
    TABLE.call_once(|| table);
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
