// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Walks through made-up programs: tables byte by byte (LSB core, 10.6), stacks word by word. Backtraces of real programs
//! are in the tests of `hadal-report`.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::*;

/// Functions of 256 bytes each, without tables from [`BARE`] on.
const LEAF: u64 = 0x1000;
const ALIGNED: u64 = 0x1100;
const MAIN: u64 = 0x1200;
const START: u64 = 0x1300;
const HANDLER: u64 = 0x1400;
const RETURN_FROM_SIGNAL: u64 = 0x1500;
const BARE: u64 = 0x2000;

/// Address of `.eh_frame`.
const TABLES: u64 = 0x9000;

/// The return address is on top of the stack (`DW_CFA_def_cfa` rsp + 8, `DW_CFA_offset` rip at -8).
const AT_ENTRY: &[u8] = &[0x0c, 7, 8, 0x90, 1];

/// An entry that describes what is common to functions; `S` marks those that a signal was delivered to.
fn common(augmentation: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 0, 1];
    body.extend(augmentation);
    // Code alignment 1, data alignment -8, return address in column 16, one byte of augmentation: absolute addresses.
    body.extend([0, 1, 0x78, 16, 1, 0]);
    body.extend(AT_ENTRY);
    sized(&body)
}

fn sized(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], body].concat()
}

/// Adds the description of the function at `start`, whose common part is at `common_at`.
fn describe(section: &mut Vec<u8>, common_at: usize, start: u64, instructions: &[u8]) {
    let back = (section.len() + 4 - common_at) as u32;
    let mut body = back.to_le_bytes().to_vec();
    body.extend(start.to_le_bytes());
    body.extend(0x100_u64.to_le_bytes());
    body.push(0);
    body.extend(instructions);
    section.extend(sized(&body));
}

fn tables() -> Section {
    let mut bytes = common(b"zR");
    // Nothing but the return address is on the stack.
    describe(&mut bytes, 0, LEAF, &[]);
    // The caller's stack pointer is in memory below the frame pointer, and the frame pointer where it points to.
    describe(&mut bytes, 0, ALIGNED, &[0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0]);
    // RBP is saved, and the frame has 32 bytes.
    describe(&mut bytes, 0, MAIN, &[0x0e, 32, 0x86, 2]);
    // There is no return address.
    describe(&mut bytes, 0, START, &[0x07, 16]);
    describe(&mut bytes, 0, HANDLER, &[]);
    let signal = bytes.len();
    bytes.extend(common(b"zRS"));
    // The interrupted code's stack pointer is saved 16 bytes above this one, its instruction 8 bytes above.
    describe(
        &mut bytes,
        signal,
        RETURN_FROM_SIGNAL,
        &[0x0f, 3, 0x77, 16, 0x06, 0x10, 16, 2, 0x77, 8, 0x10, 6, 2, 0x77, 24],
    );
    bytes.extend([0; 4]);
    Section { address: TABLES, bytes }
}

fn object(range: Range<u64>, eh_frame: Section) -> Object {
    Object::new(range, Some(Arc::new(Tables::new(eh_frame, None).unwrap())))
}

/// Work that suffices for any reasonable walk.
const FUEL: usize = 1 << 16;

struct Fake {
    code: Code,
    words: HashMap<u64, u64>,
}

impl Fake {
    fn new(words: &[(u64, u64)]) -> Self {
        let described = object(LEAF..BARE, tables());
        let bare = Object::new(BARE..BARE + 0x100, None);
        let code = Code::new([bare, described].map(Arc::new).into());
        Self { code, words: words.iter().copied().collect() }
    }

    fn walk(&self, registers: Registers) -> (Vec<(u64, bool)>, End) {
        let mut frames = Vec::new();
        let end = Unwinder::new(7, FUEL).unwrap().walk(self, registers, |frame| {
            frames.push((frame.lookup_address(), frame.guessed));
            frames.len() < 10
        });
        (frames, end)
    }
}

impl Program for Fake {
    type Bytes<'a> = &'a [u8];

    fn word(&self, address: u64) -> Option<u64> {
        self.words.get(&address).copied()
    }

