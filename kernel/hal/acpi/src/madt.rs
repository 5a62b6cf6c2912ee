// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The multiple APIC description table: CPUs, I/O interrupt controllers and how legacy interrupts reach them.
//!
//! [`Madt::entries`] decodes each entry as a [`MadtEntry`]; kinds of other architectures are skipped.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::table::{Entries, HEADER_BYTES};
use crate::{Error, Table};

const FLAG_PCAT_COMPAT: u32 = 1;
const ENTRIES_OFFSET: u32 = HEADER_BYTES + 8;
/// An identifier that firmware writes for a processor that is not there.
const NO_APIC: u32 = 0xff;
const NO_X2APIC: u32 = u32::MAX;

/// The table itself.
#[derive(Clone, Copy)]
pub struct Madt<'m> {
    table: Table<'m>,
    local_apic_pa: u32,
    flags: u32,
}

impl<'m> Madt<'m> {
    pub(crate) fn new(table: Table<'m>) -> Result<Self, Error> {
        let [local_apic_pa, flags] = table.read::<[U32; 2]>(HEADER_BYTES).ok_or(Error::BadLength)?;
        Ok(Self { table, local_apic_pa: local_apic_pa.get(), flags: flags.get() })
    }

    /// Physical address of every CPU's local APIC, the override entry considered.
    pub fn local_apic_pa(&self) -> u64 {
        self.entries()
            .find_map(|entry| match entry {
                MadtEntry::LocalApicAddress { pa } => Some(pa),
                _ => None,
            })
            .unwrap_or(self.local_apic_pa.into())
    }

    /// Whether the machine also has the two 8259 interrupt controllers, which must then be masked.
    pub fn has_legacy_pics(&self) -> bool {
        self.flags & FLAG_PCAT_COMPAT != 0
    }

    /// The entries in the firmware's order.
    pub fn entries(&self) -> MadtEntries<'m> {
        MadtEntries(self.table.entries(ENTRIES_OFFSET))
    }
}

/// What may be done with a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuState {
    /// Ready to be started.
    Enabled,
    /// Not there yet, but may be added while the machine runs.
    OnlineCapable,
    /// Never usable.
    Disabled,
}

impl CpuState {
    fn from_flags(flags: u32) -> Self {
        match flags & 3 {
            1 | 3 => Self::Enabled,
            2 => Self::OnlineCapable,
            _ => Self::Disabled,
        }
    }
}

/// Which level of an interrupt line means "asserted".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polarity {
    /// As the bus of the source has it: high for ISA.
    Bus,
    /// Active high.
    High,
    /// Active low.
    Low,
}

/// Whether an interrupt line signals by its edge or its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// As the bus of the source has it: edge for ISA.
    Bus,
    /// Edge-triggered.
    Edge,
    /// Level-triggered.
    Level,
}

/// One entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadtEntry {
    /// A processor.
    LocalApic {
        /// Its number in other ACPI tables.
        uid: u32,
        /// Identifier of its local APIC: the destination of interrupts.
        apic_id: u32,
        /// Listed in the form with a 32-bit identifier.
        x2apic: bool,
        /// Whether it can be started.
        state: CpuState,
    },
    /// An I/O APIC.
    IoApic {
        /// Its identifier.
        id: u8,
        /// Physical address of its registers.
        pa: u32,
        /// Global interrupt number of its first pin.
        first_gsi: u32,
    },
    /// An ISA interrupt that arrives elsewhere or signals differently than on an ISA bus.
    SourceOverride {
        /// The ISA interrupt.
        source: u8,
        /// The global interrupt that it arrives at.
        gsi: u32,
        /// Its line's polarity.
        polarity: Polarity,
        /// Its line's trigger mode.
        trigger: Trigger,
    },
    /// A global interrupt that is non-maskable.
    NmiSource {
        /// The global interrupt.
        gsi: u32,
        /// Its line's polarity.
        polarity: Polarity,
        /// Its line's trigger mode.
        trigger: Trigger,
    },
    /// A pin of a local APIC that is non-maskable.
    LocalNmi {
        /// The processor's number in ACPI tables; `None` for all processors.
        uid: Option<u32>,
        /// The pin: 0 or 1.
        lint: u8,
        /// Its line's polarity.
        polarity: Polarity,
        /// Its line's trigger mode.
        trigger: Trigger,
    },
    /// Replaces the address of the local APICs.
    LocalApicAddress {
        /// Physical address of every CPU's local APIC.
        pa: u64,
    },
}

