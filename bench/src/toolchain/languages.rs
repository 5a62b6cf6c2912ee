// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs in NESL, VCODE and NDPC: their sources with the sizes to measure, and what the command makes of those.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{COMPILER_REMEDY, Program, Toolchain};
use crate::catalogue::languages::{self, Language};
use crate::host;
use crate::place::{Place, System};

/// What NESL 3.1 gets for its vectors, in words of a double: enough for the largest program.
const NESL31_MEMORY: u32 = 200_000_000;

impl Toolchain {
    /// A program of a data-parallel language for a place where it runs as such, with the sizes that it measures.
    pub(crate) fn language(
        &self,
        program: &languages::Program,
        place: Place,
        is_quick: bool,
    ) -> Result<Program> {
        let source = self.language_source(program, is_quick)?;
        let name = source.file_stem().context("a source has a name")?.to_string_lossy();
        let mut compiler = Command::new(&self.hadal);
        match place.system() {
            System::Image => self.build(&format!("{name}.hadal"), compiler.arg("cc").arg(&source)),
            _ => self.build(&name, compiler.args(["cc", "--linux", "-static"]).arg(&source)),
        }
    }

    /// A program in NESL as VCODE, for the interpreter of another release.
    pub(crate) fn vcode(
        &self,
        program: &languages::Program,
        is_quick: bool,
        interpreter: &Path,
    ) -> Result<Program> {
        let source = self.language_source(program, is_quick)?;
        let vcode = source.with_extension(Language::Vcode.ending());
        if !vcode.is_file() {
            let mut compiler = Command::new(&self.hadal);
            let text = compiler.args(["nesl", "--emit", "vcode"]).arg(source);
            self.keep(&vcode, &host::run_tool(text, COMPILER_REMEDY)?)?;
        }
        let file = fs::canonicalize(interpreter)
            .with_context(|| format!("no interpreter of NESL 3.1 at {}", interpreter.display()))?;
        let args = ["-m".to_owned(), NESL31_MEMORY.to_string(), vcode.to_string_lossy().into_owned()];
        Ok(Program { file, args: args.into(), env: Vec::new() })
    }

    /// The source of a program, with what measures its sizes.
    fn language_source(&self, program: &languages::Program, is_quick: bool) -> Result<PathBuf> {
        let quick = if is_quick { "-quick" } else { "" };
        let source = self.built.join(format!("{}{quick}.{}", program.name, program.language.ending()));
        if !source.is_file() {
            self.keep(&source, &self.language_text(program, is_quick)?)?;
        }
        Ok(source)
    }

    /// Writes a text beside the programs; a command that runs at the same time never sees half of it.
    fn keep(&self, file: &Path, text: &str) -> Result<()> {
        let scratch =
            tempfile::NamedTempFile::new_in(&self.built).context("cannot make a file for a program")?;
        fs::write(&scratch, text).with_context(|| format!("cannot write {}", file.display()))?;
        scratch.persist(file).with_context(|| format!("cannot keep {}", file.display()))?;
        Ok(())
    }

    /// The text of a program; one in VCODE measures by itself.
    fn language_text(&self, program: &languages::Program, is_quick: bool) -> Result<String> {
        let read = |name: &str| {
            let file = self.tree.join("bench/programs").join(name);
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
        };
        if program.language == Language::Vcode {
            return read(program.source);
        }
        let mut text = [read("nesl/input.nesl")?, read(program.source)?, read("nesl/measure.nesl")?].concat();
        for size in program.sizes {
            // One more, which warms up.
            let samples = size.samples(is_quick) + 1;
            text += &format!(
                "figure{} = measure(input({}), {}, {samples});\n",
                size.suffix, size.size, size.repetitions
            );
        }
        Ok(text)
    }
}
