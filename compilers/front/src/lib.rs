// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lexer, parser, types and diagnostics that the compilers of NESL and NDPC share.

#![forbid(unsafe_code)]