    /// The stack ends where no word is.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.words.keys().any(|&word| word >= address) && {
            for (place, bytes) in (address..).step_by(8).zip(bytes.as_chunks_mut::<8>().0) {
                *bytes = self.word(place).unwrap_or(0).to_le_bytes();
            }
            true
        }
    }

    /// Calls are before addresses that end with 8.
    fn code(&self, address: u64, bytes: &mut [u8]) -> bool {
        if address == BARE + 0x40 {
            bytes.copy_from_slice(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05][..bytes.len()]);
            return true;
        }
        let behind = address + bytes.len() as u64;
        bytes.fill(if behind % 16 == 8 { 0xe8 } else { 0x90 });
        true
    }

    fn is_code(&self, address: u64) -> bool {
        self.code.contains(address)
    }

    fn table(&self, address: u64) -> Option<Table<&[u8]>> {
        self.code.table(address)
    }
}

/// Counts what is read.
struct Counting<'c> {
    program: Fake,
    reads: &'c Cell<usize>,
}

impl Counting<'_> {
    fn counted(&self) -> &Fake {
        self.reads.set(self.reads.get() + 1);
        &self.program
    }
}

impl Program for Counting<'_> {
    type Bytes<'a>
        = &'a [u8]
    where
        Self: 'a;

    fn word(&self, address: u64) -> Option<u64> {
        self.counted().word(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.counted().read(address, bytes)
    }

    fn code(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.counted().code(address, bytes)
    }

    fn is_code(&self, address: u64) -> bool {
        self.program.is_code(address)
    }

    fn table(&self, address: u64) -> Option<Table<&[u8]>> {
        self.program.table(address)
    }
}

/// Stack of `START` calls `MAIN` calls something, with 0x7000 behind the call's return address.
const MAIN_FRAME: [(u64, u64); 2] = [(0x7010, 0xb0b), (0x7018, START + 8)];

#[test]
fn every_rule_of_a_table() {
    let aligned = [(0x6000, ALIGNED + 8), (0x6ef8, 0x7000), (0x6f00, 0x1234), (0x6ff8, MAIN + 8)];
    let program = Fake::new(&[&aligned[..], &MAIN_FRAME].concat());
    let (frames, end) = program.walk(Registers::new(LEAF + 3, 0x6000, Some(0x6f00)));
    let expected = [LEAF + 3, ALIGNED + 7, MAIN + 7, START + 7].map(|address| (address, false));
    assert_eq!((&frames[..], end), (&expected[..], End::Outermost));
}

#[test]
fn a_signal_interrupts_any_instruction() {
    let handler = [(0x6000, RETURN_FROM_SIGNAL + 1), (0x6010, MAIN), (0x6018, 0x7000), (0x6020, 0x1)];
    let program = Fake::new(&[&handler[..], &MAIN_FRAME].concat());
    let (frames, end) = program.walk(Registers::new(HANDLER, 0x6000, None));
    // The first instruction of main was interrupted, not the one before; the return address is not behind a call.
    let expected = [HANDLER, RETURN_FROM_SIGNAL, MAIN, START + 7];
    assert_eq!(frames.iter().map(|frame| frame.0).collect::<Vec<_>>(), expected);
    assert_eq!(end, End::Outermost);
}

#[test]
fn a_signal_without_a_table() {
    let mut words = vec![(0x6000, BARE + 0x40)];
    words.extend((0x6008..0x60b8).step_by(8).map(|at| (at, 0)));
    words.extend([(0x6008 + 160, 0x7000), (0x6008 + 168, MAIN)]);
    let program = Fake::new(&[&words[..], &MAIN_FRAME].concat());
    let (frames, end) = program.walk(Registers::new(LEAF, 0x6000, None));
    let expected = [LEAF, BARE + 0x3f, MAIN, START + 7].map(|address| (address, false));
    assert_eq!((&frames[..], end), (&expected[..], End::Outermost));
}

#[test]
fn code_without_tables_is_searched() {
    // Left over: it would make START the caller of MAIN's caller, if anything were there.
    let stale = [(0x6000, 5), (0x6008, MAIN + 24), (0x6010, LEAF), (0x6018, 7)];
    let called = [(0x6020, MAIN + 8), (0x6028, 0), (0x6030, 0), (0x6038, 0xb0b), (0x6040, START + 8)];
    let program = Fake::new(&[&stale[..], &called].concat());
    let (frames, end) = program.walk(Registers::new(BARE + 5, 0x6000, Some(3)));
    assert_eq!(frames, [(BARE + 5, false), (MAIN + 7, true), (START + 7, false)]);
    assert_eq!(end, End::Outermost);
}

