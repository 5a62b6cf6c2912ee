// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Round trips: tables written by the `acpi_tables` crate (an independent implementation) are read back here,
//! and random or damaged bytes must neither panic nor loop.

use acpi_tables::sdt::Sdt;
use acpi_tables::{Aml, fadt, madt, mcfg, rsdp, slit, srat, xsdt};
use proptest::prelude::*;

use crate::*;

const OEM: [u8; 6] = *b"HADAL ";
const OEM_TABLE: [u8; 8] = *b"TESTTEST";
const BASE: u64 = 0x7fe_0000;

/// Memory that consists of one range.
struct Ram {
    base: u64,
    bytes: Vec<u8>,
}

impl PhysicalMemory for Ram {
    fn read(&self, pa: u64, buf: &mut [u8]) -> bool {
        let Some(start) = pa.checked_sub(self.base).and_then(|start| usize::try_from(start).ok()) else {
            return false;
        };
        let source = start.checked_add(buf.len()).and_then(|end| self.bytes.get(start..end));
        source.map(|source| buf.copy_from_slice(source)).is_some()
    }
}

fn bytes_of(table: &dyn Aml) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.to_aml_bytes(&mut bytes);
    bytes
}

fn raw_table(signature: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut table = Sdt::new(*signature, 36, 3, OEM, OEM_TABLE, 1);
    table.append_slice(body);
    table.as_slice().to_vec()
}

/// Lays the tables out behind an XSDT and a root pointer at `BASE`.
fn machine(tables: &[Vec<u8>]) -> (Ram, Rsdp) {
    let mut xsdt = xsdt::XSDT::new(OEM, OEM_TABLE, 1);
    let xsdt_offset = 48;
    let mut body = Vec::new();
    let mut at = xsdt_offset + 36 + 8 * tables.len();
    for table in tables {
        xsdt.add_entry(BASE + at as u64);
        body.extend_from_slice(table);
        at += table.len();
    }
    let mut bytes = bytes_of(&rsdp::Rsdp::new(OEM, BASE + xsdt_offset as u64));
    bytes.resize(xsdt_offset, 0);
    bytes.extend(bytes_of(&xsdt));
    bytes.extend(body);
    let ram = Ram { base: BASE, bytes };
    let root = Rsdp::read(&ram, BASE).expect("root pointer");
    (ram, root)
}

fn local_apic(uid: u8, apic_id: u8, flags: u8) -> Vec<u8> {
    vec![0, 8, uid, apic_id, flags, 0, 0, 0]
}

fn x2apic(uid: u32, apic_id: u32, flags: u32) -> Vec<u8> {
    let words = [apic_id, flags, uid];
    [vec![9, 16, 0, 0], words.iter().flat_map(|word| word.to_le_bytes()).collect()].concat()
}

fn madt_of(entries: &[Vec<u8>]) -> Vec<u8> {
    let head = [0xfee0_0000_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    raw_table(b"APIC", &[head, entries.concat()].concat())
}

fn cpu_affinity(apic_id: u8, domain: u32) -> Vec<u8> {
    let [low, high @ ..] = domain.to_le_bytes();
    [vec![0, 16, low, apic_id, 1, 0, 0, 0, 0], high.to_vec(), vec![0; 4]].concat()
}

fn x2apic_affinity(apic_id: u32, domain: u32) -> Vec<u8> {
    let words = [domain, apic_id, 1, 0, 0];
    [vec![2, 24, 0, 0], words.iter().flat_map(|word| word.to_le_bytes()).collect()].concat()
}

fn srat_of(entries: &[Vec<u8>]) -> Vec<u8> {
    raw_table(b"SRAT", &[vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], entries.concat()].concat())
}

