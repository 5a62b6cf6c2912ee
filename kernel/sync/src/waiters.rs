// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The nodes of all threads for [`Words`](crate::words::Words), in a table with the indices of the scheduler's.

use hadal_hal::threads::table::ThreadTable;

use crate::words::{Node, Nodes};

static TABLE: ThreadTable<Node> = ThreadTable::new();

/// Makes the nodes of the threads around an index; false when memory is out.
pub fn prepare_table(index: u32) -> bool {
    TABLE.prepare(index, |_| Node::default())
}

/// The machine's threads.
#[derive(Clone, Copy, Debug)]
pub struct AllThreads;

impl Nodes for AllThreads {
    #[inline]
    fn node(&self, index: u32) -> &Node {
        TABLE.get(index, |_| Node::default())
    }

    fn urgency(&self, index: u32) -> u8 {
        hadal_sched::thread(index).priority()
    }

    #[inline]
    fn own_urgency(&self, _index: u32) -> u8 {
        hadal_sched::current().priority()
    }
}
