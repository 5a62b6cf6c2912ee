// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes blocks, and shares what was already computed: one pure operation on the same cells is written once per
//! scope, and descriptor work that cancels out is never written.

use super::{Block, Cell, Constant, Instr, Kind, Stmt, is_impure};
use std::collections::{HashMap, HashSet};

/// What makes two pure statements the same.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Op(&'static str, Option<Kind>, Vec<Cell>),
    Const(String),
}

/// What is known of a cell.
#[derive(Clone)]
enum Definition {
    Op(&'static str, Vec<Cell>),
    Const(Constant),
}

/// The statements of a block under construction, and what is known in it.
#[derive(Default)]
pub struct Scope {
    stmts: Vec<Stmt>,
    known: HashMap<Key, Vec<Cell>>,
    /// The one-segment descriptor of a data cell's length, where one is at hand.
    counts: HashMap<Cell, Cell>,
    /// For flags and descriptor of a `PACK`: its two results.
    packs: HashMap<(Cell, Cell), (Cell, Cell)>,
    /// Flags that end the program if they are set.
    checked: HashSet<Cell>,
}

/// A function under construction.
pub struct Builder {
    next: u32,
    kinds: Vec<Kind>,
    definitions: HashMap<Cell, Definition>,
    scopes: Vec<Scope>,
    /// Descriptors that have exactly one segment.
    one_segment: HashSet<Cell>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// An empty function.
    #[must_use]
    pub fn new() -> Self {
        Self {
            next: 0,
            kinds: Vec::new(),
            definitions: HashMap::new(),
            scopes: vec![Scope::default()],
            one_segment: HashSet::new(),
        }
    }

    /// A cell that nothing defines yet: a parameter or the result of a statement.
    pub fn fresh(&mut self, kind: Kind) -> Cell {
        let cell = Cell(self.next);
        self.next += 1;
        self.kinds.push(kind);
        cell
    }

    /// The type of a cell.
    #[must_use]
    pub fn kind(&self, cell: Cell) -> Kind {
        self.kinds[cell.0 as usize]
    }

    /// Notes that a descriptor has exactly one segment.
    pub fn set_one_segment(&mut self, descriptor: Cell) {
        self.one_segment.insert(descriptor);
    }

    /// Whether a descriptor is known to have exactly one segment.
    #[must_use]
    pub fn has_one_segment(&self, descriptor: Cell) -> bool {
        self.one_segment.contains(&descriptor)
    }

    /// Notes that `count` is a one-segment descriptor of `data`'s length.
    pub fn set_count(&mut self, data: Cell, count: Cell) {
        self.one_segment.insert(count);
        self.top().counts.insert(data, count);
    }

    /// A one-segment descriptor of the cell's length (for a descriptor: of its segment count).
    pub fn count(&mut self, cell: Cell) -> Cell {
        for scope in self.scopes.iter().rev() {
            if let Some(&count) = scope.counts.get(&cell) {
                return count;
            }
        }
        let length = if self.kind(cell) == Kind::Segdes {
            let lengths = self.lengths(cell);
            self.op("LENGTH", Some(Kind::Int), &[lengths])
        } else {
            let kind = self.kind(cell);
            self.op("LENGTH", Some(kind), &[cell])
        };
        let count = self.op("MAKE_SEGDES", None, &[length]);
        self.set_count(cell, count);
        count
    }

    fn known_count(&self, cell: Cell) -> Option<Cell> {
        self.scopes.iter().rev().find_map(|scope| scope.counts.get(&cell).copied())
    }

    fn top(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a builder always has a scope")
    }

    /// Writes a statement as it is.
    pub fn push(&mut self, instr: Instr, args: &[Cell], kinds: &[Kind]) -> Vec<Cell> {
        let results: Vec<Cell> = kinds.iter().map(|&kind| self.fresh(kind)).collect();
        self.top().stmts.push(Stmt { results: results.clone(), instr, args: args.to_vec() });
        results
    }

    fn find(&self, key: &Key) -> Option<Vec<Cell>> {
        self.scopes.iter().rev().find_map(|scope| scope.known.get(key).cloned())
    }

