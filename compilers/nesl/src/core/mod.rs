// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The core language: monomorphic, first order, datatypes erased to their contents. Elaboration makes it from typed
//! forms; flattening turns it into vector code, and the naive evaluator runs it as it stands.

pub mod analysis;
pub mod prim;

pub use prim::Prim;
use std::rc::Rc;

/// A variable, numbered over the whole program.
pub type Var = u32;
/// A function's place in [`Program::functions`].
pub type FunctionId = usize;
/// A place in [`Program::places`].
pub type PlaceId = u32;

/// The shape of a value: its type without names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// No cells: a function value without captured variables.
    Unit,
    /// An integer.
    Int,
    /// A float.
    Float,
    /// A truth value.
    Bool,
    /// A character; in VCODE an integer.
    Char,
    /// Two values.
    Pair(Rc<Shape>, Rc<Shape>),
    /// A sequence.
    Seq(Rc<Shape>),
}

impl Shape {
    /// A pair.
    #[must_use]
    pub fn pair(a: Self, b: Self) -> Self {
        Self::Pair(Rc::new(a), Rc::new(b))
    }

    /// A sequence of `element`.
    #[must_use]
    pub fn seq(element: Self) -> Self {
        Self::Seq(Rc::new(element))
    }

    /// The text `[char]`'s shape.
    #[must_use]
    pub fn text() -> Self {
        Self::seq(Self::Char)
    }

    /// How many VCODE cells a value of this shape takes.
    #[must_use]
    pub fn cells(&self) -> usize {
        match self {
            Self::Unit => 0,
            Self::Int | Self::Float | Self::Bool | Self::Char => 1,
            Self::Pair(a, b) => a.cells() + b.cells(),
            Self::Seq(t) => 1 + t.cells(),
        }
    }

    /// How many parts, scalars and sequences, a value has when its pairs are taken apart.
    #[must_use]
    pub fn leaves(&self) -> usize {
        match self {
            Self::Unit => 0,
            Self::Pair(a, b) => a.leaves() + b.leaves(),
            _ => 1,
        }
    }
}

/// What a value is bound to.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// Nothing.
    Ignore,
    /// A variable.
    Var(Var),
    /// The two parts of a pair.
    Pair(Box<Pattern>, Box<Pattern>),
}

impl Pattern {
    /// The variables bound, left to right.
    pub fn variables(&self, out: &mut Vec<Var>) {
        match self {
            Self::Ignore => {}
            Self::Var(var) => out.push(*var),
            Self::Pair(a, b) => {
                a.variables(out);
                b.variables(out);
            }
        }
    }
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A variable.
    Var(Var),
    /// The value without cells.
    Unit,
    /// An integer.
    Int(i32),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A character.
    Char(u8),
    /// A string.
    Text(Rc<[u8]>),
    /// Two values.
    Pair(Rc<Expr>, Rc<Expr>),
    /// A value bound in another expression.
    Let(Pattern, Rc<Expr>, Rc<Expr>),
    /// A choice.
    If(Rc<Expr>, Rc<Expr>, Rc<Expr>),
    /// A primitive operation.
    Prim(Prim, Vec<Expr>, PlaceId),
    /// A call.
    Call(FunctionId, Vec<Expr>, PlaceId),
    /// An apply-to-each.
    Each(Rc<Each>),
    /// A sequence of these elements, whose shape is given because there may be none.
    Sequence(Vec<Expr>, Shape),
}

/// `{body : sources | filter}`
#[derive(Clone, PartialEq, Debug)]
pub struct Each {
    /// What is bound in turn to the elements of what.
    pub sources: Vec<(Pattern, Expr)>,
    /// Which elements take part.
    pub filter: Option<Expr>,
    /// The result for one element.
    pub body: Expr,
    /// Where it stands.
    pub place: PlaceId,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its NESL name.
    pub name: String,
    /// Its parameters; a tuple is taken apart as far as the source's pattern does.
    pub params: Vec<Var>,
    /// The result's shape.
    pub result: Shape,
    /// Its body.
    pub body: Rc<Expr>,
    /// File and line of the definition.
    pub file: String,
    /// The line.
    pub line: u32,
}

/// Where a check that fails is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The NESL function.
    pub function: String,
    /// The source text's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// Whether it is in the library; then the caller's place says more.
    pub library: bool,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "in {}, {}:{}:{}", self.function, self.file, self.line, self.column)
    }
}

/// A whole program.
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// The functions.
    pub functions: Vec<Function>,
    /// The shape of each variable.
    pub shapes: Vec<Shape>,
    /// The places that expressions refer to.
    pub places: Vec<Place>,
}

impl Program {
    /// A new variable of this shape.
    pub fn variable(&mut self, shape: Shape) -> Var {
        self.shapes.push(shape);
        u32::try_from(self.shapes.len() - 1).expect("fewer than 2^32 variables")
    }

    /// The shape of a variable.
    #[must_use]
    pub fn shape(&self, var: Var) -> &Shape {
        &self.shapes[var as usize]
    }
}
