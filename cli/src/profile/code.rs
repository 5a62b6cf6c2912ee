// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Function names for addresses in a program's ELF file, or a library's.

use std::borrow::Cow;
use std::fmt;

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object, ObjectSymbol, SymbolKind, elf};

/// A loadable segment: place in the file, length there, address.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    len: u64,
    address: u64,
}

/// A function.
#[derive(Clone, Debug)]
struct Function {
    address: u64,
    len: u64,
    name: String,
}

/// The functions of an ELF file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    segments: Vec<Segment>,
    /// By address.
    functions: Vec<Function>,
}

impl Code {
    /// Reads an ELF file; empty if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let Ok(file) = object::File::parse(bytes) else { return Self::default() };
        let is_function = |kind| kind == SymbolKind::Text;
        // A stripped file still has the functions that it offers to others.
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let named = symbols.filter(|symbol| is_function(symbol.kind()) && symbol.is_definition());
        let mut functions: Vec<_> = named
            .filter_map(|symbol| {
                let name = symbol.name().ok()?.to_owned();
                Some(Function { address: symbol.address(), len: symbol.size(), name })
            })
            .collect();
        // Of several names for a function the first in the alphabet that is not an internal one.
        functions.sort_by(|a, b| {
            (a.address, is_internal(&a.name), &a.name).cmp(&(b.address, is_internal(&b.name), &b.name))
        });
        functions.dedup_by_key(|function| function.address);
        Self { segments: segments(bytes).unwrap_or_default(), functions }
    }

    /// The function at a place in the file, demangled.
    pub(crate) fn function(&self, offset: u64) -> Option<String> {
        let address = self.address(offset)?;
        let index = self.functions.partition_point(|function| function.address <= address).checked_sub(1)?;
        let function = &self.functions[index];
        // Functions in assembly language may have no length.
        let inside = function.len == 0 || address - function.address < function.len;
        inside.then(|| demangle(without_suffix(&function.name)).into_owned())
    }

    /// Where a place in the file is loaded, before the file is moved.
    fn address(&self, offset: u64) -> Option<u64> {
        let mut places =
            self.segments.iter().filter_map(|segment| Some((segment, offset.checked_sub(segment.offset)?)));
        let (segment, inside) = places.find(|(segment, inside)| *inside < segment.len)?;
        Some(segment.address.wrapping_add(inside))
    }
}

fn is_internal(name: &str) -> bool {
    name.starts_with('_')
}

fn segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, bytes).ok()?;
    let loaded = headers.iter().filter(|header| header.p_type(endian) == elf::PT_LOAD);
    let segment = |header: &elf::ProgramHeader64<Endianness>| Segment {
        offset: header.p_offset(endian),
        len: header.p_filesz(endian),
        address: header.p_vaddr(endian),
    };
    Some(loaded.map(segment).collect())
}

/// The name of a function without what compilers add when they make copies of it: `work.constprop.0` is `work`.
fn without_suffix(name: &str) -> &str {
    const SUFFIXES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."];
    let end = SUFFIXES.iter().filter_map(|suffix| name.find(suffix)).min();
    &name[..end.unwrap_or(name.len())]
}

/// A name as its language writes it: Rust's, C++'s, or as it is.
pub(crate) fn demangle(name: &str) -> Cow<'_, str> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}").into();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let mut short = Short(String::new());
    let cpp = cpp_demangle::Symbol::new(name).ok();
    match cpp.and_then(|symbol| symbol.structured_demangle(&mut short, &options).ok()) {
        Some(()) => short.0.into(),
        None => name.into(),
    }
}

/// Longest name that is shown as its language writes it. A name may stand for one that is exponentially longer.
const MAX_NAME_BYTES: usize = 16 << 10;

/// Takes a name in pieces, unless it becomes too long.
struct Short(String);

impl fmt::Write for Short {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.0.len() + piece.len() > MAX_NAME_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_three_languages() {
        assert_eq!(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
        assert_eq!(
            demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back"
        );
        assert_eq!(demangle("qsort"), "qsort");
        assert_eq!(without_suffix("work.constprop.0.isra.1"), "work");
        assert_eq!(without_suffix("main"), "main");
    }

    #[test]
    fn names_that_would_be_too_long_stay_as_they_are() {
        // A pair of pairs of pairs of..., each named by what was named before.
        let pairs = |depth: usize| {
            let digits: Vec<char> = ('0'..='9').chain('A'..='Z').collect();
            let pair = |number: usize| format!("S0_IS{0}_S{0}_E", digits[number]);
            format!("_Z1fISt4pairIccE{}Evv", (1..=depth).map(pair).collect::<String>())
        };
        assert!(
            demangle(&pairs(1)).starts_with("f<std::pair<char, char>, std::pair<std::pair<char, char>, ")
        );
        assert_eq!(demangle(&pairs(30)), pairs(30));
    }

    #[test]
    fn finds_a_function_of_this_test() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let code = Code::read(&bytes);
        let file = object::File::parse(&*bytes).unwrap();
        let main = file.symbols().find(|symbol| symbol.name() == Ok("main")).unwrap();
        let segment =
            code.segments.iter().find(|s| (s.address..s.address + s.len).contains(&main.address())).unwrap();
        let offset = main.address() - segment.address + segment.offset;
        assert_eq!(code.function(offset).as_deref(), Some("main"));
        assert_eq!(code.function(offset + main.size() - 1).as_deref(), Some("main"));
        assert_eq!(code.function(u64::MAX), None);
    }

    #[test]
    fn other_files_have_no_functions() {
        assert_eq!(Code::read(b"#!/bin/sh\n").function(0), None);
    }
}
