// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the ELF checks, on files made in memory.

use super::*;
use proptest::prelude::*;

/// A program header: address, place in the file, bytes in the file, bytes in memory.
type Load = (u64, u64, u64, u64);

/// An x86-64 executable with these `PT_LOAD` segments, 64 KiB long.
fn executable(loads: &[Load]) -> Vec<u8> {
    let mut file = vec![0; 64 << 10];
    file[..20].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0]);
    file[20..24].copy_from_slice(&1_u32.to_le_bytes());
    file[24..32].copy_from_slice(&0x40_1000_u64.to_le_bytes());
    file[32..40].copy_from_slice(&EHDR_LEN.to_le_bytes());
    file[52..54].copy_from_slice(&64_u16.to_le_bytes());
    file[54..56].copy_from_slice(&PHDR_LEN.to_le_bytes());
    file[56..58].copy_from_slice(&(loads.len() as u16).to_le_bytes());
    for (index, (address, offset, file_len, memory_len)) in loads.iter().enumerate() {
        let at = 64 + index * usize::from(PHDR_LEN);
        file[at..at + 4].copy_from_slice(&1_u32.to_le_bytes());
        file[at + 4..at + 8].copy_from_slice(&5_u32.to_le_bytes());
        for (field, value) in [(8, offset), (16, address), (24, address), (32, file_len), (40, memory_len)] {
            file[at + field..at + field + 8].copy_from_slice(&value.to_le_bytes());
        }
        file[at + 48..at + 56].copy_from_slice(&PAGE.to_le_bytes());
    }
    file
}

fn check(file: &[u8]) -> Result<Elf, ElfError> {
    parse(file, file.len() as u64)
}

const TEXT: Load = (0x40_0000, 0, 0x2000, 0x2000);
const DATA: Load = (0x40_2000, 0x2000, 0x100, 0x5000);

#[test]
fn a_sound_program_is_accepted() {
    let elf = check(&executable(&[TEXT, DATA])).unwrap();
    assert!(elf.fixed_address && elf.interpreter.is_none());
    assert_eq!(elf.memory_bytes, 0x7000);
    elf.check_program().unwrap();
    elf.check_memory(Bytes(64 << 20)).unwrap();
}

#[test]
fn this_test_itself_is_a_program_with_libraries() {
    let elf = inspect(&std::env::current_exe().unwrap()).unwrap();
    elf.check_program().unwrap();
    assert!(elf.interpreter.is_some());
    assert!(elf.dynamic.needed.iter().any(|name| name == "libc.so.6"), "{:?}", elf.dynamic);
}

#[test]
fn every_cut_of_a_program_is_an_error() {
    let file = executable(&[TEXT, DATA]);
    for len in (0..200).chain([0x1000, 0x2000, 0x20ff]) {
        assert!(check(&file[..len]).is_err(), "{len} bytes were accepted");
    }
    assert!(matches!(check(&file[..0]), Err(ElfError::Empty)));
    assert!(matches!(check(&file[..2]), Err(ElfError::Truncated { .. })));
    assert!(matches!(check(&file[..40]), Err(ElfError::Truncated { what: "its headers", .. })));
    assert!(matches!(check(&file[..100]), Err(ElfError::Truncated { what: "its program headers", .. })));
    let cut = check(&file[..0x2000]).unwrap_err();
    assert!(matches!(cut, ElfError::Truncated { what: "its segments", end: 0x2100, len: 0x2000 }), "{cut}");
}

#[test]
fn foreign_programs_are_named() {
    let with = |class: u8, order: u8, machine: u16| {
        let mut file = executable(&[TEXT]);
        (file[4], file[5]) = (class, order);
        file[18..20].copy_from_slice(&if order == 2 { machine.to_be_bytes() } else { machine.to_le_bytes() });
        check(&file).unwrap_err().to_string()
    };
    assert!(with(2, 1, 183).contains("aarch64"));
    assert!(with(2, 1, 243).contains("RISC-V"));
    assert!(with(2, 2, 22).contains("s390"));
    assert!(with(1, 1, 3).contains("32-bit program (i386)"));
    assert!(with(1, 1, 62).contains("x32"));
    assert!(check(b"#!/bin/sh\necho").unwrap_err().to_string().contains("#!/bin/sh"));
    assert!(matches!(check(b"hello"), Err(ElfError::NotElf)));
}

#[test]
fn segments_may_share_pages() {
    let alone = check(&executable(&[TEXT])).unwrap().memory_bytes;
    // A page counts once.
    let shared = check(&executable(&[TEXT, (TEXT.0, TEXT.1, 0x100, 0x100)])).unwrap().memory_bytes;
    assert_eq!(shared, alone);
    // Nor need they be sorted.
    check(&executable(&[DATA, TEXT])).unwrap();
    assert!(matches!(check(&executable(&[(0x40_0000, 0, 0, 0)])), Err(ElfError::Header(_))));
}

#[test]
fn bad_segments_are_refused() {
    for (bad, reason) in [
        ((0x40_0000, 0, 0x2000, 0x1000), "more bytes in the file"),
        ((0x40_0010, 0, 0x100, 0x100), "differ within a page"),
        ((0x1000, 0, 0x100, 0x100), "64 KiB"),
        ((0x7fff_ffff_f000, 0, 0, 0x1000), "beyond the end"),
        ((0xffff_ffff_8000_0000, 0, 0, 0x1000), "beyond the end"),
        ((0x40_0000, 0, 0x100, u64::MAX), "beyond the end"),
        ((0x40_0000, !0xfff, 0x1000, 0x1000), "out of range"),
    ] {
        let error = check(&executable(&[bad])).unwrap_err();
        assert!(error.to_string().contains(reason), "{error} does not say {reason}");
        assert!(error.help().is_some());
    }
    assert!(check(&executable(&[])).is_err());
}

#[test]
fn huge_segments_ask_for_more_memory() {
    let elf = check(&executable(&[TEXT, (0x1000_0000, 0, 0, 40 << 30)])).unwrap();
    let error = elf.check_memory(Bytes(2 << 30)).unwrap_err();
    assert!(error.to_string().contains("the machine has 2 GiB"), "{error}");
    assert!(error.help().unwrap().contains("--memory 40"), "{error:?}");
}

#[test]
fn libraries_and_objects_are_no_programs() {
    let mut object = executable(&[TEXT]);
    object[16] = 1;
    assert!(check(&object).unwrap_err().to_string().contains("relocatable object"));
    let mut library = executable(&[TEXT]);
    library[16] = 3;
    library[24..32].fill(0);
    let elf = check(&library).unwrap();
    assert!(elf.check_program().unwrap_err().to_string().contains("shared library"));
}

#[test]
fn files_that_are_no_files_are_named() {
    assert!(matches!(inspect(Path::new("/")), Err(ElfError::Directory)));
    assert!(matches!(inspect(Path::new("/dev/null")), Err(ElfError::NotAFile)));
    assert!(matches!(inspect(Path::new("/no/such")), Err(ElfError::NotFound { .. })));
}

proptest! {
    #[test]
    fn any_bytes_are_judged(
        patches in proptest::collection::vec((0usize..600, any::<u8>()), 0..24),
        len in 0usize..0x3000,
    ) {
        let mut file = executable(&[TEXT, DATA]);
        // A dynamic section and an interpreter, for the patches to damage.
        file[64 + 112..64 + 116].copy_from_slice(&2_u32.to_le_bytes());
        file[56] = 4;
        for (at, value) in patches {
            file[at] = value;
        }
        let _ = check(&file[..len]);
    }
}
