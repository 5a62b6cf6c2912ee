// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The vDSO image and how it is laid out in a program.
//!
//! [`IMAGE`] is an ELF shared object that needs no relocation: its bytes, copied to whole pages mapped
//! readable and executable at any page-aligned address, are ready to use. The data page that it reads
//! ([`hadal_time::vvar`](../../hadal_time/vvar/index.html)) is mapped read-only in the [`VVAR_BYTES`]
//! directly before it. A program learns the address of the image, not of the data page, from
//! `AT_SYSINFO_EHDR`. The source is `kernel/linux/vdso/vdso.c`.

/// The image, aligned for whoever reads its headers.
pub const IMAGE: &[u8] = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/vdso.so"))).0;

/// Size of the pages of image and data.
pub const PAGE_BYTES: usize = 4096;

/// Bytes before the image that hold the data page.
pub const VVAR_BYTES: usize = PAGE_BYTES;

/// Bytes that the image takes in memory: its length in whole pages.
pub const IMAGE_BYTES: usize = IMAGE.len().next_multiple_of(PAGE_BYTES);

#[repr(align(8))]
struct Aligned<T>(T);

#[cfg(test)]
mod tests {
    use object::LittleEndian;
    use object::elf::{self, FileHeader64};
    use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};

    use super::*;

    const ENDIAN: LittleEndian = LittleEndian;

    fn header() -> &'static FileHeader64<LittleEndian> {
        FileHeader64::parse(IMAGE).expect("ELF header")
    }

    #[test]
    fn is_one_read_only_segment() {
        assert_eq!(header().e_type(ENDIAN), elf::ET_DYN);
        assert_eq!(header().e_machine(ENDIAN), elf::EM_X86_64);
        let segments = header().program_headers(ENDIAN, IMAGE).unwrap();
        let loads: Vec<_> =
            segments.iter().filter(|segment| segment.p_type(ENDIAN) == elf::PT_LOAD).collect();
        assert_eq!(loads.len(), 1);
        let load = loads[0];
        assert_eq!((load.p_vaddr(ENDIAN), load.p_offset(ENDIAN)), (0, 0));
        assert_eq!(load.p_flags(ENDIAN), elf::PF_R | elf::PF_X);
        assert_eq!(load.p_align(ENDIAN), PAGE_BYTES as u64);
        assert_eq!(load.p_memsz(ENDIAN), load.p_filesz(ENDIAN), "no zero-filled data");
        assert!(load.p_memsz(ENDIAN) <= IMAGE.len() as u64);
        assert!(segments.iter().all(|segment| !segment.p_flags(ENDIAN).contains(elf::PF_W)));
    }

    #[test]
    fn needs_no_loader() {
        let segments = header().program_headers(ENDIAN, IMAGE).unwrap();
        let entries = segments.iter().find_map(|segment| segment.dynamic(ENDIAN, IMAGE).unwrap()).unwrap();
        let tags: Vec<_> = entries.iter().map(|entry| entry.d_tag(ENDIAN)).collect();
        let unwanted = [
            elf::DT_NEEDED,
            elf::DT_REL,
            elf::DT_RELA,
            elf::DT_JMPREL,
            elf::DT_RELR,
            elf::DT_TEXTREL,
            elf::DT_INIT,
            elf::DT_INIT_ARRAY,
        ];
        for tag in unwanted {
            assert!(!tags.contains(&tag), "dynamic tag {tag:?}");
        }
        for tag in
            [elf::DT_HASH, elf::DT_GNU_HASH, elf::DT_SYMTAB, elf::DT_VERSYM, elf::DT_VERDEF, elf::DT_SONAME]
        {
            assert!(tags.contains(&tag), "dynamic tag {tag:?}");
        }
    }

    #[test]
    fn has_the_functions_of_linux_at_its_version() {
        let sections = header().sections(ENDIAN, IMAGE).unwrap();
        let symbols = sections.symbols(ENDIAN, IMAGE, elf::SHT_DYNSYM).unwrap();
        let versions = sections.versions(ENDIAN, IMAGE).unwrap().expect("symbol versions");
        let strings = symbols.strings();
        for name in ["clock_gettime", "gettimeofday", "time", "getcpu", "clock_getres"] {
            let name = format!("__vdso_{name}");
            let (index, symbol) = symbols
                .enumerate()
                .find(|(_, symbol)| symbol.name(ENDIAN, strings) == Ok(name.as_bytes()))
                .unwrap_or_else(|| panic!("no {name}"));
            assert_eq!((symbol.st_type(), symbol.st_bind()), (elf::STT_FUNC, elf::STB_GLOBAL), "{name}");
            let version = versions.version(versions.version_index(ENDIAN, index).index());
            assert_eq!(version.unwrap().expect("version").name(), b"LINUX_2.6", "{name}");
        }
        let defined = |symbol: &elf::Sym64<LittleEndian>| !symbol.is_undefined(ENDIAN);
        // The first symbol is the null symbol.
        assert!(symbols.iter().skip(1).all(defined));
        assert!(symbols.enumerate().all(|(_, symbol)| symbol.name(ENDIAN, strings) != Ok(b"vvar_page")));
    }
}
