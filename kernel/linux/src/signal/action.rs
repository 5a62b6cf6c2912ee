// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process does about each signal: the table that `rt_sigaction` changes.

use hadal_hal::sync::{Rank, SpinLock};
use linux_raw_sys::general;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::default;
use super::number::COUNT;
use super::set::{AtomicSigSet, SigSet};
use crate::shared::{Part, Stock};

bitflags::bitflags! {
    /// Flags of an action (sigaction(2)).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ActionFlags: u32 {
        /// No signal when a child stops.
        const NOCLDSTOP = general::SA_NOCLDSTOP;
        /// No zombies.
        const NOCLDWAIT = general::SA_NOCLDWAIT;
        /// The handler takes three arguments; every handler gets them.
        const SIGINFO = general::SA_SIGINFO;
        /// Tag bits in fault addresses; there are none on x86-64.
        const EXPOSE_TAGBITS = general::SA_EXPOSE_TAGBITS;
        /// The handler returns through a function that the action names.
        const RESTORER = general::SA_RESTORER;
        /// The handler runs on the alternate stack.
        const ONSTACK = general::SA_ONSTACK;
        /// Interrupted calls are made again.
        const RESTART = general::SA_RESTART;
        /// The signal is not blocked while its handler runs.
        const NODEFER = general::SA_NODEFER;
        /// The action becomes the default before the handler runs.
        const RESETHAND = general::SA_RESETHAND;
    }
}

/// `struct kernel_sigaction`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct RawAction {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: SigSet,
}

const _: () = assert!(size_of::<RawAction>() == 32);

/// What happens when a signal is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The default action.
    Default,
    /// Nothing.
    Ignore,
    /// A function of the program at this address.
    Handler(u64),
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// What happens.
    pub disposition: Disposition,
    /// How.
    pub flags: ActionFlags,
    /// Where the handler returns to, with [`ActionFlags::RESTORER`].
    pub restorer: u64,
    /// Blocked while the handler runs.
    pub mask: SigSet,
}

const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;

impl Action {
    /// As every program starts.
    pub const DEFAULT: Self = Self {
        disposition: Disposition::Default,
        flags: ActionFlags::empty(),
        restorer: 0,
        mask: SigSet::EMPTY,
    };

    /// Takes what a program gives. Flags that have no meaning are dropped, also the upper half of the word, which some
    /// programs leave uninitialised.
    pub fn from_raw(raw: RawAction) -> Self {
        Self {
            disposition: match raw.handler {
                SIG_DFL => Disposition::Default,
                SIG_IGN => Disposition::Ignore,
                handler => Disposition::Handler(handler),
            },
            flags: ActionFlags::from_bits_truncate(raw.flags as u32),
            restorer: raw.restorer,
            mask: raw.mask.blockable(),
        }
    }

    /// As a program sees it.
    pub fn to_raw(&self) -> RawAction {
        RawAction {
            handler: match self.disposition {
                Disposition::Default => SIG_DFL,
                Disposition::Ignore => SIG_IGN,
                Disposition::Handler(handler) => handler,
            },
            flags: self.flags.bits().into(),
            restorer: self.restorer,
            mask: self.mask,
        }
    }

    /// Whether nothing happens when `signo` is delivered.
    fn ignores(&self, signo: u8) -> bool {
        match self.disposition {
            Disposition::Default => default::IGNORED.contains(signo),
            Disposition::Ignore => true,
            Disposition::Handler(_) => false,
        }
    }
}

/// One line for each signal.
type Table = [Action; COUNT as usize];

/// The actions of a process, or of several.
pub(crate) struct Actions {
    table: SpinLock<Table>,
    /// The signals that are ignored, by default or by request: readable without the lock, as the next two.
    ignored: AtomicSigSet,
    ignored_on_request: AtomicSigSet,
    caught: AtomicSigSet,
    /// Those that may have another action than [`Action::DEFAULT`].
    changed: AtomicSigSet,
}

