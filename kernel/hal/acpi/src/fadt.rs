// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fixed ACPI description table, as far as the kernel uses it: the reset register, which legacy devices
//! there are, and the power-management timer. Older tables are shorter; what they lack reads as absent.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Error, Table};

const PM_TIMER_BLOCK: u32 = 76;
const PM_TIMER_LENGTH: u32 = 91;
const BOOT_FLAGS: u32 = 109;
const FLAGS: u32 = 112;
const RESET_REGISTER: u32 = 116;
const RESET_VALUE: u32 = 128;
const X_PM_TIMER_BLOCK: u32 = 208;
/// A table shorter than this is from before ACPI 1.0.
const MIN_BYTES: u32 = 116;

const FLAG_PM_TIMER_32_BITS: u32 = 1 << 8;
const FLAG_RESET_SUPPORTED: u32 = 1 << 10;
const FLAG_HARDWARE_REDUCED: u32 = 1 << 20;

/// Where a register is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenericAddress {
    /// In memory.
    Memory {
        /// Its physical address.
        pa: u64,
    },
    /// At an I/O port.
    Port {
        /// The port's number.
        port: u16,
    },
    /// In the configuration space of a function on PCI bus 0.
    PciConfig {
        /// Device number.
        device: u8,
        /// Function number.
        function: u8,
        /// Byte offset in the configuration space.
        offset: u16,
    },
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawAddress {
    space: u8,
    bit_width: u8,
    bit_offset: u8,
    access_size: u8,
    address: U64,
}

impl RawAddress {
    pub(crate) fn decode(&self) -> Option<GenericAddress> {
        let address = self.address.get();
        match self.space {
            _ if address == 0 => None,
            0 => Some(GenericAddress::Memory { pa: address }),
            1 => u16::try_from(address).ok().map(|port| GenericAddress::Port { port }),
            2 => Some(GenericAddress::PciConfig {
                device: (address >> 32 & 0x1f) as u8,
                function: (address >> 16 & 0x7) as u8,
                offset: (address & 0xffff) as u16,
            }),
            _ => None,
        }
    }
}

/// Writing `value` to the register restarts the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetRegister {
    /// Where to write.
    pub register: GenericAddress,
    /// What to write.
    pub value: u8,
}

/// Which devices of an old PC the machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootFlags {
    /// Devices on an ISA bus that no table describes may be there.
    pub legacy_devices: bool,
    /// There is a keyboard controller.
    pub keyboard_controller: bool,
    /// VGA must not be touched.
    pub no_vga: bool,
    /// Message-signalled interrupts must not be used.
    pub no_msi: bool,
    /// There is no CMOS real-time clock.
    pub no_cmos_rtc: bool,
}

/// The part of the table that the kernel uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fadt {
    /// How to restart the machine, where there is a register for it.
    pub reset: Option<ResetRegister>,
    /// Legacy devices; `None` on tables older than ACPI 2.0, which do not say.
    pub boot_flags: Option<BootFlags>,
    /// The 3.579545 MHz counter.
    pub pm_timer: Option<GenericAddress>,
    /// Width of that counter: 24 or 32 bits.
    pub pm_timer_bits: u8,
    /// The machine has none of the fixed ACPI registers.
    pub hardware_reduced: bool,
}

impl Fadt {
    pub(crate) fn new(table: Table<'_>) -> Result<Self, Error> {
        if table.length_bytes() < MIN_BYTES {
            return Err(Error::BadLength);
        }
        let flags = table.read::<U32>(FLAGS).ok_or(Error::BadLength)?.get();
        let boot_flags = table.read::<U16>(BOOT_FLAGS).filter(|_| table.revision() >= 2);
        Ok(Self {
            reset: reset(&table).filter(|_| flags & FLAG_RESET_SUPPORTED != 0),
            boot_flags: boot_flags.map(|bits| decode_boot_flags(bits.get())),
            pm_timer: pm_timer(&table),
            pm_timer_bits: if flags & FLAG_PM_TIMER_32_BITS != 0 { 32 } else { 24 },
            hardware_reduced: flags & FLAG_HARDWARE_REDUCED != 0,
        })
    }
}

fn reset(table: &Table<'_>) -> Option<ResetRegister> {
    let register = table.read::<RawAddress>(RESET_REGISTER)?.decode()?;
    Some(ResetRegister { register, value: table.read(RESET_VALUE)? })
}

fn pm_timer(table: &Table<'_>) -> Option<GenericAddress> {
    if table.read::<u8>(PM_TIMER_LENGTH)? != 4 {
        return None;
    }
    let extended = table.read::<RawAddress>(X_PM_TIMER_BLOCK).and_then(|raw| raw.decode());
    extended.or_else(|| {
        let port = u16::try_from(table.read::<U32>(PM_TIMER_BLOCK)?.get()).ok()?;
        (port != 0).then_some(GenericAddress::Port { port })
    })
}

fn decode_boot_flags(bits: u16) -> BootFlags {
    BootFlags {
        legacy_devices: bits & 1 != 0,
        keyboard_controller: bits & 2 != 0,
        no_vga: bits & 4 != 0,
        no_msi: bits & 8 != 0,
        no_cmos_rtc: bits & 0x20 != 0,
    }
}
