// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::kernel;

const PROGRAM: &[u8] = b"\x7fELF, supposedly";

fn contents(config: &[u8]) -> Contents<'_> {
    Contents { program: PROGRAM, config, modules: vec![("data".into(), b"1234")] }
}

fn packed() -> ProgramImage {
    ProgramImage::pack(&kernel::image().unwrap(), &contents(b"c")).unwrap()
}

fn open(bytes: &[u8]) -> Result<Option<ProgramImage>, WrongImage> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("any name");
    std::fs::write(&file, bytes).unwrap();
    ProgramImage::open(&file)
}

#[test]
fn what_was_packed_is_found_again() {
    let image = open(packed().bytes()).unwrap().unwrap();
    assert_eq!(image.contents(), contents(b"c"));
    let header = FileHeader64::<LittleEndian>::parse(image.bytes()).unwrap();
    let segments = header.program_headers(LE, image.bytes()).unwrap();
    let last = segments.iter().rfind(|s| s.p_type(LE) == PT_LOAD).unwrap();
    assert_eq!(last.p_filesz(LE), last.p_memsz(LE));
    assert_eq!(last.p_offset(LE) % 4096, 0);
}

#[test]
fn an_image_can_be_packed_again() {
    let again = ProgramImage::pack(packed().bytes(), &contents(b"other")).unwrap();
    assert_eq!(open(again.bytes()).unwrap().unwrap().contents(), contents(b"other"));
}

#[test]
fn linux_can_map_an_image_and_finds_its_command() {
    let mut image = packed();
    image.set_command(Path::new("/somewhere/hadal"));
    image.set_command(Path::new("/here/hadal"));
    let place = command_place(image.bytes()).unwrap();
    assert!(image.bytes()[place].starts_with(b"/here/hadal\0\0\0\0\0\0\0"));
    image.set_command(Path::new(&"/long".repeat(300)));
    let place = command_place(image.bytes()).unwrap();
    assert!(image.bytes()[place].starts_with(b"/here/hadal\0"));
    let header = FileHeader64::<LittleEndian>::parse(image.bytes()).unwrap();
    let segments = header.program_headers(LE, image.bytes()).unwrap();
    for segment in segments.iter().filter(|segment| segment.p_type(LE) == PT_LOAD) {
        assert_eq!(segment.p_vaddr(LE), segment.p_paddr(LE));
    }
    for section in header.section_headers(LE, image.bytes()).unwrap() {
        assert!(section.sh_addr(LE) < symbols::BASE);
    }
    assert!(open(image.bytes()).unwrap().is_some());
}

#[test]
fn other_files_are_not_images_and_a_bare_kernel_says_so() {
    assert!(open(b"").unwrap().is_none());
    assert!(open(b"#!/bin/sh\n").unwrap().is_none());
    assert!(ProgramImage::open(Path::new("/proc/self/exe")).unwrap().is_none());
    assert!(ProgramImage::open(Path::new("/no/such/file")).unwrap().is_none());
    assert!(matches!(open(&kernel::image().unwrap()), Err(WrongImage::NoProgram)));
}

/// A program with a segment where the kernel is, but not linked as the kernel is, is for the loader to refuse.
#[test]
fn a_program_at_the_kernels_address_is_not_a_kernel() {
    let own = std::fs::read("/proc/self/exe").unwrap();
    let header = FileHeader64::<LittleEndian>::parse(&*own).unwrap();
    let segments = header.program_headers(LE, &*own).unwrap();
    let index = segments.iter().position(|segment| segment.p_type(LE) == PT_LOAD).unwrap();
    let addresses_at = header.e_phoff(LE) as usize + index * PHDR_LEN + P_VADDR;
    for address in [symbols::BASE, u64::MAX - 0xfff] {
        let mut program = own.clone();
        program[addresses_at..][..16].copy_from_slice(&[address.to_le_bytes(); 2].concat());
        assert!(open(&program).unwrap().is_none(), "{address:#x}");
    }
}

#[test]
fn cut_and_damaged_images_are_errors() {
    let image = packed();
    for cut in [1, 5, 4096, image.payload.len() + 8] {
        let error = open(&image.bytes()[..image.bytes().len() - cut]).unwrap_err();
        assert!(matches!(error, WrongImage::Damaged(ImageError::Truncated)), "{cut}: {error}");
    }
    let mut other = image.bytes().to_vec();
    other[image.payload.start + 20] ^= 0x40;
    assert!(matches!(open(&other), Err(WrongImage::Version { .. })));
    let mut damaged = image.bytes().to_vec();
    damaged[image.payload.start + image::HEADER_LEN..][..8].fill(0xff);
    assert!(matches!(open(&damaged), Err(WrongImage::Damaged(_))));
}

#[test]
fn only_a_kernel_can_take_a_program() {
    assert!(matches!(ProgramImage::pack(b"no", &contents(b"")), Err(PackError::NoSegment)));
    let own = std::fs::read("/proc/self/exe").unwrap();
    assert!(matches!(ProgramImage::pack(&own, &contents(b"")), Err(PackError::NoSegment)));
}
