// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any bytes as a program of NESL, as one of NDPC and as a library: reading, checking and the text of the
//! messages never fail, whatever the bytes are. A form that was read prints as a text that is read again.

#![no_main]

use hadal_front::{Checker, Dialect, SourceMap, parse, render_all};
use libfuzzer_sys::fuzz_target;

/// Operators and functions, so that checking gets beyond names without a meaning.
const PRELUDE: &str = include_str!("../../compilers/front/tests/prelude.nesl");

fuzz_target!(|data: &[u8]| {
    let mut sources = SourceMap::new();
    let prelude = sources.add("prelude.nesl", PRELUDE);
    let mut library = Checker::new(Dialect::Nesl);
    library.check_text(sources.file(prelude), Dialect::Library).expect("the prelude is right");
    let file = sources.add_bytes("input", data);
    for dialect in [Dialect::Nesl, Dialect::Ndpc, Dialect::Library] {
        let mut checker = library.clone().in_dialect(dialect);
        if let Err(errors) = checker.check_text(sources.file(file), dialect) {
            render_all(&errors, &sources, true);
        }
        for form in parse(sources.file(file), dialect).forms {
            let printed = sources.add("printed", &form.to_string());
            let again = parse(sources.file(printed), dialect);
            // Printing may add parentheses, and so a level.
            if again.diagnostics.iter().any(|one| &*one.message == "the nesting is too deep") {
                continue;
            }
            assert!(again.diagnostics.is_empty(), "{form}");
            assert_eq!(again.forms.len(), 1, "{form}");
            assert_eq!(again.forms[0].to_string(), form.to_string());
        }
    }
});