#[test]
fn madt_round_trip() {
    let mut table = madt::MADT::new(OEM, OEM_TABLE, 1, madt::LocalInterruptController::Address(0xfee0_0000));
    for cpu in 0..200 {
        table.add_structure(madt::ProcessorLocalApic::new(cpu, cpu + 1, madt::EnabledStatus::Enabled));
    }
    table.add_structure(madt::ProcessorLocalApic::new(200, 201, madt::EnabledStatus::DisabledOnlineCapable));
    table.add_structure(madt::ProcessorLocalApic::new(201, 202, madt::EnabledStatus::Disabled));
    table.add_structure(madt::IoApic::new(7, 0xfec0_0000, 24));
    let (ram, root) = machine(&[bytes_of(&table)]);
    let madt = Tables::open(&ram, root).unwrap().madt().unwrap();
    assert_eq!(madt.local_apic_pa(), 0xfee0_0000);
    assert!(!madt.has_legacy_pics());
    let entries: Vec<_> = madt.entries().collect();
    assert_eq!(entries.len(), 203);
    for (cpu, entry) in entries[..200].iter().enumerate() {
        let (uid, apic_id) = (cpu as u32, cpu as u32 + 1);
        let state = CpuState::Enabled;
        assert_eq!(*entry, MadtEntry::LocalApic { uid, apic_id, x2apic: false, state });
    }
    assert!(matches!(entries[200], MadtEntry::LocalApic { state: CpuState::OnlineCapable, .. }));
    assert!(matches!(entries[201], MadtEntry::LocalApic { state: CpuState::Disabled, .. }));
    assert_eq!(entries[202], MadtEntry::IoApic { id: 7, pa: 0xfec0_0000, first_gsi: 24 });
}

