// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The messages of a queue: in the order in which they were sent, and by type.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use hadal_hal::memory::fallible;

use crate::{Errno, Result};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// More than 0.
    pub(crate) kind: i64,
    pub(crate) data: Vec<u8>,
}

/// Which messages a receiver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// Any.
    All,
    /// Of one type.
    Only(i64),
    /// Of all types but one (`MSG_EXCEPT`).
    Except(i64),
    /// Of the lowest type, if that is not above one.
    UpTo(i64),
}

impl Kinds {
    /// As `msgrcv` says it.
    pub(crate) fn new(kind: i64, except: bool) -> Self {
        match kind {
            0 => Self::All,
            1.. if except => Self::Except(kind),
            1.. => Self::Only(kind),
            _ => Self::UpTo(kind.checked_neg().unwrap_or(i64::MAX)),
        }
    }
}

/// What a receiver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) kinds: Kinds,
    /// Bytes that it has room for.
    pub(crate) room: usize,
    /// What is longer is cut off (`MSG_NOERROR`).
    pub(crate) cuts: bool,
}

impl Wanted {
    /// Every message.
    pub(crate) const ANY: Self = Self { kinds: Kinds::All, room: usize::MAX, cuts: false };

    fn check(&self, data: &[u8]) -> Result<()> {
        if data.len() > self.room && !self.cuts { Err(Errno::E2BIG) } else { Ok(()) }
    }
}

/// The messages.
pub(super) struct Content {
    messages: BTreeMap<u64, Message>,
    by_kind: BTreeSet<(i64, u64)>,
    /// Messages that have been put in.
    arrived: u64,
    bytes: usize,
}

impl Content {
    pub(super) const fn new() -> Self {
        Self { messages: BTreeMap::new(), by_kind: BTreeSet::new(), arrived: 0, bytes: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Bytes of all messages.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts one in; there has to be memory for two nodes.
    pub(super) fn put(&mut self, message: Message) {
        self.bytes += message.data.len();
        self.by_kind.insert((message.kind, self.arrived));
        self.messages.insert(self.arrived, message);
        self.arrived += 1;
    }

    /// The number of the first message of some kinds.
    fn find(&self, kinds: Kinds) -> Option<u64> {
        let first_of = |lowest: i64, highest: i64| {
            self.by_kind.range((lowest, 0)..=(highest, u64::MAX)).next().map(|&(_, number)| number)
        };
        match kinds {
            Kinds::All => self.messages.first_key_value().map(|(&number, _)| number),
            Kinds::Only(kind) => first_of(kind, kind),
            Kinds::UpTo(kind) => first_of(i64::MIN, kind),
            Kinds::Except(kind) => {
                self.messages.iter().find(|(_, message)| message.kind != kind).map(|(&number, _)| number)
            }
        }
    }

    /// Takes out the message that is wanted, if there is one; `E2BIG` if it is too long, and stays.
    pub(super) fn take(&mut self, wanted: &Wanted) -> Result<Option<Message>> {
        let Some(number) = self.find(wanted.kinds) else { return Ok(None) };
        let Some(message) = self.messages.get(&number) else { return Ok(None) };
        wanted.check(&message.data)?;
        self.by_kind.remove(&(message.kind, number));
        self.bytes -= message.data.len();
        Ok(self.messages.remove(&number))
    }

    /// A copy of the message at a place.
    pub(super) fn copy(&self, place: usize, wanted: &Wanted) -> Result<Message> {
        let message = self.messages.values().nth(place).ok_or(Errno::ENOMSG)?;
        wanted.check(&message.data)?;
        Ok(Message { kind: message.kind, data: fallible::copied(&message.data)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(messages: &[(i64, &[u8])]) -> Content {
        let mut content = Content::new();
        messages.iter().for_each(|&(kind, data)| content.put(Message { kind, data: data.to_vec() }));
        content
    }

    fn take(content: &mut Content, kind: i64, except: bool) -> Option<Vec<u8>> {
        let wanted = Wanted { kinds: Kinds::new(kind, except), ..Wanted::ANY };
        content.take(&wanted).expect("room").map(|message| message.data)
    }

    #[test]
    fn types_choose_messages() {
        let all: [(i64, &[u8]); 6] = [(5, b"a"), (3, b"b"), (5, b"c"), (2, b"d"), (3, b"e"), (9, b"f")];
        let mut messages = content(&all);
        assert_eq!((messages.len(), messages.bytes()), (6, 6));
        assert_eq!(take(&mut messages, 4, false), None);
        assert_eq!(take(&mut messages, -1, false), None);
        assert_eq!(take(&mut messages, 5, false).as_deref(), Some(&b"a"[..]));
        assert_eq!(take(&mut messages, -4, false).as_deref(), Some(&b"d"[..]));
        assert_eq!(take(&mut messages, i64::MIN, false).as_deref(), Some(&b"b"[..]));
        assert_eq!(take(&mut messages, 5, true).as_deref(), Some(&b"e"[..]));
        assert_eq!(take(&mut messages, 0, false).as_deref(), Some(&b"c"[..]));
        assert_eq!(take(&mut messages, 9, true), None);
        assert_eq!(take(&mut messages, 9, false).as_deref(), Some(&b"f"[..]));
        assert_eq!((messages.len(), messages.bytes(), messages.by_kind.len()), (0, 0, 0));
    }

    #[test]
    fn what_is_too_long_stays_or_is_cut() {
        let mut messages = content(&[(1, b"long"), (1, b"s")]);
        let wanted = Wanted { kinds: Kinds::All, room: 2, cuts: false };
        assert_eq!(messages.take(&wanted), Err(Errno::E2BIG));
        assert_eq!(messages.copy(0, &wanted), Err(Errno::E2BIG));
        assert_eq!(messages.copy(1, &wanted).map(|message| message.data), Ok(b"s".to_vec()));
        assert_eq!(messages.copy(2, &wanted), Err(Errno::ENOMSG));
        let cut = messages.take(&Wanted { cuts: true, ..wanted }).expect("cut").expect("there");
        assert_eq!(cut.data, b"long");
        assert_eq!((messages.len(), messages.bytes()), (1, 1));
    }
}
