// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The screen: text on a frame buffer, or in VGA's text mode.

pub mod framebuffer;
mod text;
pub mod vga;