#[test]
fn madt_interrupt_entries() {
    let entries = [
        vec![2, 10, 0, 9, 20, 0, 0, 0, 0x0f, 0],
        vec![3, 8, 0x05, 0, 33, 0, 0, 0],
        vec![4, 6, 0xff, 0, 0, 1],
        vec![5, 12, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        vec![10, 12, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0],
        // Of another architecture, then one cut short for its kind: both are skipped.
        vec![0x0b, 4, 0, 0],
        vec![1, 4, 0, 0],
        x2apic(300, 400, 3),
    ];
    let (ram, root) = machine(&[madt_of(&entries)]);
    let madt = Tables::open(&ram, root).unwrap().madt().unwrap();
    assert!(madt.has_legacy_pics());
    assert_eq!(madt.local_apic_pa(), 1 << 32);
    let found: Vec<_> = madt.entries().collect();
    let (bus_polarity, bus_trigger) = (Polarity::Bus, Trigger::Bus);
    let expected = [
        MadtEntry::SourceOverride { source: 9, gsi: 20, polarity: Polarity::Low, trigger: Trigger::Level },
        MadtEntry::NmiSource { gsi: 33, polarity: Polarity::High, trigger: Trigger::Edge },
        MadtEntry::LocalNmi { uid: None, lint: 1, polarity: bus_polarity, trigger: bus_trigger },
        MadtEntry::LocalApicAddress { pa: 1 << 32 },
        MadtEntry::LocalNmi { uid: Some(7), lint: 1, polarity: bus_polarity, trigger: bus_trigger },
        MadtEntry::LocalApic { uid: 300, apic_id: 400, x2apic: true, state: CpuState::Enabled },
    ];
    assert_eq!(found, expected);
}

#[test]
fn memory_zones_and_distances_round_trip() {
    let mut affinity = srat::SRAT::new(OEM, OEM_TABLE, 1);
    affinity.add_memory_affinity(
        srat::MemoryAffinity::new(4, 0x1_0000_0000, 0x4000_0000).enabled().hotpluggable(),
    );
    affinity.add_memory_affinity(srat::MemoryAffinity::new(2, 0, 0xa_0000).enabled());
    affinity.add_memory_affinity(srat::MemoryAffinity::new(9, 0x5_0000_0000, 0x1000));
    let mut distances = slit::SLIT::new(OEM, OEM_TABLE, 1, 5);
    distances.set_distance(2, 4, 31);
    let (ram, root) = machine(&[bytes_of(&affinity), bytes_of(&distances)]);
    let topology = Topology::new(&Tables::open(&ram, root).unwrap());
    assert_eq!(topology.zone_count(), 2, "the disabled range adds no zone");
    assert_eq!((topology.domain_of(0), topology.domain_of(1)), (2, 4));
    let ranges: Vec<_> = topology.memory().collect();
    let flags = MemoryFlags { hot_pluggable: true, non_volatile: false };
    assert_eq!(ranges[0], MemoryRange { base: 0x1_0000_0000, length: 0x4000_0000, zone: 1, flags });
    let flags = MemoryFlags::default();
    assert_eq!(ranges[1], MemoryRange { base: 0, length: 0xa_0000, zone: 0, flags });
    assert_eq!(ranges.len(), 2);
    assert_eq!((topology.distance(0, 1), topology.distance(1, 0)), (31, 31));
    assert_eq!((topology.distance(0, 0), topology.distance(1, 1)), (LOCAL_DISTANCE, LOCAL_DISTANCE));
    assert_eq!(topology.distance(0, 7), REMOTE_DISTANCE);
    assert_eq!(topology.cpus().count(), 0);
}

#[test]
fn cpus_get_their_zone_in_any_order() {
    let mut cpus: Vec<_> = (0..255_u16).map(|cpu| local_apic(cpu as u8, cpu as u8, 1)).collect();
    cpus.extend((255..300).map(|cpu| x2apic(cpu, cpu, 1)));
    // A duplicate in the other form, and identifiers that mean "not there".
    cpus.push(x2apic(3, 3, 1));
    cpus.push(local_apic(0, 0xff, 0));
    cpus.push(x2apic(0, u32::MAX, 0));
    for reversed in [false, true] {
        let mut affinity: Vec<_> = (0..255_u32).map(|cpu| cpu_affinity(cpu as u8, cpu % 4)).collect();
        affinity.extend((255..299).map(|cpu| x2apic_affinity(cpu, cpu % 4)));
        if reversed {
            affinity.reverse();
        }
        let (ram, root) = machine(&[madt_of(&cpus), srat_of(&affinity)]);
        let topology = Topology::new(&Tables::open(&ram, root).unwrap());
        assert_eq!(topology.zone_count(), 4);
        let found: Vec<_> = topology.cpus().collect();
        assert_eq!(found.len(), 300);
        for (number, cpu) in found.iter().enumerate() {
            assert_eq!((cpu.apic_id, cpu.uid), (number as u32, number as u32));
            let zone = if number == 299 { 0 } else { number % 4 };
            assert_eq!(cpu.zone, zone);
        }
    }
}

#[test]
fn x2apic_only_firmware_is_taken_whole() {
    let (ram, root) = machine(&[madt_of(&[x2apic(0, 0, 1), x2apic(1, 2, 1)])]);
    let topology = Topology::new(&Tables::open(&ram, root).unwrap());
    assert_eq!(topology.cpus().map(|cpu| cpu.apic_id).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(topology.zone_count(), 1);
}

#[test]
fn more_domains_than_zones() {
    let affinity: Vec<_> = (0..200).map(|cpu| cpu_affinity(cpu as u8, cpu)).collect();
    let (ram, root) = machine(&[srat_of(&affinity)]);
    assert_eq!(Topology::new(&Tables::open(&ram, root).unwrap()).zone_count(), MAX_ZONES);
}

#[test]
fn mcfg_round_trip() {
    let mut table = mcfg::MCFG::new(OEM, OEM_TABLE, 1);
    table.add_ecam(0xb000_0000, 0, 0, 255);
    table.add_ecam(0x80_0000_0000, 1, 16, 31);
    let (ram, root) = machine(&[bytes_of(&table)]);
    let windows: Vec<_> = Tables::open(&ram, root).unwrap().mcfg().unwrap().windows().collect();
    assert_eq!(windows.len(), 2);
    assert_eq!(windows[0], EcamWindow { base: 0xb000_0000, segment: 0, first_bus: 0, last_bus: 255 });
    assert_eq!(windows[0].function_pa(1, 2, 3), Some(0xb000_0000 + (1 << 20) + (2 << 15) + (3 << 12)));
    assert_eq!((windows[1].segment, windows[1].function_pa(15, 0, 0)), (1, None));
}

#[test]
fn hpet_register_address() {
    let mut body = 0x8086_a201_u32.to_le_bytes().to_vec();
    body.extend([0, 64, 0, 0]);
    body.extend(0xfed0_0000_u64.to_le_bytes());
    body.extend([0, 0x80, 0, 0]);
    let (ram, root) = machine(&[raw_table(b"HPET", &body)]);
    let hpet = Tables::open(&ram, root).unwrap().hpet();
    assert_eq!(hpet, Ok(HpetTable { pa: 0xfed0_0000, number: 0 }));
}

#[test]
fn fadt_round_trip() {
    let mut builder = fadt::FADTBuilder::new(OEM, OEM_TABLE, 1).flag(fadt::Flags::ResetRegSup);
    builder.pm_tmr_blk = 0x608.into();
    builder.pm_tmr_len = 4;
    builder.iapc_boot_arch = 0x22.into();
    builder.reset_reg = acpi_tables::gas::GAS::new(
        acpi_tables::gas::AddressSpace::SystemIo,
        8,
        0,
        acpi_tables::gas::AccessSize::ByteAccess,
        0xcf9,
    );
    builder.reset_value = 0x0f;
    let (ram, root) = machine(&[bytes_of(&builder.finalize())]);
    let fadt = Tables::open(&ram, root).unwrap().fadt().unwrap();
    let register = GenericAddress::Port { port: 0xcf9 };
    assert_eq!(fadt.reset, Some(ResetRegister { register, value: 0x0f }));
    assert_eq!(fadt.pm_timer, Some(GenericAddress::Port { port: 0x608 }));
    assert_eq!(fadt.pm_timer_bits, 24);
    let flags = fadt.boot_flags.unwrap();
    assert!(flags.no_cmos_rtc && flags.keyboard_controller && !flags.no_msi);
    assert!(!fadt.hardware_reduced);
}

/// A machine with fixed registers at these ports, and this byte code in its definition block.
fn machine_to_turn_off(pm1a: u32, pm1b: u32, smi: u32, code: &[u8]) -> (Ram, Rsdp) {
    let dsdt = raw_table(b"DSDT", code);
    let mut builder = fadt::FADTBuilder::new(OEM, OEM_TABLE, 1);
    builder.pm1a_cnt_blk = pm1a.into();
    builder.pm1b_cnt_blk = pm1b.into();
    builder.smi_cmd = smi.into();
    builder.acpi_enable = 0xa0;
    // The definition block lies behind the root table, which lists it, too.
    let tables = 2;
    let at = BASE + 48 + 36 + 8 * tables;
    let fadt = bytes_of(&builder.dsdt_64(at).finalize());
    machine(&[dsdt, fadt])
}

#[test]
fn sleep_state_five_is_found_in_byte_code() {
    let declared =
        acpi_tables::aml::Name::new("_S5_".into(), &acpi_tables::aml::Package::new(vec![&5_u8, &0_u8]));
    // A method that only mentions the name, then the declaration across the border of a chunk.
    for noise in [0, 200, 246, 250, 253, 600] {
        let mut code = b"\x70\x00_S5_".to_vec();
        code.resize(code.len() + noise, 0xa3);
        code.extend(bytes_of(&declared));
        let (ram, root) = machine_to_turn_off(0x604, 0, 0xb2, &code);
        let off = Tables::open(&ram, root).unwrap().soft_off();
        let wanted = SoftOff::Pm1 { a: (0x604, 0x3400), b: None, enable: Some((0xb2, 0xa0)) };
        assert_eq!(off, Some(wanted), "{noise}");
    }
    let both = [0x08, b'\\', b'_', b'S', b'5', b'_', 0x12, 0x06, 0x04, 0x01, 0x0a, 0x07, 0x00, 0x00];
    let (ram, root) = machine_to_turn_off(0x404, 0x408, 0, &both);
    let off = Tables::open(&ram, root).unwrap().soft_off();
    let wanted = SoftOff::Pm1 { a: (0x404, 0x2400), b: Some((0x408, 0x3c00)), enable: None };
    assert_eq!(off, Some(wanted));
    // Without registers, or without the package, or with one that is cut off, nothing is known.
    for (pm1a, code) in [(0, &both[..]), (0x404, &[]), (0x404, &both[..6]), (0x404, &both[..11])] {
        let (ram, root) = machine_to_turn_off(pm1a, 0, 0, code);
        assert_eq!(Tables::open(&ram, root).unwrap().soft_off(), None);
    }
}

#[test]
fn a_machine_without_fixed_registers_has_one_for_sleep() {
    let code = b"\x08_S5_\x12\x06\x04\x0a\x05\x00";
    for (space, register) in [
        (acpi_tables::gas::AddressSpace::SystemMemory, GenericAddress::Memory { pa: 0x600 }),
        (acpi_tables::gas::AddressSpace::SystemIo, GenericAddress::Port { port: 0x600 }),
    ] {
        let mut builder = fadt::FADTBuilder::new(OEM, OEM_TABLE, 1).flag(fadt::Flags::HwReducedAcpi);
        let access = acpi_tables::gas::AccessSize::ByteAccess;
        builder.sleep_control_reg = acpi_tables::gas::GAS::new(space, 8, 0, access, 0x600);
        let fadt = bytes_of(&builder.dsdt_64(BASE + 48 + 36 + 8 * 2).finalize());
        let (ram, root) = machine(&[raw_table(b"DSDT", code), fadt]);
        let off = Tables::open(&ram, root).unwrap().soft_off();
        assert_eq!(off, Some(SoftOff::Reduced { register, value: 0x34 }));
    }
}

#[test]
fn root_pointer_is_found_in_the_bios_area() {
    let mut bytes = vec![0; 0x10_0000];
    assert_eq!(Rsdp::scan(&Ram { base: 0, bytes: bytes.clone() }), None);
    let pointer = bytes_of(&rsdp::Rsdp::new(OEM, 0x1234_5678_9abc));
    bytes[0xf_5a30..][..pointer.len()].copy_from_slice(&pointer);
    let found = Rsdp { rsdt_pa: 0, xsdt_pa: 0x1234_5678_9abc };
    assert_eq!(Rsdp::scan(&Ram { base: 0, bytes: bytes.clone() }), Some(found));
    // A damaged one in the extended BIOS data area is passed over, an intact one comes first.
    bytes[0x40e..0x410].copy_from_slice(&0x9fc0_u16.to_le_bytes());
    let first = bytes_of(&rsdp::Rsdp::new(OEM, 0x1000));
    bytes[0x9_fc40..][..first.len()].copy_from_slice(&first);
    bytes[0x9_fc41] ^= 1;
    assert_eq!(Rsdp::scan(&Ram { base: 0, bytes: bytes.clone() }), Some(found));
    bytes[0x9_fc41] ^= 1;
    assert_eq!(Rsdp::scan(&Ram { base: 0, bytes }), Some(Rsdp { rsdt_pa: 0, xsdt_pa: 0x1000 }));
}

#[test]
fn falls_back_to_the_rsdt() {
    let mut root = b"RSD PTR \0HADAL \0".to_vec();
    root.extend((BASE as u32 + 20).to_le_bytes());
    root[8] = 0_u8.wrapping_sub(root.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
    let madt_at = BASE as u32 + 20 + 40;
    let bytes = [root.clone(), raw_table(b"RSDT", &madt_at.to_le_bytes()), madt_of(&[local_apic(0, 0, 1)])];
    let ram = Ram { base: BASE, bytes: bytes.concat() };
    let root = Rsdp::parse(&root).unwrap();
    assert_eq!(root, Rsdp { rsdt_pa: BASE as u32 + 20, xsdt_pa: 0 });
    let tables = Tables::open(&ram, root).unwrap();
    assert_eq!(tables.madt().unwrap().entries().count(), 1);
    // The same table behind an XSDT address that leads nowhere.
    assert!(Tables::open(&ram, Rsdp { xsdt_pa: 8, ..root }).is_ok());
}

#[test]
fn damage_is_named() {
    let (mut ram, root) = machine(&[madt_of(&[local_apic(0, 0, 1)])]);
    assert_eq!(Tables::open(&ram, root).unwrap().srat().err(), Some(Error::NotFound));
    let last = ram.bytes.len() - 1;
    ram.bytes[last] ^= 1;
    assert_eq!(Tables::open(&ram, root).unwrap().madt().err(), Some(Error::BadChecksum));
    ram.bytes.truncate(last);
    assert_eq!(Tables::open(&ram, root).unwrap().madt().err(), Some(Error::Unreadable));
    let outside = Rsdp { rsdt_pa: 0, xsdt_pa: u64::MAX - 4 };
    assert_eq!(Tables::open(&ram, outside).err(), Some(Error::NotFound));
}

/// Uses everything that the crate offers, so that a random table can misbehave anywhere.
fn exercise(memory: &dyn PhysicalMemory, root: Rsdp) {
    let Ok(tables) = Tables::open(memory, root) else { return };
    tables.addresses().for_each(drop);
    let _ = tables.madt().map(|madt| (madt.local_apic_pa(), madt.entries().count()));
    let _ = tables.srat().map(|srat| srat.entries().count());
    let _ = tables.slit().map(|slit| slit.distance(slit.domain_count(), 0));
    let _ =
        tables.mcfg().map(|mcfg| mcfg.windows().filter_map(|window| window.function_pa(255, 31, 7)).count());
    let _ = (tables.hpet(), tables.fadt(), tables.soft_off());
    let topology = Topology::new(&tables);
    topology.cpus().for_each(drop);
    topology.memory().for_each(drop);
    for zone in 0..=topology.zone_count() {
        topology.distance(zone, 0);
    }
}

proptest! {
    #[test]
    fn checksum_is_the_byte_sum(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
        let plain = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        prop_assert_eq!(crate::table::sum_of(&bytes), plain);
    }

    #[test]
    fn random_bodies_are_survived(bodies in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..400), 6)) {
        let signatures = [b"APIC", b"SRAT", b"SLIT", b"HPET", b"MCFG", b"FACP"];
        let tables: Vec<_> = signatures.iter().zip(&bodies).map(|(name, body)| raw_table(name, body)).collect();
        let (ram, root) = machine(&tables);
        exercise(&ram, root);
    }

    #[test]
    fn random_byte_code_is_survived(code in proptest::collection::vec(any::<u8>(), 0..400), at in 0_usize..400) {
        let mut code = code;
        code.splice(at.min(code.len()).., *b"\x08_S5_\x12");
        let (ram, root) = machine_to_turn_off(0x604, 0, 0, &code);
        exercise(&ram, root);
        code.extend([0x06, 0x04, 0x01, 0x00]);
        let (ram, root) = machine_to_turn_off(0x604, 0, 0, &code);
        let off = Tables::open(&ram, root).unwrap().soft_off();
        prop_assert_eq!(off, Some(SoftOff::Pm1 { a: (0x604, 0x2400), b: None, enable: None }));
    }

    #[test]
    fn entry_shaped_bodies_are_survived(entries in proptest::collection::vec(
        (0_u8..12, 0_u8..44, proptest::collection::vec(any::<u8>(), 44)), 0..40)) {
        let body: Vec<u8> = entries
            .iter()
            .flat_map(|(kind, length, rest)| [&[*kind, *length], &rest[..(*length as usize).saturating_sub(2)]].concat())
            .collect();
        let (ram, root) = machine(&[madt_of(std::slice::from_ref(&body)), srat_of(&[body])]);
        exercise(&ram, root);
    }

    #[test]
    fn damaged_images_are_survived(flips in proptest::collection::vec((0_usize..700, any::<u8>()), 1..30)) {
        let tables = [madt_of(&[local_apic(0, 0, 1), x2apic(1, 300, 1)]), srat_of(&[cpu_affinity(0, 1)])];
        let (mut ram, root) = machine(&tables);
        for (at, value) in flips {
            if let Some(byte) = ram.bytes.get_mut(at) {
                *byte = value;
            }
        }
        exercise(&ram, root);
        if let Some(root) = Rsdp::read(&ram, BASE) {
            exercise(&ram, root);
        }
    }

    #[test]
    fn random_root_pointers_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Rsdp::parse(&bytes);
    }
}
