// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recognises call instructions, which every return address follows.

/// Bytes of the longest call instruction that compilers write.
pub(crate) const LONGEST: usize = 7;

/// Whether bytes of code end with a call instruction: `E8` with a displacement, or `FF /2` in one of its forms (Intel SDM
/// vol. 2).
pub(crate) fn ends_with_call(code: &[u8; LONGEST]) -> bool {
    // The number of bytes of `FF /2` with this ModRM byte (and SIB byte).
    let indirect = |at: usize| {
        let (opcode, modrm) = (code[at], code[at + 1]);
        if opcode != 0xff || modrm >> 3 & 7 != 2 {
            return false;
        }
        let (mode, base) = (modrm >> 6, modrm & 7);
        let has_sib = mode != 3 && base == 4;
        let sib_without_base = has_sib && mode == 0 && code.get(at + 2).is_some_and(|sib| sib & 7 == 5);
        let displacement = match mode {
            0 if base == 5 || sib_without_base => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        at + 2 + usize::from(has_sib) + displacement == code.len()
    };
    code[2] == 0xe8 || (0..=5).any(indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_recognised() {
        assert!(ends_with_call(&[0, 0, 0xe8, 1, 2, 3, 4]));
        assert!(ends_with_call(&[0, 0, 0, 0, 0, 0xff, 0xd0]), "call *%rax");
        assert!(ends_with_call(&[0, 0, 0, 0, 0x41, 0xff, 0xd4]), "call *%r12");
        assert!(ends_with_call(&[0, 0xff, 0x15, 1, 2, 3, 4]), "call *sym(%rip)");
        assert!(ends_with_call(&[0, 0, 0, 0, 0xff, 0x50, 0x18]), "call *0x18(%rax)");
        assert!(ends_with_call(&[0xff, 0x94, 0x24, 8, 0, 0, 0]), "call *8(%rsp)");
        assert!(!ends_with_call(&[0, 0, 0xe9, 1, 2, 3, 4]), "jmp");
        assert!(!ends_with_call(&[0, 0, 0, 0, 0, 0xff, 0xe0]), "jmp *%rax");
    }
}
