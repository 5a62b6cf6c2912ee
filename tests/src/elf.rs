// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Small ELF files, right and wrong, for the tests of bad input.

/// Machine number of x86-64.
pub const X86_64: u16 = 62;
/// Machine number of 64-bit Arm.
pub const AARCH64: u16 = 183;
/// Machine number of 32-bit x86.
pub const I386: u16 = 3;

const HEADER_LEN: u16 = 64;
const SEGMENT_LEN: u16 = 56;
const TYPE_EXECUTABLE: u16 = 2;
const SEGMENT_LOAD: u32 = 1;

/// A loadable segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// 1 execute, 2 write, 4 read.
    pub flags: u32,
    /// Place in the file, in bytes.
    pub offset: u64,
    /// Address in memory.
    pub address: u64,
    /// Bytes in the file.
    pub file_len: u64,
    /// Bytes in memory.
    pub memory_len: u64,
}

/// A 64-bit little-endian executable with these segments, padded to `file_len` bytes. Its code, at file offset
/// 0x1000 and address `entry`, is `exit(0)`.
#[must_use]
pub fn executable(machine: u16, entry: u64, segments: &[Segment], file_len: usize) -> Vec<u8> {
    // mov eax, 231 (exit_group); xor edi, edi; syscall
    const EXIT: [u8; 9] = [0xb8, 0xe7, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
    let count = u16::try_from(segments.len()).unwrap_or(u16::MAX);
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(TYPE_EXECUTABLE.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    file.extend(entry.to_le_bytes());
    file.extend(u64::from(HEADER_LEN).to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.extend(0u32.to_le_bytes());
    for value in [HEADER_LEN, SEGMENT_LEN, count, 64, 0, 0] {
        file.extend(value.to_le_bytes());
    }
    for segment in segments {
        file.extend(SEGMENT_LOAD.to_le_bytes());
        file.extend(segment.flags.to_le_bytes());
        for value in
            [segment.offset, segment.address, segment.address, segment.file_len, segment.memory_len, 4096]
        {
            file.extend(value.to_le_bytes());
        }
    }
    file.resize(file_len.max(file.len()), 0);
    if let Some(code) = file.get_mut(0x1000..0x1000 + EXIT.len()) {
        code.copy_from_slice(&EXIT);
    }
    file
}

/// The segment that holds the code of [`executable`].
pub const CODE: Segment =
    Segment { flags: 5, offset: 0x1000, address: 0x40_1000, file_len: 0x1000, memory_len: 0x1000 };

/// A right executable: ends with status 0.
#[must_use]
pub fn good() -> Vec<u8> {
    executable(X86_64, CODE.address, &[CODE], 0x2000)
}

/// A 32-bit executable, header only.
#[must_use]
pub fn of_32_bits() -> Vec<u8> {
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(TYPE_EXECUTABLE.to_le_bytes());
    file.extend(I386.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    for value in [0x0804_8000u32, 52, 0, 0] {
        file.extend(value.to_le_bytes());
    }
    for value in [52u16, 32, 0, 40, 0, 0] {
        file.extend(value.to_le_bytes());
    }
    file.resize(0x1000, 0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_right_one_runs_on_linux() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("good");
        std::fs::write(&path, good()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(std::process::Command::new(&path).status().unwrap().code(), Some(0));
    }
}
