// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The nodes of all threads for [`Words`](crate::words::Words), in a table with the indices of the scheduler's.

use alloc::boxed::Box;

use spin::Once;

use crate::words::{Node, Nodes};

const CHUNK: usize = 256;
const CHUNKS: usize = 1024;
static TABLE: [Once<Box<[Node]>>; CHUNKS] = [const { Once::new() }; CHUNKS];

/// The machine's threads.
#[derive(Clone, Copy, Debug)]
pub struct AllThreads;

impl Nodes for AllThreads {
    fn node(&self, index: u32) -> &Node {
        let index = index as usize;
        let make = || (0..CHUNK).map(|_| Node::default()).collect();
        let chunk = match TABLE[index / CHUNK].get() {
            Some(chunk) => chunk,
            None => TABLE[index / CHUNK].call_once(make),
        };
        &chunk[index % CHUNK]
    }
}
