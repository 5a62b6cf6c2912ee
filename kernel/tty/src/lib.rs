// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Terminals without their devices: settings, what becomes of typed bytes, and of bytes for the screen.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod input;
pub mod output;
pub mod termios;
