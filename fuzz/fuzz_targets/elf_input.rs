// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes bytes look like an ELF program, so that its segments are looked at. Shared by the targets about
//! ELF files.

const HEADER_LEN: usize = 64;
const ENTRY_LEN: usize = 56;

/// The bytes behind an x86-64 header that calls all of them program headers. Their types become ones that
/// matter.
pub fn with_header(data: &[u8]) -> Vec<u8> {
    let kind = 2 + u16::from(data.first().is_some_and(|byte| byte & 1 != 0));
    let count = (data.len() / ENTRY_LEN).min(20);
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(62_u16.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    for word in [0x40_1000_u64, HEADER_LEN as u64, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(0_u32.to_le_bytes());
    for half in [HEADER_LEN, ENTRY_LEN, count, 64, 0, 0] {
        bytes.extend((half as u16).to_le_bytes());
    }
    bytes.extend(data);
    for index in 0..count {
        let at = HEADER_LEN + index * ENTRY_LEN;
        let entry = &mut bytes[at..at + ENTRY_LEN];
        // PT_LOAD, PT_DYNAMIC and PT_INTERP, and now and then one as it came.
        let kind = [1, 1, 1, 1, 2, 3, 0x6474_e551][usize::from(entry[0]) % 7];
        if entry[0] < 250 {
            entry[..4].copy_from_slice(&u32::to_le_bytes(kind));
        }
        if entry[1] & 1 == 0 {
            // Address, file offset and sizes that could be meant.
            for (field, mask) in [(8, 0xffff), (16, 0x7fff_ffff), (32, 0xffff), (40, 0xff_ffff)] {
                let value = u64::from_le_bytes(entry[field..field + 8].try_into().unwrap()) & mask;
                entry[field..field + 8].copy_from_slice(&value.to_le_bytes());
            }
            let offset = u64::from_le_bytes(entry[8..16].try_into().unwrap());
            let address = u64::from_le_bytes(entry[16..24].try_into().unwrap());
            entry[16..24].copy_from_slice(&(address & !0xfff | offset & 0xfff).to_le_bytes());
        }
    }
    bytes
}
