// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether interrupted program code waits in a loop: by PAUSE, which every such loop is told to contain (Intel SDM vol. 2,
//! PAUSE) and nothing else has a use for.

use crate::memory::user;
use crate::trap::TrapFrame;

/// Bytes of code before and behind the interrupted instruction in which PAUSE is looked for: a loop is short.
const REACH: usize = 32;
const PAUSE: [u8; 2] = [0xf3, 0x90];

/// The address of a PAUSE near the interrupted instruction, if it was program code and there is one. For interrupt handlers.
pub fn pause_near(frame: &TrapFrame) -> Option<u64> {
    if !frame.is_program() {
        return None;
    }
    let mut code = [0; 2 * REACH];
    let start = (frame.rip as usize).checked_sub(REACH)?;
    // Code next to the end of a mapping is not looked at: a loop that is not found only goes on spinning.
    user::copy_from(&mut code, start).ok()?;
    nearest_pause(&code).map(|at| (start + at) as u64)
}

/// Offset of the PAUSE that is nearest to the middle.
fn nearest_pause(code: &[u8; 2 * REACH]) -> Option<usize> {
    let found = |&at: &usize| code[at..at + PAUSE.len()] == PAUSE;
    (0..=code.len() - PAUSE.len()).filter(found).min_by_key(|&at| at.abs_diff(REACH))
}

#[cfg(test)]
mod tests {
    use super::{REACH, nearest_pause};

    #[test]
    fn the_nearest_pause_is_found() {
        let mut code = [0x90; 2 * REACH];
        assert_eq!(nearest_pause(&code), None);
        for (at, found) in [(0, 0), (2 * REACH - 2, 2 * REACH - 2), (REACH - 2, REACH - 2)] {
            code[at] = 0xf3;
            assert_eq!(nearest_pause(&code), Some(found));
        }
    }
}
