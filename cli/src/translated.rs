// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How glibc should copy where QEMU translates the program's instructions.
//!
//! glibc chooses its `memcpy` by what CPUID says, and takes one with registers of 256 bits. The translator uses the host's for it, and
//! functions compiled for SSE for floating-point arithmetic; on some processors each change between the two is slow from
//! then on, until translated code is left (decision 0048). A program that computes and copies by turns stays slow: SP and LU
//! of NAS take 2.8 times as long. glibc's own variable for that choice has it copy with 128 bits, unless the user has set the
//! variable.

use crate::launch::is_set;

const NAME: &str = "GLIBC_TUNABLES";
/// glibc's name for processors on which it copies with 256 bits (The GNU C Library, "Hardware Capability Tunables"). Which
/// functions of the mathematical library a program gets does not depend on it, so results stay the same.
pub(crate) const TUNABLES: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load";

/// Adds the setting to an environment of `NAME=value`s, unless the user has decided.
pub(crate) fn add_tunables(environment: &mut Vec<Vec<u8>>) {
    if !is_set(environment, NAME) {
        environment.push(TUNABLES.into());
    }
}

#[cfg(test)]
mod tests {
    use super::{TUNABLES, add_tunables};

    #[test]
    fn the_user_decides() {
        let with_tunables = |settings: &[&str]| {
            let mut environment: Vec<_> =
                settings.iter().map(|setting| setting.as_bytes().to_vec()).collect();
            add_tunables(&mut environment);
            environment
        };
        assert_eq!(with_tunables(&["HOME=/"]), [b"HOME=/", TUNABLES.as_bytes()]);
        assert_eq!(with_tunables(&["GLIBC_TUNABLES="]), [b"GLIBC_TUNABLES="]);
        assert_eq!(with_tunables(&["GLIBC_TUNABLES_OF_MINE=1"]).len(), 2);
    }
}