impl Actions {
    pub(crate) const fn new() -> Self {
        Self {
            table: SpinLock::ranked(Rank::Process, [Action::DEFAULT; COUNT as usize]),
            ignored: AtomicSigSet::new(default::IGNORED),
            ignored_on_request: AtomicSigSet::new(SigSet::EMPTY),
            caught: AtomicSigSet::new(SigSet::EMPTY),
            changed: AtomicSigSet::new(SigSet::EMPTY),
        }
    }

    /// The action of a valid signal.
    pub(crate) fn get(&self, signo: u8) -> Action {
        self.table.lock()[usize::from(signo) - 1]
    }

    /// Changes the action of a valid signal and returns the previous one.
    pub(crate) fn set(&self, signo: u8, action: Action) -> Action {
        self.replace(&mut self.table.lock(), signo, action)
    }

    /// Becomes the actions of another process.
    pub(crate) fn take_over(&self, other: &Self) {
        let changed = other.changed.get();
        // One by one: a table is large for a kernel stack.
        for signo in changed.union(self.changed.get()).iter() {
            let is_other = changed.contains(signo);
            let action = if is_other { other.get(signo) } else { Action::DEFAULT };
            self.replace(&mut self.table.lock(), signo, action);
        }
        self.changed.set(changed);
    }

    /// Gives every signal that has a handler its default action.
    pub(crate) fn forget_handlers(&self) {
        let mut table = self.table.lock();
        for signo in self.changed.get().iter() {
            let action = match table[usize::from(signo) - 1].disposition {
                Disposition::Ignore => Action { disposition: Disposition::Ignore, ..Action::DEFAULT },
                Disposition::Default | Disposition::Handler(_) => Action::DEFAULT,
            };
            self.replace(&mut table, signo, action);
        }
    }

    /// Changes a line of the table, which is locked.
    fn replace(&self, table: &mut Table, signo: u8, action: Action) -> Action {
        let disposition = action.disposition;
        if action != Action::DEFAULT {
            self.changed.insert(signo);
        }
        self.ignored.put(signo, action.ignores(signo));
        self.ignored_on_request.put(signo, disposition == Disposition::Ignore);
        self.caught.put(signo, matches!(disposition, Disposition::Handler(_)));
        core::mem::replace(&mut table[usize::from(signo) - 1], action)
    }

    /// The action for a signal that is delivered now; takes a one-shot handler out of the table.
    pub(crate) fn take(&self, signo: u8) -> Action {
        let mut table = self.table.lock();
        let action = table[usize::from(signo) - 1];
        if matches!(action.disposition, Disposition::Handler(_))
            && action.flags.contains(ActionFlags::RESETHAND)
        {
            // Under the same lock: of two threads that deliver the signal at a time one runs the handler.
            self.replace(&mut table, signo, Action { disposition: Disposition::Default, ..action });
        }
        action
    }

    /// The signals that are ignored.
    pub(crate) fn ignored(&self) -> SigSet {
        self.ignored.get()
    }

    /// The signals that are caught.
    pub(crate) fn caught(&self) -> SigSet {
        self.caught.get()
    }

    /// The signals that are to be ignored; those that have no effect by default are not among them.
    pub(crate) fn ignored_on_request(&self) -> SigSet {
        self.ignored_on_request.get()
    }
}

impl Part for Actions {
    fn new() -> Self {
        Self::new()
    }

    fn end(&self) {
        for signo in self.changed.get().iter() {
            self.set(signo, Action::DEFAULT);
        }
        self.changed.set(SigSet::EMPTY);
    }

    fn stock() -> &'static Stock<Self> {
        static STOCK: Stock<Actions> = Stock::new(Actions::new());
        &STOCK
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::{SIGCHLD, SIGKILL, SIGSTOP, SIGUSR1};
    use super::*;

    fn handler(flags: u64) -> Action {
        Action::from_raw(RawAction { handler: 0x1000, flags, restorer: 0x2000, mask: SigSet::ALL })
    }

    #[test]
    fn garbage_in_flags_is_dropped() {
        let action =
            handler(0xdead_beef_0000_0000 | u64::from(general::SA_RESTORER | general::SA_UNSUPPORTED));
        assert_eq!(action.flags, ActionFlags::RESTORER);
        assert_eq!(action.to_raw().flags, u64::from(general::SA_RESTORER));
    }

