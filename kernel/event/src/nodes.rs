// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A list node for each thread, by its index; made in chunks, never freed.

use alloc::boxed::Box;

use spin::Once;

use crate::waiters::{Node, Nodes};

const CHUNK: usize = 1024;
const CHUNKS: usize = 256;

/// The nodes of all threads.
pub(crate) struct Table([Once<Box<[Node]>>; CHUNKS]);

/// The one table.
pub(crate) static NODES: Table = Table([const { Once::new() }; CHUNKS]);

impl Nodes for Table {
    fn node(&self, thread: u32) -> &Node {
        let index = thread as usize;
        // A thread's first wait makes the chunk, so an interrupt always finds it.
        let chunk = self.0[index / CHUNK].call_once(|| (0..CHUNK).map(|_| Node::new()).collect());
        &chunk[index % CHUNK]
    }
}