    /// A constant.
    pub fn constant(&mut self, constant: Constant) -> Cell {
        let key = Key::Const(format!("{constant:?}"));
        if let Some(cells) = self.find(&key) {
            return cells[0];
        }
        let (kind, length) = match &constant {
            Constant::Int(v) => (Kind::Int, v.len()),
            Constant::Float(v) => (Kind::Float, v.len()),
            Constant::Bool(v) => (Kind::Bool, v.len()),
            Constant::Chars(v) => (Kind::Int, v.len()),
        };
        let cell = self.push(Instr::Const(constant.clone()), &[], &[kind])[0];
        self.definitions.insert(cell, Definition::Const(constant));
        self.top().known.insert(key, vec![cell]);
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        if length != 1 {
            let length = self.int(length);
            let count = self.op("MAKE_SEGDES", None, &[length]);
            self.set_count(cell, count);
        }
        cell
    }

    /// The integer constant `value`, length 1.
    pub fn int(&mut self, value: i32) -> Cell {
        self.constant(Constant::Int(vec![value]))
    }

    /// The single integer a cell is known to hold.
    #[must_use]
    pub fn known_int(&self, cell: Cell) -> Option<i32> {
        match self.definitions.get(&cell) {
            Some(Definition::Const(Constant::Int(v))) if v.len() == 1 => Some(v[0]),
            Some(Definition::Op("DIST", args)) => self.known_int(args[0]),
            _ => None,
        }
    }

    /// The length that all segments of a descriptor are known to have.
    #[must_use]
    pub fn known_length(&self, descriptor: Cell) -> Option<i32> {
        match self.definitions.get(&descriptor) {
            Some(Definition::Op("MAKE_SEGDES", args)) => self.known_int(args[0]),
            _ => None,
        }
    }

    /// The single truth value a cell is known to hold.
    #[must_use]
    pub fn known_bool(&self, cell: Cell) -> Option<bool> {
        match self.definitions.get(&cell) {
            Some(Definition::Const(Constant::Bool(v))) if v.len() == 1 => Some(v[0]),
            Some(Definition::Op("DIST", args)) => self.known_bool(args[0]),
            _ => None,
        }
    }

    /// The lengths of a descriptor's segments.
    pub fn lengths(&mut self, descriptor: Cell) -> Cell {
        self.op("LENGTHS", None, &[descriptor])
    }

    /// An operation with one result.
    pub fn op(&mut self, name: &'static str, suffix: Option<Kind>, args: &[Cell]) -> Cell {
        self.op_multi(name, suffix, args, &[result_kind(name, suffix)])[0]
    }

    /// An operation with results of the given types; shared with an equal earlier one when it is pure.
    pub fn op_multi(
        &mut self,
        name: &'static str,
        suffix: Option<Kind>,
        args: &[Cell],
        kinds: &[Kind],
    ) -> Vec<Cell> {
        if is_impure(name) {
            return self.push(Instr::Op(name, suffix), args, kinds);
        }
        if let Some(cell) = self.cancel(name, args) {
            return vec![cell];
        }
        let key = Key::Op(name, suffix, args.to_vec());
        if let Some(cells) = self.find(&key) {
            return cells;
        }
        let results = self.push(Instr::Op(name, suffix), args, kinds);
        if results.len() == 1 {
            self.definitions.insert(results[0], Definition::Op(name, args.to_vec()));
        }
        self.top().known.insert(key, results.clone());
        self.note_count(name, args, &results);
        results
    }

    /// The results of a `PACK` by these flags under this descriptor, if there is one.
    #[must_use]
    pub fn known_pack(&self, flags: Cell, descriptor: Cell) -> Option<(Cell, Cell)> {
        self.scopes.iter().rev().find_map(|scope| scope.packs.get(&(flags, descriptor)).copied())
    }

    /// The first result of an operation that is written already, in this scope or around it.
    #[must_use]
    pub fn written(&self, name: &'static str, suffix: Option<Kind>, args: &[Cell]) -> Option<Cell> {
        self.find(&Key::Op(name, suffix, args.to_vec())).map(|cells| cells[0])
    }

