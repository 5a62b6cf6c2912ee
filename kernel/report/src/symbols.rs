// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names for program addresses, from the symbol tables of the mapped files.
//!
//! A table may have millions of entries: all addresses of a report are collected first, then each table is read once, piece
//! by piece, and only the best symbol for each address is kept.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hadal_mem::space::Name;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::elf::{Module, SymbolPart};
use crate::unwind::Frame;
use crate::view::{Loaded, View};

/// Symbols that are read at a time.
const PIECE: usize = 2048;
/// Symbols of one file that are looked at.
const MAX_SYMBOLS: u64 = 1 << 23;
/// Longest name that is shown; C++ makes long ones.
const NAME_MAX: usize = 512;
/// Names of one function that are compared.
const MAX_ALIASES: usize = 8;
/// How far behind a symbol without a size its code may go on.
const UNSIZED_REACH: u64 = 4096;

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_GLOBAL: u8 = 1;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Symbol {
    name: U32,
    info: u8,
    other: u8,
    section: U16,
    value: U64,
    size: U64,
}

impl Symbol {
    fn is_code(&self) -> bool {
        let kind = self.info & 15;
        self.section.get() != 0
            && (kind == STT_FUNC
                || kind == STT_GNU_IFUNC
                || kind == STT_NOTYPE && self.info >> 4 == STB_GLOBAL)
    }
}

/// What a symbol is for an address. Compares as better: sized before unsized, then the nearest, then the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    sized: bool,
    value: u64,
    binding: u8,
}

/// The best symbols so far for an address: equally good ones are names of the same function.
#[derive(Clone, Default)]
struct Best {
    candidate: Option<Candidate>,
    names: Vec<u32>,
}

impl Best {
    fn consider(&mut self, candidate: Candidate, name: u32) {
        if Some(candidate) > self.candidate {
            self.candidate = Some(candidate);
            self.names.clear();
        }
        if Some(candidate) == self.candidate && self.names.len() < MAX_ALIASES {
            self.names.push(name);
        }
    }

    /// The plainest of the names: without underscores in front, and short.
    fn name(&self, module: &Module, part: &SymbolPart) -> Option<String> {
        let names = self.names.iter().filter_map(|&name| read_name(module, part, name));
        names.min_by_key(|name| (name.starts_with('_'), name.len()))
    }
}

impl Candidate {
    /// What a symbol is for an address, if it reaches that far.
    fn of(symbol: &Symbol, address: u64) -> Option<Self> {
        let (value, size) = (symbol.value.get(), symbol.size.get());
        let offset = address.checked_sub(value)?;
        let reach = if size == 0 { UNSIZED_REACH } else { size };
        let binding = match symbol.info >> 4 {
            STB_GLOBAL => 2,
            STB_LOCAL => 0,
            _ => 1,
        };
        (offset < reach).then_some(Self { sized: size > 0, value, binding })
    }
}

/// A named address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Function and the offset in it.
    function: Option<(String, u64)>,
    /// Last component of the file's name, or a name in brackets; and the offset in the file's own addresses.
    module: Option<(String, u64)>,
}

impl Place {
    /// Name of the function, not demangled.
    #[cfg(test)]
    pub(crate) fn function(&self) -> Option<&str> {
        self.function.as_ref().map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, &self.module) {
            (Some((name, offset)), Some((module, _))) => {
                write!(f, "{:#}+{offset:#x} ({module})", rustc_demangle::demangle(name))
            }
            (Some((name, offset)), None) => write!(f, "{:#}+{offset:#x}", rustc_demangle::demangle(name)),
            (None, Some((module, offset))) => write!(f, "? ({module}+{offset:#x})"),
            (None, None) => f.write_str("?"),
        }
    }
}

/// The addresses of one module that need a name: as its file counts them, and as the program does.
struct Wanted {
    loaded: Rc<Loaded>,
    addresses: Vec<(u64, u64)>,
}

/// The names of all addresses of a report.
#[derive(Default)]
pub(crate) struct Names {
    places: BTreeMap<u64, Place>,
}

