// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the front end: characters, grammar, precedences, types, messages, and random input.

mod checker;
mod common;
mod defaults;
mod grammar;
mod lexer;
mod messages;
mod ndpc;
mod precedence;
mod properties;
mod types;
