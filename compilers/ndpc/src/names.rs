// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names in C++: those of the source where C++ allows them.

use std::collections::HashSet;

/// Words that mean something else in C++, or that generated code uses itself.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "const_cast",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "main",
    "std",
    "ndpc",
    "result",
    "mode",
    "program",
    "apply_main",
    "main_function",
    "linux",
    "unix",
    "errno",
    "stdin",
    "stdout",
    "stderr",
    "assert",
    "signbit",
    "isnan",
    "isinf",
    "isfinite",
    "null",
    "typeof",
    "i386",
    "offsetof",
    "bool_",
];

/// Names given out in one scope and those around it.
#[derive(Clone, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A name like `wanted` that nothing else has.
    pub(crate) fn fresh(&mut self, wanted: &str) -> String {
        let mut base: String =
            wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        // Names that begin so, or have two underscores in a row, are the implementation's.
        while base.contains("__") {
            base = base.replace("__", "_");
        }
        let base = base.trim_start_matches('_');
        let base = match base.as_bytes().first() {
            None => "value".to_string(),
            Some(first) if first.is_ascii_digit() => format!("n{base}"),
            Some(_) if TAKEN.contains(&base) => format!("{}_", base.trim_end_matches('_')),
            Some(_) => base.to_string(),
        };
        if self.taken.insert(base.clone()) {
            return base;
        }
        let numbered = |n: u32| format!("{}_{n}", base.trim_end_matches('_'));
        let mut number = 2;
        while !self.taken.insert(numbered(number)) {
            number += 1;
        }
        numbered(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_unless_they_cannot() {
        let mut names = Names::default();
        assert_eq!(names.fresh("quicksort"), "quicksort");
        assert_eq!(names.fresh("quicksort"), "quicksort_2");
        assert_eq!(names.fresh("double"), "double_");
        assert_eq!(names.fresh("double"), "double_2");
        assert_eq!(names.fresh("__x__y"), "x_y");
        assert_eq!(names.fresh("2nd"), "n2nd");
        assert_eq!(names.fresh("_"), "value");
        assert_eq!(names.fresh("\u{e4}"), "value_2");
    }
}
