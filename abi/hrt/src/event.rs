// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events and handlers.

/// How many events there can be.
pub const EVENTS_MAX: usize = 256;
/// The action uses vector registers: they are saved around it. Without this flag the action and what it calls
/// must be compiled as HRT_HANDLER functions (general registers only); the kernel cannot check that.
pub const HANDLER_VECTORS: u32 = 1_u32;
/// For hrt_event_notify_all(): the calling CPU is notified, too.
pub const EVENT_SELF: u32 = 1_u32;
