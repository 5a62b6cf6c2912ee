// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program as a report looks at it: its memory map, its memory, and the files behind both.
//!
//! Memory is read as it is, which may be garbage or gone; files are opened when an address in them is first asked about. The map
//! is not copied: a program may have a quarter of a million mappings, and memory may be short.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::string::String;
use core::cell::RefCell;

use hadal_hal::memory::user;
use hadal_linux::process::Process;
use hadal_linux::vdso;
use hadal_mem::space::{Name, Prot, VmaInfo};
use hadal_unwind::{Section, Tables};
use hadal_vfs::{FileKind, Follow, OpenFlags};

use crate::elf::{Content, Module};

/// The first mapping that ends above an address.
type NextMapping<'a> = Box<dyn Fn(u64) -> Option<VmaInfo> + 'a>;
/// Opens the file behind a mapping.
type Opener<'a> = Box<dyn Fn(&Name) -> Option<Content> + 'a>;
/// Reads exactly a buffer's length of program memory; `false` if some of it is not there.
type Memory<'a> = Box<dyn Fn(u64, &mut [u8]) -> bool + 'a>;

/// Largest table of unwind information that is read from end to end.
const EH_FRAME_MAX: u64 = 8 << 20;

/// A module with what is kept of it between questions.
pub(crate) struct Loaded {
    pub(crate) module: Module,
    whole: RefCell<Option<Option<Rc<Tables>>>>,
}

impl Loaded {
    /// All of `.eh_frame`, with an index: for a file without a sorted table.
    pub(crate) fn whole_table(&self) -> Option<Rc<Tables>> {
        let mut whole = self.whole.borrow_mut();
        whole.get_or_insert_with(|| self.load_table().map(Rc::new)).clone()
    }

    fn load_table(&self) -> Option<Tables> {
        let part = self.module.eh_frame().filter(|part| part.len <= EH_FRAME_MAX)?;
        let mut bytes = crate::filled(0, part.len as usize)?;
        let address = part.address.wrapping_add(self.module.bias);
        self.module.read_file(part.offset, &mut bytes).then_some(())?;
        Tables::new(Section { address, bytes }, None)
    }
}

/// The program.
pub(crate) struct View<'a> {
    next_mapping: NextMapping<'a>,
    memory: Memory<'a>,
    open: Opener<'a>,
    /// Modules by name and bias-giving address; `None` for files that are none.
    modules: RefCell<BTreeMap<String, Option<Rc<Loaded>>>>,
}

impl<'a> View<'a> {
    /// A live process. Reading memory needs no thread of the process, but what is not resident can be read only by one.
    pub(crate) fn of(process: &'a Process) -> Self {
        let next_mapping = |address: u64| process.space().next_mapping(address as usize);
        let memory = |address: u64, buffer: &mut [u8]| user::copy_from(buffer, address as usize).is_ok();
        Self::new(Box::new(next_mapping), Box::new(memory), Box::new(|name| open_file(process, name)))
    }

    pub(crate) fn new(next_mapping: NextMapping<'a>, memory: Memory<'a>, open: Opener<'a>) -> Self {
        Self { next_mapping, memory, open, modules: RefCell::new(BTreeMap::new()) }
    }

    /// The mapping that an address is in.
    pub(crate) fn mapping(&self, address: u64) -> Option<VmaInfo> {
        self.mapping_from(address).filter(|vma| vma.start as u64 <= address)
    }

    /// The first mapping that ends above an address.
    pub(crate) fn mapping_from(&self, address: u64) -> Option<VmaInfo> {
        (self.next_mapping)(address)
    }

    /// The first mapping that starts above an address.
    pub(crate) fn mapping_above(&self, address: u64) -> Option<VmaInfo> {
        let first = self.mapping_from(address)?;
        if first.start as u64 > address { Some(first) } else { self.mapping_from(first.end as u64) }
    }

    /// The last mapping that ends at an address or below it.
    pub(crate) fn mapping_below(&self, address: u64) -> Option<VmaInfo> {
        let (mut below, mut at) = (None, 0);
        while let Some(vma) = self.mapping_from(at).filter(|vma| vma.end as u64 <= address) {
            at = vma.end as u64;
            below = Some(vma);
        }
        below
    }

    /// Whether code may run at an address.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|vma| vma.prot.contains(Prot::EXEC))
    }

    /// Reads program memory.
    pub(crate) fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        (self.memory)(address, buffer)
    }

    /// Reads a word of program memory.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// Reads program memory in a module, or what the file says about it if that is not resident.
    pub(crate) fn read_module(&self, module: &Module, address: u64, buffer: &mut [u8]) -> bool {
        self.read(address, buffer) || module.read_address(address.wrapping_sub(module.bias), buffer)
    }

    /// The ELF file that the code at an address comes from.
    pub(crate) fn module(&self, address: u64) -> Option<Rc<Loaded>> {
        let vma = self.mapping(address).filter(|vma| vma.prot.contains(Prot::EXEC))?;
        let (key, offset) = match &vma.name {
            Name::None => return None,
            Name::Static(name) => (String::from(*name), 0),
            Name::Path(path) => (String::from(&**path), vma.offset),
        };
        if let Some(known) = self.modules.borrow().get(&key) {
            return known.clone();
        }
        let module =
            (self.open)(&vma.name).and_then(|content| Module::open(content, vma.start as u64, offset));
        let loaded = module.map(|module| Rc::new(Loaded { module, whole: RefCell::new(None) }));
        self.modules.borrow_mut().insert(key, loaded.clone());
        loaded
    }
}

/// The content of a mapped file, by the name it was mapped under.
pub(crate) fn open_file(process: &Process, name: &Name) -> Option<Content> {
    let path = match name {
        Name::Path(path) => path,
        Name::Static("[vdso]") => return Some(Box::new(read_vdso)),
        _ => return None,
    };
    let caller = process.caller();
    let root = process.namespace.root();
    let place = process.namespace.resolve(&caller, &root, path.as_bytes(), Follow::Yes).ok()?;
    if place.inode().kind() != FileKind::Regular {
        return None;
    }
    let file = process.namespace.open_at(&caller, place, OpenFlags::read_only()).ok()?;
    Some(Box::new(move |mut offset, mut buffer| {
        while !buffer.is_empty() {
            match file.read_at(offset, buffer) {
                Ok(count) if count > 0 => {
                    offset += count as u64;
                    buffer = &mut buffer[count..];
                }
                _ => return false,
            }
        }
        true
    }))
}

fn read_vdso(offset: u64, buffer: &mut [u8]) -> bool {
    let rest = usize::try_from(offset).ok().and_then(|offset| vdso::IMAGE.get(offset..));
    match rest.and_then(|rest| rest.get(..buffer.len())) {
        Some(part) => {
            buffer.copy_from_slice(part);
            true
        }
        None => false,
    }
}

/// A memory map that is a list, ascending.
#[cfg(test)]
pub(crate) fn listed(mappings: alloc::vec::Vec<VmaInfo>) -> NextMapping<'static> {
    Box::new(move |address| {
        let after = mappings.partition_point(|vma| vma.end as u64 <= address);
        mappings.get(after).cloned()
    })
}
