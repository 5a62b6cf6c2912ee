// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order in which spin locks are taken: `docs/src/lock-order.md` as a type.

/// A lock's place in the order of spin locks: it may be taken while locks of lower ranks are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
#[allow(missing_docs, reason = "what each stands for is in docs/src/lock-order.md")]
pub enum Rank {
    AddressSpace,
    WaitWords,
    ProcessTimers,
    SignalTimer,
    FreeSignalTimers,
    JobControl,
    Family,
    ProcessThreads,
    Process,
    Files,
    EventLines,
    EventSlots,
    Interrupts,
    DeviceQueue,
    Waiters,
    GroupRegistry,
    Group,
    Ledger,
    Realtime,
    DeadlineQueue,
    TimerQueue,
    Affinity,
    FreeThreadsOfCpu,
    FreeThreads,
    ThreadTable,
    BlockStock,
    /// What [`SpinLock::new`](super::SpinLock::new) gives.
    #[default]
    Leaf,
    PageTablePool,
    PageTables,
    HeapOfCpu,
    Heap,
    FrameCache,
    Zone,
    Last,
}

impl Rank {
    /// All ranks, in order.
    pub const ALL: &[Self] = &[
        Self::AddressSpace,
        Self::WaitWords,
        Self::ProcessTimers,
        Self::SignalTimer,
        Self::FreeSignalTimers,
        Self::JobControl,
        Self::Family,
        Self::ProcessThreads,
        Self::Process,
        Self::Files,
        Self::EventLines,
        Self::EventSlots,
        Self::Interrupts,
        Self::DeviceQueue,
        Self::Waiters,
        Self::GroupRegistry,
        Self::Group,
        Self::Ledger,
        Self::Realtime,
        Self::DeadlineQueue,
        Self::TimerQueue,
        Self::Affinity,
        Self::FreeThreadsOfCpu,
        Self::FreeThreads,
        Self::ThreadTable,
        Self::BlockStock,
        Self::Leaf,
        Self::PageTablePool,
        Self::PageTables,
        Self::HeapOfCpu,
        Self::Heap,
        Self::FrameCache,
        Self::Zone,
        Self::Last,
    ];

    /// Whether a lock of this rank may be taken while one of rank `held` is; `ascends` says that its address is the higher
    /// one, by which two of the same rank are ordered where there may be two. Queues of waiters are ordered by who listens to
    /// whom, which forms no cycles and is seen to where that changes.
    pub fn may_follow(self, held: Self, ascends: bool) -> bool {
        let in_order = match self {
            Self::WaitWords => ascends,
            Self::Waiters => true,
            _ => false,
        };
        self > held || self == held && in_order
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::format;
    use std::vec::Vec;

    use super::Rank;

    /// The page names each rank once, in order, and no other.
    #[test]
    fn the_page_of_the_book_has_the_same_order() {
        let page = include_str!("../../../../docs/src/lock-order.md");
        let page = page.split_once("## 2.").expect("the sleeping locks come first").1;
        let quoted = page.split('`').skip(1).step_by(2);
        let is_rank = |word: &&str| {
            word.starts_with(|first: char| first.is_ascii_uppercase())
                && word.chars().all(char::is_alphabetic)
        };
        let named: Vec<&str> = quoted.filter(is_rank).collect();
        let ranks: Vec<_> = Rank::ALL.iter().map(|rank| format!("{rank:?}")).collect();
        assert_eq!(named, ranks);
        assert!(Rank::ALL.windows(2).all(|pair| pair[1].may_follow(pair[0], false)));
    }

    #[test]
    fn two_of_a_rank_are_for_words_only() {
        assert!(Rank::WaitWords.may_follow(Rank::WaitWords, true));
        assert!(!Rank::WaitWords.may_follow(Rank::WaitWords, false));
        assert!(!Rank::Files.may_follow(Rank::Files, true));
        assert!(!Rank::Files.may_follow(Rank::Leaf, true));
    }
}
