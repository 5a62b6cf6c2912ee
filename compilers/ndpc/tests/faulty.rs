// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs with mistakes, each beside the text of its messages. With `NDPC_BLESS` set the texts are written anew.

use std::fs;
use std::path::{Path, PathBuf};

use hadal_front::render_all;
use hadal_ndpc::{Options, sources, translate};

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut all: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder is part of the tree")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "ndpc"))
        .collect();
    all.sort();
    all
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
}

#[test]
fn each_mistake_has_its_message() {
    let all = programs("faulty");
    assert!(all.len() >= 20);
    for path in all {
        let text = fs::read_to_string(&path).expect("a readable program");
        let errors = translate(name(&path), &text, &Options::default())
            .map(|output| output.cpp)
            .expect_err(&format!("{} is translated", path.display()));
        let told = render_all(&errors, &sources(name(&path), &text), false);
        let expected = path.with_extension("txt");
        if std::env::var_os("NDPC_BLESS").is_some() {
            fs::write(&expected, &told).expect("a writable folder");
        }
        assert_eq!(told, fs::read_to_string(&expected).unwrap_or_default(), "{}", path.display());
    }
}

#[test]
fn each_program_is_translated() {
    for path in programs("programs").into_iter().chain(programs("rules")) {
        let text = fs::read_to_string(&path).expect("a readable program");
        if let Err(errors) = translate(name(&path), &text, &Options::default()) {
            panic!("{}", render_all(&errors, &sources(name(&path), &text), false));
        }
    }
}
