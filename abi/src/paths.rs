// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a kernel tells about its machine: what CPUID offers, which of its own paths it takes, and how a short trial of each
//! went. Sent with the machine report.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// What a processor answers to CPUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuidLeaf {
    /// EAX before the instruction.
    pub leaf: u32,
    /// ECX before the instruction.
    pub subleaf: u32,
    /// EAX, EBX, ECX and EDX behind it.
    pub registers: [u32; 4],
}

/// How a trial went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    /// It works; the text says what was done.
    Passed(String),
    /// It does not; the text says what was seen.
    Failed(String),
    /// There is nothing to try.
    None,
}

/// One part of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Its name.
    pub part: String,
    /// What the kernel uses of it.
    pub choice: String,
    /// How that went.
    pub trial: Trial,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// In the order in which they are to be shown.
    pub paths: Vec<Path>,
    /// Of the boot CPU.
    pub cpuid: Vec<CpuidLeaf>,
}
