// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lexer, parser, types and diagnostics that the compilers of NESL and NDPC share.

#![forbid(unsafe_code)]

pub mod ast;
pub mod diagnostic;
pub mod source;
pub mod typed;
pub mod types;

pub use diagnostic::{Diagnostic, Severity};
pub use source::{FileId, SourceFile, SourceMap, Span};