    #[test]
    fn a_copy_is_that_of_the_other_whatever_it_was() {
        let (one, other) = (Actions::new(), Actions::new());
        let ignore = Action { disposition: Disposition::Ignore, ..Action::DEFAULT };
        let flags_only = Action { flags: ActionFlags::RESTART, ..Action::DEFAULT };
        for (signo, action) in [(1, handler(0)), (7, ignore), (64, flags_only)] {
            assert_eq!(one.set(signo, action), Action::DEFAULT);
        }
        for (signo, action) in [(7, handler(0)), (9, ignore), (30, handler(0))] {
            other.set(signo, action);
        }
        let same = |expected: &Actions| {
            (1..=COUNT).all(|signo| other.get(signo) == expected.get(signo))
                && (other.caught(), other.ignored(), other.ignored_on_request())
                    == (expected.caught(), expected.ignored(), expected.ignored_on_request())
        };
        other.take_over(&one);
        assert!(same(&one));
        other.forget_handlers();
        assert_eq!((other.get(1), other.get(7), other.get(64)), (Action::DEFAULT, ignore, Action::DEFAULT));
        other.take_over(&Actions::new());
        assert!(same(&Actions::new()));
    }

    #[test]
    fn masks_cannot_hold_kill_and_stop() {
        let mask = handler(0).mask;
        assert!(!mask.contains(SIGKILL) && !mask.contains(SIGSTOP) && mask.contains(SIGUSR1));
    }

    #[test]
    fn ignored_set_follows_the_table() {
        let actions = Actions::new();
        assert!(actions.ignored().contains(SIGCHLD) && !actions.ignored().contains(SIGUSR1));
        actions.set(SIGCHLD, handler(0));
        actions.set(SIGUSR1, Action { disposition: Disposition::Ignore, ..Action::DEFAULT });
        assert!(!actions.ignored().contains(SIGCHLD) && actions.ignored().contains(SIGUSR1));
        assert_eq!(actions.caught(), SigSet::of(&[SIGCHLD]));
        assert_eq!(actions.ignored_on_request(), SigSet::of(&[SIGUSR1]));
        actions.set(SIGCHLD, Action::DEFAULT);
        actions.set(SIGUSR1, Action::DEFAULT);
        assert_eq!((actions.caught(), actions.ignored_on_request()), (SigSet::EMPTY, SigSet::EMPTY));
    }

    #[test]
    fn another_program_has_no_handlers_and_ignores_the_same() {
        let actions = Actions::new();
        actions.set(SIGUSR1, handler(general::SA_RESTART.into()));
        actions.set(SIGCHLD, Action { disposition: Disposition::Ignore, ..Action::DEFAULT });
        actions.forget_handlers();
        assert_eq!(actions.get(SIGUSR1), Action::DEFAULT);
        assert_eq!((actions.caught(), actions.ignored_on_request()), (SigSet::EMPTY, SigSet::of(&[SIGCHLD])));
    }

    #[test]
    fn one_shot_handlers_are_taken_once() {
        let actions = Actions::new();
        actions.set(SIGUSR1, handler(general::SA_RESETHAND.into()));
        assert_eq!(actions.take(SIGUSR1).disposition, Disposition::Handler(0x1000));
        assert_eq!(actions.take(SIGUSR1).disposition, Disposition::Default);
    }

    #[test]
    fn one_shot_handlers_are_taken_by_one_of_many() {
        const TAKERS: usize = 4;
        const ROUNDS: usize = 5000;
        let (actions, start) = (Actions::new(), std::sync::Barrier::new(TAKERS));
        let taken = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..TAKERS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        if start.wait().is_leader() {
                            actions.set(SIGUSR1, handler(general::SA_RESETHAND.into()));
                        }
                        start.wait();
                        if actions.take(SIGUSR1).disposition != Disposition::Default {
                            taken.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(taken.into_inner(), ROUNDS);
    }
}
