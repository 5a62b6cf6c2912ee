// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How software turns the machine off: sleep state S5 (ACPI specification 6.5, sections 4.8.3.2, 7.4.2.6 and 16.1.7).
//!
//! The registers are in the fixed description table. The value that means S5 is in the definition block, as the package
//! `_S5_`; that is byte code, but the package is a constant, and so is found by its name.

use zerocopy::little_endian::U32;

use crate::fadt::RawAddress;
use crate::{Fadt, GenericAddress, Table, Tables};

const SMI_COMMAND_PORT: u32 = 48;
const ACPI_ENABLE: u32 = 52;
const PM1A_CONTROL: u32 = 64;
const PM1B_CONTROL: u32 = 68;
const X_PM1A_CONTROL: u32 = 172;
const X_PM1B_CONTROL: u32 = 184;
const SLEEP_CONTROL: u32 = 244;

/// Bits of a PM1 control register.
const SLEEP_TYPE_SHIFT: u32 = 10;
const SLEEP_ENABLE: u16 = 1 << 13;
/// The same of the sleep control register.
const REDUCED_TYPE_SHIFT: u32 = 2;
const REDUCED_ENABLE: u8 = 1 << 5;
/// A sleep type has three bits.
const MAX_SLEEP_TYPE: u8 = 7;

/// Byte codes (section 20.2).
const NAME_OP: u8 = 0x08;
const ROOT_CHAR: u8 = b'\\';
const PACKAGE_OP: u8 = 0x12;
const ZERO_OP: u8 = 0x00;
const ONE_OP: u8 = 0x01;
const BYTE_PREFIX: u8 = 0x0a;
const S5: &[u8; 4] = b"_S5_";
/// More than the declaration takes behind its name: package, length, count, two bytes with prefixes.
const DECLARATION_BYTES: u32 = 10;

/// Writes to registers that turn the machine off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoftOff {
    /// The fixed registers: a 16-bit write to each PM1 control register.
    Pm1 {
        /// Port and value of the first register.
        a: (u16, u16),
        /// Of the second one, on machines that have it.
        b: Option<(u16, u16)>,
        /// An 8-bit write that makes the firmware hand the registers over, where it has not done so: bit 0 of the first
        /// register is set then.
        enable: Option<(u16, u8)>,
    },
    /// A machine without the fixed registers: an 8-bit write to the sleep control register.
    Reduced {
        /// Where it is: in memory or at a port.
        register: GenericAddress,
        /// What to write.
        value: u8,
    },
}

impl SoftOff {
    /// Bit 0 of a PM1 control register: the operating system has the registers.
    pub const SCI_ENABLED: u16 = 1;

    /// What the tables say; `None` where they do not, or name fixed registers that are not at I/O ports.
    pub(crate) fn new(tables: &Tables<'_>) -> Option<Self> {
        let table = tables.find(*b"FACP").ok()?;
        let fadt = Fadt::new(table).ok()?;
        let (type_a, type_b) = sleep_types(tables)?;
        if fadt.hardware_reduced {
            let register = table.read::<RawAddress>(SLEEP_CONTROL)?.decode()?;
            return Some(Self::Reduced { register, value: type_a << REDUCED_TYPE_SHIFT | REDUCED_ENABLE });
        }
        let value = |sleep_type: u8| u16::from(sleep_type) << SLEEP_TYPE_SHIFT | SLEEP_ENABLE;
        let a = port(&table, X_PM1A_CONTROL).or_else(|| old_port(&table, PM1A_CONTROL))?;
        let b = port(&table, X_PM1B_CONTROL).or_else(|| old_port(&table, PM1B_CONTROL));
        let enable = old_port(&table, SMI_COMMAND_PORT).zip(table.read::<u8>(ACPI_ENABLE));
        Some(Self::Pm1 {
            a: (a, value(type_a)),
            b: b.map(|port| (port, value(type_b))),
            enable: enable.filter(|&(_, value)| value != 0),
        })
    }
}

fn port(table: &Table<'_>, offset: u32) -> Option<u16> {
    match table.read::<RawAddress>(offset)?.decode()? {
        GenericAddress::Port { port } => Some(port),
        _ => None,
    }
}

fn old_port(table: &Table<'_>, offset: u32) -> Option<u16> {
    u16::try_from(table.read::<U32>(offset)?.get()).ok().filter(|&port| port != 0)
}

/// The sleep types of S5 for the two registers, from the first table with byte code that has them.
fn sleep_types(tables: &Tables<'_>) -> Option<(u8, u8)> {
    let first = tables.dsdt().ok();
    let others = tables.all(*b"SSDT");
    first.into_iter().chain(others).find_map(|table| declared(&table))
}

/// Looks through a table for `Name (_S5, Package () { a, b, ... })`.
fn declared(table: &Table<'_>) -> Option<(u8, u8)> {
    let mut at = table.find(S5, 0)?;
    loop {
        if let Some(types) = package(table, at) {
            return Some(types);
        }
        at = table.find(S5, at + 1)?;
    }
}

/// The first two numbers of the package whose name is at this place.
fn package(table: &Table<'_>, at: u32) -> Option<(u8, u8)> {
    let before = |back: u32| table.read::<u8>(at.checked_sub(back)?);
    let is_name = before(1) == Some(NAME_OP) || (before(1) == Some(ROOT_CHAR) && before(2) == Some(NAME_OP));
    let start = at + S5.len() as u32;
    let len = table.length_bytes().checked_sub(start)?.min(DECLARATION_BYTES);
    let mut bytes = [0; DECLARATION_BYTES as usize];
    let bytes = &mut bytes[..len as usize];
    if !is_name || !table.read_bytes(start, bytes) {
        return None;
    }
    let mut code = bytes.iter().copied();
    if code.next()? != PACKAGE_OP {
        return None;
    }
    // The upper two bits of the first byte of a length say how many follow.
    let more = code.next()? >> 6;
    let mut code = code.skip(more.into());
    let _count = code.next()?;
    Some((small_number(&mut code)?, small_number(&mut code)?))
}

fn small_number(code: &mut impl Iterator<Item = u8>) -> Option<u8> {
    match code.next()? {
        ZERO_OP => Some(0),
        ONE_OP => Some(1),
        BYTE_PREFIX => code.next().filter(|&value| value <= MAX_SLEEP_TYPE),
        _ => None,
    }
}
