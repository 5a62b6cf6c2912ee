// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/PID/maps` and `/proc/PID/numa_maps`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use hadal_hal::memory::fallible::MakeRoom;
use hadal_linux::numa;
use hadal_linux::process::Process;
use hadal_linux::task::Task;
use hadal_mem::space::{Name, Policy, Prot, VmaInfo};
use hadal_vfs::{Result, dev_major, dev_minor};

/// Column of the name.
const NAME_COLUMN: usize = 73;

pub(super) fn maps(process: &Process) -> Result<Vec<u8>> {
    let mut text = String::new();
    let mut at = 0;
    // One at a time: memory is not asked for under the lock of the mappings.
    while let Some(vma) = process.space().next_mapping(at) {
        text.make_room(NAME_COLUMN + 64 + name_bytes(&vma.name))?;
        // Writing to a string cannot fail.
        let _ = line(&mut text, &vma);
        at = vma.end;
    }
    Ok(text.into_bytes())
}

fn line(text: &mut String, vma: &VmaInfo) -> fmt::Result {
    let start = text.len();
    let letter = |prot, letter| if vma.prot.contains(prot) { letter } else { '-' };
    write!(
        text,
        "{:08x}-{:08x} {}{}{}{} {:08x} {:02x}:{:02x} {} ",
        vma.start,
        vma.end,
        letter(Prot::READ, 'r'),
        letter(Prot::WRITE, 'w'),
        letter(Prot::EXEC, 'x'),
        if vma.shared { 's' } else { 'p' },
        vma.offset,
        dev_major(vma.id.dev),
        dev_minor(vma.id.dev),
        vma.id.ino
    )?;
    if vma.name != Name::None {
        let written = text.len() - start;
        write!(text, "{:pad$}", "", pad = NAME_COLUMN.saturating_sub(written))?;
        name(text, &vma.name);
    }
    text.push('\n');
    Ok(())
}

/// The name; a newline in it would look like the end of the line.
fn name(text: &mut String, name: &Name) {
    let plain = match name {
        Name::None => "",
        Name::Static(name) => name,
        Name::Path(path) => path,
    };
    for part in plain.split_inclusive('\n') {
        match part.strip_suffix('\n') {
            Some(part) => {
                text.push_str(part);
                text.push_str("\\012");
            }
            None => text.push_str(part),
        }
    }
}

/// Where the memory of each mapping comes from, and where it is.
pub(super) fn numa_maps(process: &Process, task: &Task) -> Result<Vec<u8>> {
    let mut text = String::new();
    let of_thread = numa::of_thread(task);
    let mut at = 0;
    while let Some(vma) = process.space().next_mapping(at) {
        text.make_room(LINE_BYTES + name_bytes(&vma.name))?;
        // Writing to a string cannot fail.
        let _ = numa_line(&mut text, process, &vma, of_thread.as_deref());
        at = vma.end;
    }
    Ok(text.into_bytes())
}

fn numa_line(text: &mut String, process: &Process, vma: &VmaInfo, of_thread: Option<&Policy>) -> fmt::Result {
    write!(text, "{:08x} ", vma.start)?;
    let policy = process.space().policy_at(vma.start).flatten();
    numa::show(text, policy.as_deref().or(of_thread))?;
    match &vma.name {
        Name::Static("[stack]") => text.push_str(" stack"),
        Name::Static("[heap]") => text.push_str(" heap"),
        Name::None | Name::Static(_) => {}
        path => {
            text.push_str(" file=");
            name(text, path);
        }
    }
    let (by_zone, own) = process.space().pages_by_zone(vma.start, vma.end);
    let pages: usize = by_zone.iter().sum();
    if own > 0 {
        write!(text, " anon={own} dirty={own}")?;
    }
    if pages > own {
        write!(text, " mapped={pages}")?;
    }
    for (zone, count) in by_zone.iter().enumerate().filter(|(_, count)| **count > 0) {
        write!(text, " N{zone}={count}")?;
    }
    text.push_str(if pages > 0 { " kernelpagesize_kB=4\n" } else { "\n" });
    Ok(())
}

/// Room for a line without its name.
const LINE_BYTES: usize = 1024;

fn name_bytes(name: &Name) -> usize {
    // A newline takes four characters.
    if let Name::Path(path) = name { 4 * path.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use hadal_mem::space::{SourceId, VmaFlags};

    use super::*;

    fn shown(name: Name) -> String {
        let mut text = String::new();
        let vma = VmaInfo {
            start: 0x40_0000,
            end: 0x40_1000,
            prot: Prot::READ | Prot::EXEC,
            shared: false,
            flags: VmaFlags::empty(),
            offset: 0x1000,
            id: SourceId { dev: hadal_vfs::make_dev(0, 0x1b), ino: 77 },
            name,
        };
        line(&mut text, &vma).unwrap();
        text
    }

    #[test]
    fn lines_have_the_columns_of_linux() {
        let text = shown(Name::Path("/bin/a b".into()));
        assert_eq!(
            text,
            "00400000-00401000 r-xp 00001000 00:1b 77                                 /bin/a b\n"
        );
        assert_eq!(text.find('/'), Some(NAME_COLUMN));
        assert_eq!(shown(Name::None), "00400000-00401000 r-xp 00001000 00:1b 77 \n");
        assert!(shown(Name::Path("/x\ny".into())).ends_with(" /x\\012y\n"));
    }
}
