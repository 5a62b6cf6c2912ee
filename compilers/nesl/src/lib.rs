// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles NESL 3.1 to VCODE by flattening.

#![forbid(unsafe_code)]

pub mod core;
pub mod elaborate;
pub mod evaluate;
pub mod flatten;
pub mod session;
pub mod vcode;

pub use session::{FormId, Loaded, Outcome, Request, Session};
