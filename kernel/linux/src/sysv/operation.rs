// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a list of operations does to semaphores: all of them, or nothing.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Errno;

/// Highest value of a semaphore (`SEMVMX`).
pub const VALUE_MAX: u16 = 32767;
/// `IPC_NOWAIT`.
const NO_WAIT: i16 = 0o4000;
/// `SEM_UNDO`.
const UNDO: i16 = 0o10000;

/// `struct sembuf`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(crate) struct Operation {
    /// The semaphore.
    pub(crate) number: u16,
    /// What is added; 0 waits until the value is 0.
    pub(crate) change: i16,
    pub(crate) flags: i16,
}

impl Operation {
    /// Whether the end of the process takes it back.
    pub(crate) fn is_undone(&self) -> bool {
        self.flags & UNDO != 0
    }
}

/// A semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Semaphore {
    pub(crate) value: u16,
    /// The process that has changed it last.
    pub(crate) pid: u32,
}

/// What became of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// They are done.
    Done,
    /// The operation with this index has to wait.
    Blocked(usize),
    /// They never will be.
    Failed(Errno),
}

/// Carries out operations of a process, or leaves everything as it is. `adjustments` has one for each semaphore, and is there if
/// an operation is to be undone.
pub(crate) fn attempt(
    semaphores: &mut [Semaphore],
    adjustments: &mut [i16],
    operations: &[Operation],
    pid: u32,
) -> Attempt {
    for (index, operation) in operations.iter().enumerate() {
        let outcome = match apply(semaphores, adjustments, operation) {
            Ok(()) => continue,
            Err(Some(error)) => Attempt::Failed(error),
            Err(None) if operation.flags & NO_WAIT != 0 => Attempt::Failed(Errno::EAGAIN),
            Err(None) => Attempt::Blocked(index),
        };
        for done in operations[..index].iter().rev() {
            take_back(semaphores, adjustments, done);
        }
        return outcome;
    }
    for operation in operations {
        semaphores[usize::from(operation.number)].pid = pid;
    }
    Attempt::Done
}

/// Carries out one; `None` if it has to wait.
fn apply(
    semaphores: &mut [Semaphore],
    adjustments: &mut [i16],
    operation: &Operation,
) -> Result<(), Option<Errno>> {
    let number = usize::from(operation.number);
    let semaphore = &mut semaphores[number];
    if operation.change == 0 {
        return if semaphore.value == 0 { Ok(()) } else { Err(None) };
    }
    let sum = i32::from(semaphore.value) + i32::from(operation.change);
    let value = u16::try_from(sum).map_err(|_| None)?;
    if value > VALUE_MAX {
        return Err(Some(Errno::ERANGE));
    }
    if operation.is_undone() {
        let adjustment = adjustments[number].checked_sub(operation.change).ok_or(Some(Errno::ERANGE))?;
        adjustments[number] = adjustment;
    }
    semaphore.value = value;
    Ok(())
}

/// Takes back one that was carried out.
fn take_back(semaphores: &mut [Semaphore], adjustments: &mut [i16], operation: &Operation) {
    let number = usize::from(operation.number);
    let semaphore = &mut semaphores[number];
    semaphore.value = semaphore.value.wrapping_add_signed(operation.change.wrapping_neg());
    if operation.is_undone() {
        adjustments[number] = adjustments[number].wrapping_add(operation.change);
    }
}

/// Applies what the operations of a process that has ended are undone by. Returns whether there was anything.
pub(crate) fn undo(semaphores: &mut [Semaphore], adjustments: &[i16], pid: u32) -> bool {
    let mut some = false;
    for (semaphore, adjustment) in semaphores.iter_mut().zip(adjustments) {
        if *adjustment != 0 {
            let value = semaphore.value.saturating_add_signed(*adjustment).min(VALUE_MAX);
            *semaphore = Semaphore { value, pid };
            some = true;
        }
    }
    some
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u16]) -> Vec<Semaphore> {
        values.iter().map(|&value| Semaphore { value, pid: 0 }).collect()
    }

    fn operation(number: u16, change: i16, flags: i16) -> Operation {
        Operation { number, change, flags }
    }

    #[test]
    fn all_or_nothing() {
        let mut semaphores = of(&[1, 2]);
        let takes = [operation(0, -1, 0), operation(1, -3, 0)];
        assert_eq!(attempt(&mut semaphores, &mut [], &takes, 5), Attempt::Blocked(1));
        assert_eq!(semaphores, of(&[1, 2]));
        let refuses = [operation(0, -1, 0), operation(1, -3, NO_WAIT)];
        assert_eq!(attempt(&mut semaphores, &mut [], &refuses, 5), Attempt::Failed(Errno::EAGAIN));
        let gives = [operation(1, 1, 0), operation(0, -1, 0), operation(1, -3, 0), operation(0, 0, 0)];
        assert_eq!(attempt(&mut semaphores, &mut [], &gives, 5), Attempt::Done);
        assert_eq!(semaphores, [Semaphore { value: 0, pid: 5 }; 2]);
    }

    #[test]
    fn values_and_adjustments_have_limits() {
        let mut semaphores = of(&[VALUE_MAX, 1]);
        let more = [operation(1, -1, 0), operation(0, 1, 0)];
        assert_eq!(attempt(&mut semaphores, &mut [], &more, 5), Attempt::Failed(Errno::ERANGE));
        let mut adjustments = [0, i16::MAX];
        let less = [operation(0, -3, UNDO), operation(1, -1, UNDO)];
        assert_eq!(attempt(&mut semaphores, &mut adjustments, &less, 5), Attempt::Failed(Errno::ERANGE));
        assert_eq!((semaphores, adjustments), (of(&[VALUE_MAX, 1]), [0, i16::MAX]));
    }

    #[test]
    fn the_end_of_a_process_stays_within_the_limits() {
        let mut semaphores = of(&[5, 2, VALUE_MAX]);
        assert!(undo(&mut semaphores, &[0, -3, 4], 9));
        assert_eq!(semaphores[0], Semaphore { value: 5, pid: 0 });
        assert_eq!(semaphores[1..], [Semaphore { value: 0, pid: 9 }, Semaphore { value: VALUE_MAX, pid: 9 }]);
        assert!(!undo(&mut semaphores, &[0; 3], 9));
    }

    proptest! {
        /// What is undone leaves the values that there were, and what does not succeed changes nothing.
        #[test]
        fn what_was_done_can_be_undone(
            values in proptest::collection::vec(0u16..100, 4),
            list in proptest::collection::vec((0u16..4, -60i16..60), 1..6),
        ) {
            let mut semaphores = of(&values);
            let mut adjustments = [0; 4];
            let operations: Vec<_> = list.iter().map(|&(number, change)| operation(number, change, UNDO)).collect();
            if attempt(&mut semaphores, &mut adjustments, &operations, 3) != Attempt::Done {
                prop_assert_eq!(&semaphores, &of(&values));
                prop_assert_eq!(adjustments, [0; 4]);
            }
            undo(&mut semaphores, &adjustments, 4);
            prop_assert_eq!(semaphores.iter().map(|semaphore| semaphore.value).collect::<Vec<_>>(), values);
        }
    }
}
