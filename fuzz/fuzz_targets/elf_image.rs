// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's reading of ELF headers, with arbitrary bytes and with headers that are right up to the
//! segments.
#![no_main]

use hadal_linux::loader::{HEAD_LEN, Image};
use hadal_mem::space::{PAGE_SIZE, WINDOW_END, WINDOW_START};
use libfuzzer_sys::fuzz_target;

#[path = "elf_input.rs"]
mod elf_input;

/// What the loader relies on when it maps an image.
fn check(head: &[u8], file_len: u64) {
    let Ok(image) = Image::parse(head, file_len) else { return };
    assert!(!image.segments.is_empty());
    assert!(image.align.is_power_of_two() && image.align >= PAGE_SIZE);
    let mut last_end = if image.relocatable { 0 } else { WINDOW_START };
    for segment in &image.segments {
        assert!(segment.first_page() >= last_end && segment.end_page() > segment.first_page());
        assert!(segment.file_len <= segment.memory_len);
        assert!(segment.offset + segment.file_len as u64 <= file_len);
        assert!(segment.file_len == 0 || segment.offset as usize % PAGE_SIZE == segment.address % PAGE_SIZE);
        last_end = segment.end_page();
    }
    assert!(last_end <= WINDOW_END);
    assert_eq!(image.start() + image.span(), last_end);
    if let Some((offset, len)) = image.interpreter {
        assert!(len > 0 && offset + len as u64 <= file_len);
    }
    if let Some(address) = image.headers_address {
        assert!(address >= image.start() && address < last_end);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((len, data)) = data.split_first_chunk() else { return };
    let claimed_len = u64::from_le_bytes(*len);
    for bytes in [data.to_vec(), elf_input::with_header(data)] {
        let head = &bytes[..bytes.len().min(HEAD_LEN)];
        check(head, bytes.len() as u64);
        // The file may be far longer than its head.
        check(head, claimed_len.max(bytes.len() as u64));
    }
});