    /// An earlier cell that this operation would only copy.
    fn cancel(&self, name: &'static str, args: &[Cell]) -> Option<Cell> {
        let definition = |cell: Cell| self.definitions.get(&cell);
        match name {
            "LENGTHS" => match definition(args[0]) {
                Some(Definition::Op("MAKE_SEGDES", inner)) => Some(inner[0]),
                _ => None,
            },
            "MAKE_SEGDES" => match definition(args[0]) {
                Some(Definition::Op("LENGTHS", inner)) => Some(inner[0]),
                _ => None,
            },
            "NOT" => match definition(args[0]) {
                Some(Definition::Op("NOT", inner)) => Some(inner[0]),
                _ => None,
            },
            "+" if self.known_int(args[1]) == Some(0) => Some(args[0]),
            "+" if self.known_int(args[0]) == Some(0) => Some(args[1]),
            "OR" if self.known_bool(args[1]) == Some(false) => Some(args[0]),
            "OR" if self.known_bool(args[0]) == Some(false) => Some(args[1]),
            "AND" if self.known_bool(args[1]) == Some(true) => Some(args[0]),
            "AND" if self.known_bool(args[0]) == Some(true) => Some(args[1]),
            "*" if self.known_int(args[1]) == Some(1) => Some(args[0]),
            "*" if self.known_int(args[0]) == Some(1) => Some(args[1]),
            "/" if self.known_int(args[1]) == Some(1) => Some(args[0]),
            "-" if self.known_int(args[1]) == Some(0) => Some(args[0]),
            // A copy of one value along one segment of length 1.
            "DIST" => match definition(args[1]) {
                Some(Definition::Op("MAKE_SEGDES", inner))
                    if self.known_int(inner[0]) == Some(1) && self.one_segment.contains(&args[1]) =>
                {
                    Some(args[0])
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Derives the length of a result from its operands.
    fn note_count(&mut self, name: &'static str, args: &[Cell], results: &[Cell]) {
        match name {
            "MAKE_SEGDES" => {
                if let Some(Definition::Const(Constant::Int(v))) = self.definitions.get(&args[0])
                    && v.len() == 1
                {
                    self.one_segment.insert(results[0]);
                }
                if let Some(Definition::Op("LENGTH" | "+_REDUCE", _)) = self.definitions.get(&args[0])
                    && self.is_scalar(args[0])
                {
                    self.one_segment.insert(results[0]);
                }
                if let Some(count) = self.known_count(args[0]) {
                    self.top().counts.insert(results[0], count);
                }
            }
            "LENGTHS" => {
                if let Some(count) = self.known_count(args[0]) {
                    self.top().counts.insert(results[0], count);
                }
            }
            "DIST" | "INDEX" => {
                let descriptor = args[args.len() - 1];
                if self.one_segment.contains(&descriptor) {
                    self.top().counts.insert(results[0], descriptor);
                }
            }
            "BPERMUTE" | "BFPERMUTE" => {
                let descriptor = args[args.len() - 1];
                if self.one_segment.contains(&descriptor) {
                    self.top().counts.insert(results[0], descriptor);
                }
            }
            "DPERMUTE" | "DFPERMUTE" => {
                if let Some(count) = self.known_count(args[2]) {
                    self.top().counts.insert(results[0], count);
                }
            }
            "PACK" => {
                self.top().packs.entry((args[1], args[2])).or_insert((results[0], results[1]));
                if self.one_segment.contains(&args[2]) {
                    self.one_segment.insert(results[1]);
                    self.top().counts.insert(results[0], results[1]);
                }
            }
            _ if name.ends_with("_REDUCE") || name == "EXTRACT" => {
                let descriptor = args[args.len() - 1];
                if let Some(count) = self.known_count(descriptor) {
                    self.top().counts.insert(results[0], count);
                }
            }
            "LENGTH" | "SRAND" => {}
            // Elementwise operations, scans, ranks and PERMUTE: as long as their first operand.
            _ => {
                if let Some(first) = args.first()
                    && let Some(count) = self.known_count(*first)
                    && results.len() == 1
                {
                    self.top().counts.insert(results[0], count);
                }
            }
        }
    }

    /// Whether a cell certainly has length 1.
    #[must_use]
    pub fn is_scalar(&self, cell: Cell) -> bool {
        match self.definitions.get(&cell) {
            Some(Definition::Op("LENGTH", _)) => true,
            Some(Definition::Op(name, args)) if name.ends_with("_REDUCE") || *name == "EXTRACT" => {
                self.one_segment.contains(&args[args.len() - 1])
            }
            Some(Definition::Const(Constant::Int(v))) => v.len() == 1,
            Some(Definition::Op("LENGTHS", args)) => self.one_segment.contains(&args[0]),
            _ => false,
        }
    }

    /// Whether no check of this flag is written in this scope or around it; from now on there is one.
    pub fn first_check(&mut self, flag: Cell) -> bool {
        !self.scopes.iter().any(|scope| scope.checked.contains(&flag)) && self.top().checked.insert(flag)
    }

    /// Starts a block inside the current one.
    pub fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Ends the innermost block.
    pub fn leave(&mut self, outs: Vec<Cell>) -> Block {
        let scope = self.scopes.pop().expect("leave pairs with enter");
        Block { stmts: scope.stmts, outs }
    }

    /// Leaves the innermost block for a while, as it is.
    pub fn suspend(&mut self) -> Scope {
        self.scopes.pop().expect("suspend pairs with enter")
    }

    /// Goes on with a suspended block.
    pub fn resume(&mut self, scope: Scope) {
        self.scopes.push(scope);
    }

    /// Writes a conditional whose two blocks were made with [`Self::enter`] and [`Self::leave`].
    pub fn branch(&mut self, condition: Cell, yes: Block, no: Block) -> Vec<Cell> {
        let kinds: Vec<Kind> = yes.outs.iter().map(|&cell| self.kind(cell)).collect();
        self.push(Instr::If(Box::new(yes), Box::new(no)), &[condition], &kinds)
    }

    /// Ends the function.
    #[must_use]
    pub fn finish(mut self, outs: Vec<Cell>) -> Block {
        let scope = self.scopes.pop().expect("a builder always has a scope");
        Block { stmts: scope.stmts, outs }
    }
}

/// The result type of a single-result operation.
fn result_kind(name: &str, suffix: Option<Kind>) -> Kind {
    match name {
        "<" | "<=" | ">" | ">=" | "=" | "!=" | "I_TO_B" | "SRAND" => Kind::Bool,
        "I_TO_F" | "LOG" | "SQRT" | "EXP" | "SIN" | "COS" | "TAN" | "ASIN" | "ACOS" | "ATAN" | "SINH"
        | "COSH" | "TANH" | "STOP_TIMER" => Kind::Float,
        "MAKE_SEGDES" => Kind::Segdes,
        "RANK_UP" | "RANK_DOWN" | "LENGTH" => Kind::Int,
        _ => suffix.unwrap_or(Kind::Int),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operation_is_written_once_per_scope() {
        let mut b = Builder::new();
        let x = b.fresh(Kind::Int);
        let a = b.op("+", Some(Kind::Int), &[x, x]);
        b.enter();
        let inner = b.op("+", Some(Kind::Int), &[x, x]);
        let only_inside = b.op("*", Some(Kind::Int), &[x, x]);
        b.leave(vec![only_inside]);
        assert_eq!(a, inner);
        assert_ne!(b.op("*", Some(Kind::Int), &[x, x]), only_inside);
    }

    #[test]
    fn descriptor_work_cancels() {
        let mut b = Builder::new();
        let d = b.fresh(Kind::Segdes);
        let lengths = b.lengths(d);
        assert_eq!(b.op("MAKE_SEGDES", None, &[lengths]), d);
        let l = b.fresh(Kind::Int);
        let made = b.op("MAKE_SEGDES", None, &[l]);
        assert_eq!(b.lengths(made), l);
    }

    #[test]
    fn the_count_follows_elementwise_operations() {
        let mut b = Builder::new();
        let (x, n) = (b.fresh(Kind::Int), b.fresh(Kind::Segdes));
        b.set_count(x, n);
        let y = b.op("*", Some(Kind::Int), &[x, x]);
        assert_eq!(b.count(y), n);
    }

    #[test]
    fn impure_operations_are_never_shared() {
        let mut b = Builder::new();
        let n = b.fresh(Kind::Int);
        assert_ne!(b.op("RAND", None, &[n]), b.op("RAND", None, &[n]));
    }
}