/// Iterator over the table's entries.
#[derive(Clone)]
pub struct MadtEntries<'m>(Entries<'m>);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawLocalApic {
    head: [u8; 2],
    uid: u8,
    apic_id: u8,
    flags: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawIoApic {
    head: [u8; 2],
    id: u8,
    reserved: u8,
    pa: U32,
    first_gsi: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawOverride {
    head: [u8; 2],
    bus: u8,
    source: u8,
    gsi: U32,
    flags: U16,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawNmiSource {
    head: [u8; 2],
    flags: U16,
    gsi: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawLocalNmi {
    head: [u8; 2],
    uid: u8,
    flags: U16,
    lint: u8,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawApicAddress {
    head: [u8; 2],
    reserved: U16,
    pa: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawX2Apic {
    head: [u8; 2],
    reserved: U16,
    apic_id: U32,
    flags: U32,
    uid: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawX2ApicNmi {
    head: [u8; 2],
    flags: U16,
    uid: U32,
    lint: u8,
}

impl Iterator for MadtEntries<'_> {
    type Item = MadtEntry;

    fn next(&mut self) -> Option<MadtEntry> {
        loop {
            let entry = self.0.next()?;
            let decoded = match entry.kind {
                0 => entry.decode().and_then(local_apic),
                1 => entry.decode().map(|raw: RawIoApic| MadtEntry::IoApic {
                    id: raw.id,
                    pa: raw.pa.get(),
                    first_gsi: raw.first_gsi.get(),
                }),
                2 => entry.decode().map(|raw: RawOverride| MadtEntry::SourceOverride {
                    source: raw.source,
                    gsi: raw.gsi.get(),
                    polarity: polarity(raw.flags.get()),
                    trigger: trigger(raw.flags.get()),
                }),
                3 => entry.decode().map(|raw: RawNmiSource| MadtEntry::NmiSource {
                    gsi: raw.gsi.get(),
                    polarity: polarity(raw.flags.get()),
                    trigger: trigger(raw.flags.get()),
                }),
                4 => entry.decode().map(|raw: RawLocalNmi| MadtEntry::LocalNmi {
                    uid: (raw.uid != u8::MAX).then_some(raw.uid.into()),
                    lint: raw.lint,
                    polarity: polarity(raw.flags.get()),
                    trigger: trigger(raw.flags.get()),
                }),
                5 => {
                    entry.decode().map(|raw: RawApicAddress| MadtEntry::LocalApicAddress { pa: raw.pa.get() })
                }
                9 => entry.decode().and_then(x2apic),
                10 => entry.decode().map(|raw: RawX2ApicNmi| MadtEntry::LocalNmi {
                    uid: (raw.uid.get() != u32::MAX).then_some(raw.uid.get()),
                    lint: raw.lint,
                    polarity: polarity(raw.flags.get()),
                    trigger: trigger(raw.flags.get()),
                }),
                _ => None,
            };
            if decoded.is_some() {
                return decoded;
            }
        }
    }
}

fn local_apic(raw: RawLocalApic) -> Option<MadtEntry> {
    let (uid, apic_id) = (raw.uid.into(), raw.apic_id.into());
    let state = CpuState::from_flags(raw.flags.get());
    (apic_id != NO_APIC).then_some(MadtEntry::LocalApic { uid, apic_id, x2apic: false, state })
}

fn x2apic(raw: RawX2Apic) -> Option<MadtEntry> {
    let (uid, apic_id) = (raw.uid.get(), raw.apic_id.get());
    let state = CpuState::from_flags(raw.flags.get());
    (apic_id != NO_X2APIC).then_some(MadtEntry::LocalApic { uid, apic_id, x2apic: true, state })
}

fn polarity(flags: u16) -> Polarity {
    match flags & 3 {
        1 => Polarity::High,
        3 => Polarity::Low,
        _ => Polarity::Bus,
    }
}

fn trigger(flags: u16) -> Trigger {
    match flags >> 2 & 3 {
        1 => Trigger::Edge,
        3 => Trigger::Level,
        _ => Trigger::Bus,
    }
}
