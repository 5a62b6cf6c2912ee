// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Fuel`]: what a walk may do. Stacks, tables and expressions are the program's, which may have made them to be walked for
//! hours, in an interrupt.

/// Work that is left. A unit is a byte of a table or some other step of a few nanoseconds.
#[derive(Debug)]
pub(crate) struct Fuel(usize);

/// Units for the search of an index, which may have to be read.
pub(crate) const LOOKUP: usize = 64;
/// Units for the way to a caller by a rule that is known.
pub(crate) const STEP: usize = 16;
/// Units for a word of a stack that may be a return address.
pub(crate) const WORD: usize = 2;

impl Fuel {
    pub(crate) fn new(units: usize) -> Self {
        Self(units)
    }

    /// Takes so much; `false`, and nothing is left, if there is less.
    pub(crate) fn take(&mut self, units: usize) -> bool {
        let left = self.0.checked_sub(units);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_enough_is_gone() {
        let mut fuel = Fuel::new(10);
        assert!(fuel.take(4) && fuel.take(5) && !fuel.is_empty());
        assert!(!fuel.take(2) && fuel.is_empty());
        assert!(!fuel.take(1));
    }
}
