// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The exact text of messages. Each `tests/messages/NAME.nesl` has a `NAME.txt` beside it; with
//! `HADAL_BLESS=1` the texts are written anew, to be read before they are committed.

use std::path::Path;

use hadal_front::{Dialect, parse, render, render_all};

use crate::common::{diagnostics, library};

#[test]
fn messages_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages");
    let bless = std::env::var_os("HADAL_BLESS").is_some();
    let mut differences = Vec::new();
    let mut count = 0;
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ext| ext == "nesl")) {
        let (mut sources, mut checker) = library();
        let name = path.file_name().unwrap().to_str().unwrap();
        let file = sources.add(name, &std::fs::read_to_string(path).unwrap());
        let all = checker.check_text(sources.file(file), Dialect::Nesl).err().unwrap_or_default();
        let text = render_all(&all, &sources, false);
        assert!(!text.is_empty(), "{name} has no mistake");
        count += 1;
        let expected_path = path.with_extension("txt");
        if bless {
            std::fs::write(&expected_path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if text != expected {
            differences.push(format!("--- {name}, expected:\n{expected}\n--- found:\n{text}"));
        }
    }
    assert!(count >= 40, "only {count} programs");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn colours_are_only_added() {
    let (all, sources) = diagnostics("x = 1 + `a;");
    let plain = render(&all[0], &sources, false);
    let coloured = render(&all[0], &sources, true);
    assert!(coloured.contains("\u{1b}["));
    assert!(!plain.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        stripped += before;
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(stripped + rest, plain);
}

#[test]
fn lines_of_a_prompt_go_on() {
    let (mut sources, _) = library();
    let file = sources.add_at_line("prompt", "1 +\n;", 7);
    let parsed = parse(sources.file(file), Dialect::Nesl);
    let text = render(&parsed.diagnostics[0], &sources, false);
    assert!(text.contains("prompt:8:1"), "{text}");
    assert_eq!(sources.position(parsed.diagnostics[0].span()), ("prompt", 8, 1));
}