#[test]
fn a_cleared_frame_pointer_marks_the_first_function() {
    let program = Fake::new(&[(0x6000, BARE + 8), (0x6008, MAIN + 8)]);
    let (frames, end) = program.walk(Registers::new(LEAF, 0x6000, Some(0)));
    assert_eq!((&frames[..], end), (&[(LEAF, false), (BARE + 7, false)][..], End::Outermost));
}

#[test]
fn a_walk_ends_where_nothing_leads_on() {
    let program = Fake::new(&[(0x6000, 17)]);
    assert_eq!(program.walk(Registers::new(LEAF, 0x6000, None)), (vec![(LEAF, false)], End::Lost));
    // No word of the stack is a return address.
    assert_eq!(program.walk(Registers::new(BARE, 0x6000, None)), (vec![(BARE, false)], End::Outermost));
    assert_eq!(program.walk(Registers::new(BARE, 0x7000, None)), (vec![(BARE, false)], End::Lost));
    // A function that calls itself for ever.
    let program = Fake::new(&(0..99).map(|word| (0x6000 + 8 * word, LEAF + 8)).collect::<Vec<_>>());
    let (frames, end) = program.walk(Registers::new(LEAF, 0x6000, None));
    assert_eq!((frames.len(), end), (10, End::Stopped));
}

#[test]
fn damaged_tables_describe_nothing() {
    let good = tables().bytes;
    for cut in 0..good.len() {
        let section = Section { address: TABLES, bytes: good[..cut].to_vec() };
        let object = object(LEAF..BARE, section);
        let program = Fake { code: Code::new([Arc::new(object)].into()), words: HashMap::new() };
        for start in [LEAF, ALIGNED, MAIN, START, RETURN_FROM_SIGNAL] {
            program.walk(Registers::new(start + 1, 0x6000, Some(0x6008)));
        }
    }
}

/// A program whose table for [`LEAF`] is this, and whose stack leads to [`MAIN`].
fn with_leaf(instructions: &[u8], words: &[(u64, u64)]) -> Fake {
    let mut bytes = common(b"zR");
    describe(&mut bytes, 0, LEAF, instructions);
    describe(&mut bytes, 0, MAIN, &[0x0e, 32, 0x86, 2]);
    describe(&mut bytes, 0, START, &[0x07, 16]);
    let described = object(LEAF..BARE, Section { address: TABLES, bytes });
    Fake { code: Code::new([Arc::new(described)].into()), words: words.iter().copied().collect() }
}

#[test]
fn what_a_walk_does_is_bounded() {
    let stack = [&[(0x6ff8, MAIN + 8)][..], &MAIN_FRAME].concat();
    let walk = |instructions: &[u8]| {
        let (frames, end) = with_leaf(instructions, &stack).walk(Registers::new(LEAF + 3, 0x6ff8, None));
        (frames.len(), end)
    };
    // `DW_CFA_GNU_args_size`, over and over: it changes nothing.
    assert_eq!(walk(&[0x2e, 0].repeat(1000)), (3, End::Outermost));
    assert_eq!(walk(&[0x2e, 0].repeat(FUEL)), (1, End::Lost));
    // An expression that jumps back for ever, for the caller's stack pointer: the search finds the caller.
    assert_eq!(walk(&[0x0f, 3, 0x2f, 0xfd, 0xff]), (3, End::Outermost));
}

#[test]
fn a_search_is_bounded() {
    // Each word of a large stack follows a call, and leads to nothing but another search.
    let words: Vec<(u64, u64)> = (0..100_000).map(|word| (0x10_0000 + 8 * word, LEAF + 24)).collect();
    let reads = Cell::new(0);
    let program = Counting { program: with_leaf(&[0x0f, 2, 0x72, 0], &words), reads: &reads };
    let mut frames = 0;
    let end = Unwinder::new(7, FUEL).unwrap().walk(&program, Registers::new(LEAF, 0x10_0000, None), |_| {
        frames += 1;
        frames < 128
    });
    assert_eq!(end, End::Lost);
    assert!(reads.get() < FUEL, "{} reads", reads.get());
}

#[test]
fn long_common_parts_are_not_read_for_each_function() {
    // Text without an end, to which a thousand functions refer.
    let mut bytes = sized(&[&[0, 0, 0, 0, 1][..], &[b'z'; 1 << 20]].concat());
    for function in 0..1000 {
        describe(&mut bytes, 0, LEAF + 256 * function, &[]);
    }
    let tables = Tables::new(Section { address: TABLES, bytes }, None).unwrap();
    assert!(tables.find(LEAF).is_none());
}