impl Names {
    /// Finds the names for some frames.
    pub(crate) fn of<'f>(view: &View<'_>, frames: impl Iterator<Item = &'f Frame>) -> Self {
        let mut places = BTreeMap::new();
        let mut modules: BTreeMap<usize, Wanted> = BTreeMap::new();
        for frame in frames {
            let address = frame.lookup_address();
            let loaded = view.module(address);
            let bias = loaded.as_ref().map_or(0, |loaded| loaded.module.bias);
            let vma = view.mapping(address);
            let module = vma.as_ref().and_then(|vma| short_name(&vma.name));
            let module = module.map(|name| (name.to_owned(), frame.address.wrapping_sub(bias)));
            places.insert(frame.address, Place { function: None, module });
            if let Some(loaded) = loaded {
                let key = Rc::as_ptr(&loaded) as usize;
                let wanted = modules.entry(key).or_insert_with(|| Wanted { loaded, addresses: Vec::new() });
                wanted.addresses.push((address.wrapping_sub(bias), frame.address));
            }
        }
        for Wanted { loaded, addresses: mut wanted } in modules.into_values() {
            wanted.sort_unstable();
            wanted.dedup();
            let addresses: Vec<u64> = wanted.iter().map(|&(own, _)| own).collect();
            for (found, (_, address)) in find(&loaded.module, &addresses).into_iter().zip(wanted) {
                if let (Some((name, value)), Some(place)) = (found, places.get_mut(&address)) {
                    place.function =
                        Some((name, address.wrapping_sub(loaded.module.bias).wrapping_sub(value)));
                }
            }
        }
        Self { places }
    }

    /// The name of an address.
    pub(crate) fn get(&self, address: u64) -> Option<&Place> {
        self.places.get(&address)
    }
}

fn short_name(name: &Name) -> Option<&str> {
    match name {
        Name::None => None,
        Name::Static(name) => Some(name),
        Name::Path(path) => path.rsplit('/').next(),
    }
}

/// Name and value of the symbol for each of the ascending `addresses` of a module.
fn find(module: &Module, addresses: &[u64]) -> Vec<Option<(String, u64)>> {
    let Some(part) = module.symbols() else { return alloc::vec![None; addresses.len()] };
    let mut all = alloc::vec![Best::default(); addresses.len()];
    let mut consider = |symbol: &Symbol| {
        let first = addresses.partition_point(|&address| address < symbol.value.get());
        for (address, best) in addresses.iter().zip(&mut all).skip(first) {
            let Some(candidate) = Candidate::of(symbol, *address) else { break };
            best.consider(candidate, symbol.name.get());
        }
    };
    each_symbol(module, &part, &mut consider);
    all.iter().map(|best| Some((best.name(module, &part)?, best.candidate?.value))).collect()
}

fn each_symbol(module: &Module, part: &SymbolPart, consider: &mut dyn FnMut(&Symbol)) {
    const LEN: u64 = size_of::<Symbol>() as u64;
    let count = (part.symbols.len / LEN).min(MAX_SYMBOLS);
    let Some(mut piece) = crate::filled(0, PIECE * LEN as usize) else { return };
    let mut done = 0;
    while done < count {
        let now = (count - done).min(PIECE as u64);
        let bytes = &mut piece[..(now * LEN) as usize];
        if !module.read_file(part.symbols.offset.wrapping_add(done * LEN), bytes) {
            return;
        }
        if let Ok(symbols) = <[Symbol]>::ref_from_bytes(bytes) {
            symbols.iter().filter(|symbol| symbol.is_code()).for_each(&mut *consider);
        }
        done += now;
    }
}

fn read_name(module: &Module, part: &SymbolPart, at: u32) -> Option<String> {
    let room = part.names.len.checked_sub(at.into())?.min(NAME_MAX as u64) as usize;
    let mut bytes = alloc::vec![0; room];
    if !module.read_file(part.names.offset.wrapping_add(at.into()), &mut bytes) {
        return None;
    }
    let name = bytes.split(|&byte| byte == 0).next().filter(|name| !name.is_empty())?;
    Some(String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(info: u8, value: u64, size: u64) -> Symbol {
        Symbol {
            name: U32::new(1),
            info,
            other: 0,
            section: U16::new(1),
            value: U64::new(value),
            size: U64::new(size),
        }
    }

    #[test]
    fn the_nearest_sized_symbol_wins() {
        let outer = Candidate::of(&symbol(0x12, 0x100, 0x80), 0x140);
        let inner = Candidate::of(&symbol(0x02, 0x130, 0x20), 0x140);
        let label = Candidate::of(&symbol(0x10, 0x138, 0), 0x140);
        assert!(inner > outer && outer > label && label > None);
        assert_eq!(Candidate::of(&symbol(0x12, 0x100, 0x40), 0x140), None);
        assert_eq!(Candidate::of(&symbol(0x12, 0x141, 0x40), 0x140), None);
    }

    #[test]
    fn global_names_come_before_weak_ones() {
        let global = Candidate::of(&symbol(0x12, 0x100, 0x40), 0x110);
        let weak = Candidate::of(&symbol(0x22, 0x100, 0x40), 0x110);
        assert!(global > weak);
    }

    #[test]
    fn places_are_shown_as_far_as_known() {
        let function = Some((String::from("main"), 0x1c));
        let module = Some((String::from("a.out"), 0x113c));
        assert_eq!(alloc::format!("{}", Place { function, module: module.clone() }), "main+0x1c (a.out)");
        assert_eq!(alloc::format!("{}", Place { function: None, module }), "? (a.out+0x113c)");
        assert_eq!(alloc::format!("{}", Place { function: None, module: None }), "?");
    }
}
