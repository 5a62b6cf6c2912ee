// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Modules that the boot brought.

#[cfg(feature = "zerocopy")]
use zerocopy::{Immutable, IntoBytes};

use crate::words::{Data, Text};

/// A file that the boot loader, or `hadal run --module NAME=FILE`, put into memory; read-only for as long as
/// the machine runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(IntoBytes, Immutable))]
pub struct Module {
    /// Its name.
    pub name: Text,
    /// Its content.
    pub data: Data,
    /// Length of the content.
    pub bytes: u64,
}
