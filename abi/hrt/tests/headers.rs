// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C declarations in `kernel/hrt/include/hadal/hrt/layout` are those of this crate's sources, one header for each.
//! `UPDATE_HEADERS=1 cargo test -p hadal-hrt-abi` writes them.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cbindgen::{Builder, Config, DocumentationStyle, ItemType, Language, RenameRule, Style};

/// Sources with declarations for C.
const SOURCES: [&str; 11] =
    ["base", "calls", "event", "irq", "memory", "module", "sync", "task", "thread", "topology", "trace"];

/// What `words.rs` names, as C has it.
const WORDS: [(&str, &str); 9] = [
    ("Char", "char"),
    ("Text", "const char*"),
    ("Data", "const void*"),
    ("Argument", "void*"),
    ("Watched", "const volatile uint64_t*"),
    ("ThreadFn", "hrt_thread_fn"),
    ("ThreadId", "hrt_thread_t"),
    ("ThreadFunction", "hrt_thread_fn"),
    ("HandlerFunction", "hrt_handler_fn"),
];

/// Enumerations whose values have only a part of their name.
const SHORT_PREFIXES: [(&str, &str); 4] = [
    ("HRT_STATUS_", "HRT_"),
    ("HRT_THREAD_STATE_", "HRT_THREAD_"),
    ("HRT_CACHE_KIND_", "HRT_CACHE_"),
    ("HRT_MUTEX_KIND_", "HRT_MUTEX_"),
];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name).with_extension("rs")
}

fn header(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/hrt/include/hadal/hrt/layout");
    folder.join(name).with_extension("h")
}

/// `ThreadAttr` as `thread_attr`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// Names of the items of a source that begin with one of the words, in their order.
fn items(name: &str, kinds: &[&str]) -> Vec<String> {
    let text = fs::read_to_string(source(name)).unwrap();
    let item = |line: &str| {
        let mut words = line.strip_prefix("pub ")?.split([' ', ':']);
        kinds.contains(&words.next()?).then(|| words.next().unwrap_or_default().to_owned())
    };
    text.lines().filter_map(item).collect()
}

/// The C names of everything in the sources, as the header made from `name` writes them: a type of another header has
/// `struct` before it, which cbindgen writes only before those that it knows.
fn names(name: &str) -> HashMap<String, String> {
    let mut names: HashMap<_, _> = WORDS.map(|(rust, c)| (rust.to_owned(), c.to_owned())).into();
    for other in SOURCES {
        let word = if other == name { "" } else { "struct " };
        for item in items(other, &["struct", "enum"]) {
            let c = format!("{word}hrt_{}", snake_case(&item));
            names.insert(item, c);
        }
        for item in items(other, &["const"]) {
            let c = format!("HRT_{item}");
            names.insert(item, c);
        }
    }
    names
}

/// Headers that one needs: the table takes pointers to the structures of others.
fn includes(name: &str) -> Option<String> {
    let files: &[&str] = match name {
        "base" => return None,
        "calls" => &["../base.h", "irq.h", "module.h", "thread.h", "topology.h"],
        _ => &["../base.h"],
    };
    Some(files.iter().map(|file| format!("#include \"{file}\"")).collect::<Vec<_>>().join("\n"))
}

fn generate(name: &str) -> String {
    let guard = format!("HADAL_HRT_LAYOUT_{}_H", name.to_ascii_uppercase());
    let mut config = Config {
        language: Language::C,
        style: Style::Tag,
        documentation_style: DocumentationStyle::C99,
        header: Some(format!(
            "/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n\
             /* Generated from abi/hrt/src/{name}.rs, which is the place for changes. */\n\
             /* clang-format off */"
        )),
        include_guard: Some(guard),
        no_includes: true,
        after_includes: includes(name),
        tab_width: 4,
        line_length: 110,
        ..Config::default()
    };
    config.export.rename = names(name);
    config.export.item_types = vec![ItemType::Constants, ItemType::Enums, ItemType::Structs];
    config.export.include = items(name, &["const", "enum", "struct"]);
    config.enumeration.rename_variants = RenameRule::QualifiedScreamingSnakeCase;
    let bindings = Builder::new().with_config(config).with_src(source(name)).generate().unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    text.lines().map(|line| tidy(line) + "\n").collect()
}

/// A line as people write it, where cbindgen has no setting.
fn tidy(line: &str) -> String {
    let mut line = line.trim_end().to_owned();
    if line.trim_start().starts_with('/') {
        return line;
    }
    if let Some((name, value)) = line.strip_prefix("#define ").and_then(|define| define.split_once(' ')) {
        return format!("#define {name} {}", number(value));
    }
    for (long, short) in SHORT_PREFIXES {
        line = line.replace(long, short);
    }
    // The types in `WORDS` end with a star that belongs to the field.
    if line.ends_with(';') { line.replace("* ", " *") } else { line }
}

/// The value of a macro: negative in parentheses, and what is no quantity but bits in hexadecimal, as in the source.
fn number(value: &str) -> String {
    let digits = value.trim_end_matches(['u', 'l']);
    match digits.parse::<i128>() {
        Ok(number) if number < 0 => format!("({value})"),
        Ok(number) if number > 1000 => format!("{number:#x}{}", &value[digits.len()..]),
        _ => value.to_owned(),
    }
}

#[test]
fn headers_are_those_of_the_sources() {
    for name in SOURCES {
        let text = generate(name);
        if std::env::var_os("UPDATE_HEADERS").is_some() {
            fs::create_dir_all(header(name).parent().unwrap()).unwrap();
            fs::write(header(name), &text).unwrap();
        }
        let committed = fs::read_to_string(header(name)).unwrap_or_default();
        assert!(
            committed == text,
            "{} is out of date: run `UPDATE_HEADERS=1 cargo test -p hadal-hrt-abi`",
            header(name).display()
        );
    }
}

/// `WORDS` is the one part of the layout that is not generated.
#[test]
fn structures_have_the_same_size_in_c() {
    use hadal_hrt_abi::{calls, irq, module, sync, task, thread, topology};
    macro_rules! sizes {
        ($($rust:ty: $c:literal,)*) => { [$(($c, size_of::<$rust>(), align_of::<$rust>()),)*] };
    }
    let sizes = sizes! {
        calls::Calls: "calls",
        calls::Reserved: "reserved",
        calls::SlotKind: "slot_kind",
        calls::Work: "work",
        irq::IrqInfo: "irq_info",
        module::Module: "module",
        sync::Cond: "cond",
        sync::Mutex: "mutex",
        sync::Rwlock: "rwlock",
        sync::Sem: "sem",
        sync::Spin: "spin",
        task::Task: "task",
        thread::GroupAttr: "group_attr",
        thread::ThreadAttr: "thread_attr",
        thread::ThreadInfo: "thread_info",
        topology::CacheInfo: "cache_info",
        topology::CpuInfo: "cpu_info",
        topology::ZoneInfo: "zone_info",
    };
    let mut program = "#include <hadal/hrt.h>\n".to_owned();
    for (name, size, align) in sizes {
        program += &format!(
            "_Static_assert(sizeof(struct hrt_{name}) == {size} && _Alignof(struct hrt_{name}) == {align}, \"{name}\");\n"
        );
    }
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/hrt/include");
    let mut compiler = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-xc", "-", "-I"])
        .arg(include)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success());
}
