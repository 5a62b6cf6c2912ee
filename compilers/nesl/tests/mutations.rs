// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs with a word dropped, doubled or exchanged: whatever comes of it, the compiler answers and does not panic.
//! `HADAL_NESL_MUTATIONS` is the number of changed programs per program.

use hadal_nesl::Session;

/// The words of a program: names, numbers, single other characters.
fn words(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for c in text.chars() {
        let joins = |c: char| c.is_alphanumeric() || c == '_';
        match all.last_mut() {
            Some(last) if joins(c) && last.chars().all(joins) => last.push(c),
            _ => all.push(c.to_string()),
        }
    }
    all
}

#[test]
fn changed_programs_never_make_the_compiler_panic() {
    let number = std::env::var("HADAL_NESL_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let library = Session::new();
        let mut state: u64 = 88_172_645_463_325_252;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).expect("31 bits fit") % n.max(1)
        };
        let mut paths: Vec<_> = std::fs::read_dir(directory)
            .expect("the programs are there")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|e| e == "nesl"))
            .collect();
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("the program can be read");
            // A program that writes files would not be run; a changed `load` or `dump` could touch any file.
            if text.contains("load") || text.contains("dump") {
                continue;
            }
            for _ in 0..number {
                let mut all = words(&text);
                for _ in 0..=below(2) {
                    let (i, j) = (below(all.len()), below(all.len()));
                    match below(4) {
                        0 => drop(all.remove(i)),
                        1 => all.insert(i, all[j].clone()),
                        2 => all.swap(i, j),
                        _ => all[i] = all[j].clone(),
                    }
                }
                let changed = all.concat();
                let mut session = library.clone();
                let loaded = session.load("changed.nesl", &changed);
                let forms = loaded.forms();
                // Compiled or refused: both are answers.
                if session.compile_program(&forms).is_ok() {
                    assert!(session.evaluate(&forms, 10_000).is_ok(), "{changed}");
                }
            }
        }
    });
    if let Err(panic) = thread.expect("a thread can be started").join() {
        std::panic::resume_unwind(panic);
    }
}
