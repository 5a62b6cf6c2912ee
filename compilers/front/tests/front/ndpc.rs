// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What NDPC reads besides NESL: types given to names.

use hadal_front::{Dialect, typed};

use crate::common::{library, parsed};

/// The messages about a text, or the type of its last function.
fn check(text: &str) -> Result<String, Vec<String>> {
    let (mut sources, library) = library();
    let file = sources.add("test.ndpc", text);
    match library.in_dialect(Dialect::Ndpc).check_text(sources.file(file), Dialect::Ndpc) {
        Ok(forms) => match forms.last() {
            Some(typed::Form::Function(function)) => Ok(function.scheme.to_string()),
            other => panic!("{other:?}"),
        },
        Err(errors) => Err(errors.into_iter().map(|one| one.message.into()).collect()),
    }
}

#[test]
fn names_have_types() {
    assert_eq!(check("datatype n int; function g(n) = n * n;"), Ok("int -> int".into()));
    assert_eq!(
        check("datatype g double; datatype x double; function g(x) = x;"),
        Ok("float -> float".into())
    );
    assert_eq!(
        check("datatype s Collection<Collection<int>>; function g(s) = #s;"),
        Ok("[[int]] -> int".into())
    );
    assert_eq!(check("datatype s string; function g(s) = s;"), Ok("[char] -> [char]".into()));
    assert_eq!(
        check("datatype s [int]; function g(s) = with x = int; y = int in {let y = x in y : x in s};"),
        Ok("[int] -> [int]".into())
    );
}

#[test]
fn types_must_fit() {
    assert_eq!(
        check("datatype n int; function g(n) = n + 1.0;"),
        Err(vec!["both sides of `+` must have one type, but are `int` and `float`".into()])
    );
    assert_eq!(
        check("datatype g int; function g(x) = 1.0;"),
        Err(vec!["`g` must return `int`, but its body is `float`".into()])
    );
    assert_eq!(
        check("function g(s) = with x = bool in {x : x in s ++ [1]};"),
        Err(vec!["the elements are `int`, but the pattern is for `bool`".into()])
    );
    assert_eq!(check("datatype s Collection<int;"), Err(vec!["expected `>`, found `;`".into()]));
    // After the expression the names are free again.
    assert_eq!(
        check("function g(s) = let a = (with x = int in {x : x in [1]}) in {x : x in s};"),
        Ok("[a] -> [a] :: (a in any)".into())
    );
}

#[test]
fn nesl_does_not_read_it() {
    assert_eq!(parsed("with + 1;", Dialect::Nesl).diagnostics.len(), 0);
    assert_eq!(parsed("with x = int in x;", Dialect::Nesl).diagnostics.len(), 1);
}
