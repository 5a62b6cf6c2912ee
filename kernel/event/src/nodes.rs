// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A list node for each thread, by its index.

use hadal_hal::threads::table::ThreadTable;

use crate::waiters::{Node, Nodes};

static TABLE: ThreadTable<Node> = ThreadTable::new();

/// The nodes of all threads.
pub(crate) struct AllThreads;

/// The one table.
pub(crate) static NODES: AllThreads = AllThreads;

/// Makes the nodes of the threads around an index; false when memory is out.
pub fn prepare_table(index: u32) -> bool {
    TABLE.prepare(index, |_| Node::new())
}

impl Nodes for AllThreads {
    fn node(&self, thread: u32) -> &Node {
        TABLE.get(thread, |_| Node::new())
    }
}
