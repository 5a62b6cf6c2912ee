// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/PID/maps` and `/proc/PID/numa_maps`.

use alloc::string::String;
use core::fmt::{self, Write};

use hadal_mem::space::{Name, Prot, VmaInfo};
use hadal_vfs::{dev_major, dev_minor};

use crate::process::Process;

/// Column of the name.
const NAME_COLUMN: usize = 73;

pub(super) fn maps(process: &Process) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    process.space.vmas(&mut |vma| {
        let _ = line(&mut text, vma);
    });
    text
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

/// Where mappings come from; every mapping has the default policy.
pub(super) fn numa_maps(process: &Process) -> String {
    let mut text = String::new();
    process.space.vmas(&mut |vma| {
        let _ = write!(text, "{:08x} default", vma.start);
        match &vma.name {
            Name::None => {}
            Name::Static("[stack]") => text.push_str(" stack"),
            Name::Static("[heap]") => text.push_str(" heap"),
            Name::Static(_) => {}
            path => {
                text.push_str(" file=");
                name(&mut text, path);
            }
        }
        text.push('\n');
    });
    text
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
