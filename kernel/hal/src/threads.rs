// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads as the hardware knows them: contexts and the switch between them, what runs on each CPU, and tables of what
//! belongs to threads.

pub mod companion;
pub mod context;
pub mod head;
pub mod link;
pub mod running;
pub mod table;
mod type_key;
