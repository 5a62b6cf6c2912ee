// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The primitives, over which the library is written. Whatever is polymorphic in an element type works on elements
//! of every shape.

use super::Shape;
use crate::vcode::Kind;
use std::rc::Rc;

/// The operators of scans and reductions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combine {
    /// Sum.
    Add,
    /// Product.
    Multiply,
    /// Greatest.
    Max,
    /// Least.
    Min,
    /// Conjunction, on integers bit by bit.
    And,
    /// Disjunction.
    Or,
    /// Exclusive disjunction.
    Xor,
}

/// A primitive operation.
#[derive(Clone, PartialEq, Debug)]
pub enum Prim {
    /// A VCODE operation on scalars: its name, its suffix, and the result.
    Element(&'static str, Option<Kind>, Shape),
    /// Integer division or remainder (`/`, `%`): zero divisors are an error with this text.
    Divide(&'static str, &'static str),
    /// The same cell under another scalar type (characters and their codes).
    Retype(Shape),
    /// `SELECT`: both alternatives are there already; scalars only.
    Select,
    /// `#s`.
    Length,
    /// `s[i]`, checked.
    Elt,
    /// `s -> is`, checked.
    Get,
    /// `s -> is` where the indices are known to be right.
    GetUnchecked,
    /// `d <- ps`, checked.
    Put,
    /// `d <- ps` where the indices are known to be right.
    PutUnchecked,
    /// `rep(s, i, v)`: one element replaced, checked.
    Replace,
    /// `dist(a, n)`; n must not be negative.
    Dist,
    /// start, stride, count to the sequence; the count must not be negative.
    Iseq,
    /// `a ++ b`.
    Append,
    /// `pack(ps)` for pairs of value and flag.
    Pack,
    /// `flatten(vv)`.
    Flatten,
    /// `partition(v, lengths)`, checked.
    Partition,
    /// A sequence with the lengths of its element sequences: what `partition` takes apart.
    Lengths,
    /// Two sequences of one length as a sequence of pairs, checked; the text of the error.
    Zip(&'static str),
    /// A sequence of pairs as two sequences.
    Unzip,
    /// Exclusive scan.
    Scan(Combine, Kind),
    /// Reduction.
    Reduce(Combine, Kind),
    /// Places in the ascending (true) or descending order.
    Rank(bool, Kind),
    /// `rand(n)` for an integer n > 0.
    Rand,
    /// Sets the seed.
    Srand,
    /// A check: an error with this text where the first operand holds; else the second operand.
    Check(Rc<str>),
    /// An error with the text of the operand, if the first operand holds; else the third operand.
    Fail,
    /// Writes characters to the console: `(ok, message)`.
    WriteConsole,
    /// `(name, mode)` to `(descriptor, (ok, message))`.
    OpenFile,
    /// Descriptor to `(ok, message)`.
    CloseFile,
    /// `(example, descriptor)` to `(value, (ok, message))`, one vector a line in the order of the cells.
    ReadObject,
    /// `(example, descriptor)` to `(sequence, (ok, message))`: one vector of scalars, as long as it is.
    ReadVector,
    /// `(value, descriptor)` to `(ok, message)`.
    WriteObject,
    /// `(delimiters, limit, descriptor)` to `(text, (stop, (ok, message)))`.
    ReadText,
    /// `(text, descriptor)` to `(ok, message)`: the characters as they are.
    WriteText,
    /// `(command, in, out, err)` to `(in, (out, (err, (ok, message))))`.
    Spawn,
    /// Starts the timer.
    StartTimer,
    /// Seconds since the timer was started.
    StopTimer,
}

impl Prim {
    /// Whether the operation can neither fail nor touch the world.
    #[must_use]
    pub fn is_total(&self) -> bool {
        matches!(
            self,
            Self::Element(..)
                | Self::Retype(_)
                | Self::Select
                | Self::Length
                | Self::Append
                | Self::Pack
                | Self::Flatten
                | Self::Lengths
                | Self::Unzip
                | Self::Scan(..)
                | Self::Reduce(..)
                | Self::Rank(..)
        )
    }

    /// Whether the operation reads or changes the world.
    #[must_use]
    pub fn is_impure(&self) -> bool {
        matches!(
            self,
            Self::Rand
                | Self::Srand
                | Self::WriteConsole
                | Self::OpenFile
                | Self::CloseFile
                | Self::ReadObject
                | Self::ReadVector
                | Self::WriteObject
                | Self::ReadText
                | Self::WriteText
                | Self::Spawn
                | Self::StartTimer
                | Self::StopTimer
        )
    }

    /// The shape of the result for operands of these shapes.
    #[must_use]
    pub fn result(&self, args: &[Shape]) -> Shape {
        let element = |shape: &Shape| match shape {
            Shape::Seq(t) => (**t).clone(),
            _ => Shape::Unit,
        };
        let status = || Shape::pair(Shape::Bool, Shape::text());
        match self {
            Self::Element(_, _, result) | Self::Retype(result) => result.clone(),
            Self::Divide(..) | Self::Length | Self::Rand => Shape::Int,
            Self::Select => args[1].clone(),
            Self::Elt => element(&args[0]),
            Self::Get
            | Self::GetUnchecked
            | Self::Put
            | Self::PutUnchecked
            | Self::Replace
            | Self::Append => args[0].clone(),
            Self::Dist => Shape::seq(args[0].clone()),
            Self::Iseq => Shape::seq(Shape::Int),
            Self::Pack => match element(&args[0]) {
                Shape::Pair(a, _) => Shape::Seq(a),
                _ => Shape::Unit,
            },
            Self::Flatten => element(&args[0]),
            Self::Partition => Shape::seq(args[0].clone()),
            Self::Lengths => Shape::seq(Shape::Int),
            Self::Zip(_) => Shape::seq(Shape::pair(element(&args[0]), element(&args[1]))),
            Self::Unzip => match element(&args[0]) {
                Shape::Pair(a, b) => Shape::pair(Shape::Seq(a), Shape::Seq(b)),
                _ => Shape::Unit,
            },
            Self::Scan(..) => args[0].clone(),
            Self::Rank(..) => Shape::seq(Shape::Int),
            Self::Reduce(..) => element(&args[0]),
            Self::Srand | Self::StartTimer => Shape::Bool,
            Self::Check(_) => args[1].clone(),
            Self::Fail => args[2].clone(),
            Self::WriteConsole | Self::CloseFile | Self::WriteObject | Self::WriteText => status(),
            Self::OpenFile => Shape::pair(Shape::Int, status()),
            Self::ReadObject | Self::ReadVector => Shape::pair(args[0].clone(), status()),
            Self::ReadText => Shape::pair(Shape::text(), Shape::pair(Shape::Int, status())),
            Self::Spawn => {
                Shape::pair(Shape::Int, Shape::pair(Shape::Int, Shape::pair(Shape::Int, status())))
            }
            Self::StopTimer => Shape::Float,
        }
    }
}
