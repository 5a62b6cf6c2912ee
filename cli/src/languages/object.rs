// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Object files of programs in the data-parallel languages.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Language;
use super::translate::{self, Translated};
use crate::cc;
use crate::cc::runtimes::{Built, FLAGS};
use crate::failure::Failure;

/// How translated programs are compiled. Functions may be inlined into each other, also into themselves: gcc alone would stop
/// early, because each comes in two clones, and counts what is seldom run as well. clang takes no notice of the parameters. A
/// recursion without an end is told when it runs.
const TRANSLATED: [&str; 7] = [
    "-fno-semantic-interposition",
    "--param",
    "inline-unit-growth=100",
    "--param",
    "max-inline-insns-recursive=1000",
    "-Wno-unused-command-line-argument",
    "-Wno-infinite-recursion",
];

/// A source that is translated, and how to compile what came of it.
pub(super) struct Unit {
    pub(super) language: Language,
    translated: Translated,
    /// The source, as messages name it.
    name: String,
}

impl Unit {
    /// Translates a source; its `main` is applied to the arguments, where the language has that.
    pub(super) fn translate(
        language: Language,
        source: &Path,
        arguments: &[OsString],
    ) -> Result<Self, Failure> {
        let name = source.display().to_string();
        Ok(Self { language, translated: translate::source(language, source, arguments)?, name })
    }

    /// The text that decides what the object is.
    pub(super) fn text(&self) -> &str {
        match &self.translated {
            Translated::Vcode(text) | Translated::Cpp(text) => text,
        }
    }

    /// Writes the object `stem.o` into a directory.
    pub(super) fn object(&self, runtime: &Built, dir: &Path, stem: &OsStr) -> Result<PathBuf, Failure> {
        let (text, ending) = match &self.translated {
            Translated::Vcode(text) => (text, "vcode"),
            Translated::Cpp(text) => (text, "cpp"),
        };
        let mut file = dir.join(stem);
        file.set_extension(ending);
        write(&file, text)?;
        let object = file.with_extension("o");
        let compiler = cc::compiler(crate::compile::Language::Cpp)?;
        let mut command = cc::command(&compiler);
        match &self.translated {
            Translated::Vcode(text) => {
                let carrier = file.with_extension("S");
                write(&carrier, &carrier_of(&file, text.len(), &self.name))?;
                command.arg("-c").arg(&carrier);
            }
            Translated::Cpp(_) => {
                command.args(FLAGS).args(TRANSLATED).arg("-I").arg(runtime.include());
                command.arg("-isystem").arg(cc::sdk::Sdk::find()?.include()).arg("-c").arg(&file);
            }
        }
        command.arg("-o").arg(&object);
        cc::run_tool(command, &file.display().to_string())?;
        Ok(object)
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    Ok(fs::write(file, text).with_context(|| file.display().to_string())?)
}

/// Assembly that carries a text: the run-time finds it by these names (`runtimes/vcode/main.cpp`).
fn carrier_of(file: &Path, bytes: usize, name: &str) -> String {
    let quoted = |text: &str| text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
    let (file, name) = (quoted(&file.display().to_string()), quoted(name));
    format!(
        ".section .rodata.hadal_vcode,\"a\",@progbits\n\
         .globl hadal_vcode_text, hadal_vcode_text_bytes, hadal_vcode_name\n\
         .type hadal_vcode_text, @object\n.type hadal_vcode_text_bytes, @object\n.type hadal_vcode_name, @object\n\
         .balign 8\nhadal_vcode_text_bytes: .quad {bytes}\n.size hadal_vcode_text_bytes, 8\n\
         hadal_vcode_text: .incbin \"{file}\"\n.size hadal_vcode_text, {bytes}\n\
         hadal_vcode_name: .string \"{name}\"\n.size hadal_vcode_name, . - hadal_vcode_name\n\
         .section .note.GNU-stack,\"\",@progbits\n"
    )
}

/// Sources of these languages on a compiler's command line, replaced by their objects.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    /// The run-times that the objects need, in the order of the linker.
    pub(crate) runtimes: Vec<Built>,
    /// Where the objects are while the compiler runs.
    _scratch: Option<tempfile::TempDir>,
}

/// Compiles the sources of these languages among `arguments` and puts the objects in their places.
pub(crate) fn replace_sources(arguments: &mut [OsString]) -> Result<Replaced, Failure> {
    let mut replaced = Replaced::default();
    let mut seen: Option<Language> = None;
    for argument in arguments.iter_mut() {
        let source = PathBuf::from(&*argument);
        let Some(language) = Language::of(&source).filter(|_| !is_option(argument)) else { continue };
        if let Some(first) = seen.replace(language) {
            return Err(Failure::Usage {
                what: format!("{}: one program has one source in {first:?}, {language:?}", source.display()),
                help: "load the other files from the first one, or make an image of each".into(),
            });
        }
        let runtime = language.runtime().build()?;
        let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
        let unit = Unit::translate(language, &source, &[])?;
        let stem = source.file_stem().unwrap_or(OsStr::new("program"));
        *argument = unit.object(&runtime, scratch.path(), stem)?.into_os_string();
        replaced.runtimes.push(runtime);
        replaced._scratch = Some(scratch);
    }
    Ok(replaced)
}

fn is_option(argument: &OsStr) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}
