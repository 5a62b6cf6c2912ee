// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the system calls itself where programs ask (`uname`, `/proc/version`, `/proc/sys/kernel`).

/// The name that programs expect.
pub const SYSTEM: &str = "Linux";
/// The Linux release whose interface this is, with a suffix that tells people whose kernel it is.
pub const RELEASE: &str = "6.1.0-hadal";
/// Version of the build.
pub const VERSION: &str = concat!("#1 SMP Hadal ", env!("CARGO_PKG_VERSION"));
/// The processor architecture.
pub const MACHINE: &str = "x86_64";
/// The domain name of NIS, which there is none of.
pub const DOMAIN: &str = "(none)";
