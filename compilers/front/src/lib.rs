// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lexer, parser, types and diagnostics that the compilers of NESL and NDPC share.
//!
//! ```
//! use hadal_front::{Checker, Dialect, SourceMap, render_all, typed};
//!
//! let mut sources = SourceMap::new();
//! let mut checker = Checker::new(Dialect::Nesl);
//! let library = sources.add("library", "primitive \"+\" : (a, a) -> a :: (a in number);");
//! checker.check_text(sources.file(library), Dialect::Library).expect("the library is right");
//!
//! let program = sources.add("program.nesl", "function add(a, b) = a + b; add(1, 2.0);");
//! let errors = checker.check_text(sources.file(program), Dialect::Nesl).unwrap_err();
//! assert!(render_all(&errors, &sources, false).contains("argument 2 of `add` must be `int`, but is `float`"));
//! ```

#![forbid(unsafe_code)]

pub mod ast;
pub mod check;
pub mod diagnostic;
pub mod lexer;
pub mod operator;
pub mod parser;
pub mod print;
pub mod render;
pub mod source;
pub mod token;
pub mod typed;
pub mod types;

pub use check::Checker;
pub use diagnostic::{Diagnostic, Severity};
pub use parser::{Parsed, parse};
pub use render::{render, render_all};
pub use source::{FileId, SourceFile, SourceMap, Span};

/// What language a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// NESL as users write it.
    Nesl,
    /// NESL with `primitive` forms and functions named like operators, for the libraries of the compilers.
    Library,
    /// NDPC: types for names, no records and no commands.
    Ndpc,
}
