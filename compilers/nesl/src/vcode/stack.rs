// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lowers a function of cells to VCODE's stack: every operand is copied, or moved at its last use; what a branch
//! does not need is popped first thing in it. Constants are never kept on the stack: they are written where used.

use super::{Block, Cell, Constant, Function, Instr, Kind, Stmt};
use std::collections::{HashMap, HashSet};

/// One line of stack code.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// `CONST`.
    Const(Constant),
    /// `COPY n i`.
    Copy(usize, usize),
    /// `POP n i`.
    Pop(usize, usize),
    /// `CPOP n i`.
    Cpop(usize, usize),
    /// An operation and its suffix.
    Op(&'static str, Option<Kind>),
    /// `CALL`.
    Call(String),
    /// `IF`.
    If,
    /// `ELSE`.
    Else,
    /// `ENDIF`.
    Endif,
    /// `EXIT`.
    Exit,
}

/// The stack code of a function.
#[must_use]
pub fn lower(function: &Function) -> Vec<Line> {
    let mut constants = HashMap::new();
    collect_constants(&function.body, &mut constants);
    let mut lowering = Lowering { constants, lines: Vec::new(), stack: function.params.clone() };
    let mortal: HashSet<Cell> = function.params.iter().copied().collect();
    lowering.block(&function.body, &mortal);
    lowering.lines
}

fn collect_constants(block: &Block, constants: &mut HashMap<Cell, Constant>) {
    for stmt in &block.stmts {
        match &stmt.instr {
            Instr::Const(constant) => {
                constants.insert(stmt.results[0], constant.clone());
            }
            Instr::If(yes, no) => {
                collect_constants(yes, constants);
                collect_constants(no, constants);
            }
            _ => {}
        }
    }
}

/// The cells a statement reads, those of nested blocks included, local ones of these blocks too.
fn uses(stmt: &Stmt, out: &mut HashSet<Cell>) {
    out.extend(stmt.args.iter().copied());
    if let Instr::If(yes, no) = &stmt.instr {
        for block in [yes, no] {
            block_uses(block, out);
        }
    }
}

fn block_uses(block: &Block, out: &mut HashSet<Cell>) {
    for stmt in &block.stmts {
        uses(stmt, out);
    }
    out.extend(block.outs.iter().copied());
}

struct Lowering {
    constants: HashMap<Cell, Constant>,
    lines: Vec<Line>,
    stack: Vec<Cell>,
}

impl Lowering {
    /// Lowers a block; of the cells outside it, only the `mortal` ones may leave the stack, and all of them do.
    fn block(&mut self, block: &Block, mortal: &HashSet<Cell>) {
        let mut local: HashSet<Cell> = mortal.clone();
        for stmt in &block.stmts {
            local.extend(stmt.results.iter().copied());
        }
        // Backwards: which cells die at which statement, the last entry being the block's end.
        let mut live: HashSet<Cell> = HashSet::new();
        let mut deaths: Vec<HashSet<Cell>> = vec![HashSet::new(); block.stmts.len() + 1];
        for &cell in &block.outs {
            if local.contains(&cell) && live.insert(cell) {
                deaths[block.stmts.len()].insert(cell);
            }
        }
        let mut unread: Vec<Vec<Cell>> = vec![Vec::new(); block.stmts.len()];
        for (index, stmt) in block.stmts.iter().enumerate().rev() {
            unread[index] = stmt.results.iter().copied().filter(|cell| !live.contains(cell)).collect();
            let mut read = HashSet::new();
            uses(stmt, &mut read);
            for cell in read {
                if local.contains(&cell) && live.insert(cell) {
                    deaths[index].insert(cell);
                }
            }
        }
        let dead: Vec<Cell> = mortal.iter().copied().filter(|cell| !live.contains(cell)).collect();
        self.pop_cells(&dead);
        for (index, stmt) in block.stmts.iter().enumerate() {
            self.statement(stmt, &deaths[index]);
            self.pop_cells(&unread[index]);
        }
        self.place(&block.outs, &deaths[block.stmts.len()]);
    }

    fn statement(&mut self, stmt: &Stmt, dying: &HashSet<Cell>) {
        match &stmt.instr {
            Instr::Const(_) => return,
            Instr::Op(name, suffix) => {
                let (name, args) = self.best_order(name, &stmt.args, dying);
                self.place(&args, dying);
                self.lines.push(Line::Op(name, *suffix));
            }
            Instr::Call(name) => {
                self.place(&stmt.args, dying);
                self.lines.push(Line::Call(name.clone()));
            }
            Instr::Exit => self.lines.push(Line::Exit),
            Instr::If(yes, no) => {
                self.conditional(stmt, yes, no, dying);
                return;
            }
        }
        self.stack.truncate(self.stack.len() - stmt.args.len());
        self.stack.extend(stmt.results.iter().copied());
    }

    /// For an operation whose operands can be exchanged: the order whose first operand is already on top.
    fn best_order(
        &self,
        name: &'static str,
        args: &[Cell],
        dying: &HashSet<Cell>,
    ) -> (&'static str, Vec<Cell>) {
        if let [first, second] = *args
            && let Some(other) = exchanged(name)
            && self.stack.last() == Some(&second)
            && dying.contains(&second)
            && !(dying.contains(&first) && self.stack.len() >= 2 && self.stack[self.stack.len() - 2] == first)
        {
            return (other, vec![second, first]);
        }
        (name, args.to_vec())
    }

    fn conditional(&mut self, stmt: &Stmt, yes: &Block, no: &Block, dying: &HashSet<Cell>) {
        let mut inside = HashSet::new();
        block_uses(yes, &mut inside);
        block_uses(no, &mut inside);
        let condition_dies: HashSet<Cell> = dying.difference(&inside).copied().collect();
        self.place(&stmt.args, &condition_dies);
        self.stack.pop();
        self.lines.push(Line::If);
        let mortal: HashSet<Cell> = dying
            .iter()
            .copied()
            .filter(|cell| inside.contains(cell))
            .filter(|c| self.stack.contains(c))
            .collect();
        let before = self.stack.clone();
        self.block(yes, &mortal);
        let after = std::mem::replace(&mut self.stack, before);
        if !(no.stmts.is_empty() && no.outs.is_empty() && mortal.is_empty()) {
            self.lines.push(Line::Else);
            self.block(no, &mortal);
        }
        self.lines.push(Line::Endif);
        debug_assert_eq!(after.len(), self.stack.len());
        self.stack.truncate(self.stack.len() - stmt.results.len());
        self.stack.extend(stmt.results.iter().copied());
    }

    /// Deletes cells from the stack, neighbours together.
    fn pop_cells(&mut self, cells: &[Cell]) {
        let mut index = self.stack.len();
        while index > 0 {
            index -= 1;
            if !cells.contains(&self.stack[index]) {
                continue;
            }
            let mut low = index;
            while low > 0 && cells.contains(&self.stack[low - 1]) {
                low -= 1;
            }
            let count = index + 1 - low;
            self.lines.push(Line::Pop(count, self.stack.len() - 1 - index));
            self.stack.drain(low..=index);
            index = low;
        }
    }

    /// Brings the cells to the top of the stack in this order; those in `dying` are moved, the others copied.
    fn place(&mut self, args: &[Cell], dying: &HashSet<Cell>) {
        let prefix = self.in_place(args, dying);
        let mut base = self.stack.len() - prefix;
        let mut next = prefix;
        while next < args.len() {
            let cell = args[next];
            if let Some(constant) = self.constants.get(&cell) {
                self.lines.push(Line::Const(constant.clone()));
                self.stack.push(cell);
                next += 1;
                continue;
            }
            let moves = |index: usize| {
                dying.contains(&args[index])
                    && !args[index + 1..].contains(&args[index])
                    && !args[..prefix].contains(&args[index])
            };
            let moving = moves(next);
            let Some(at) = self.find(cell, base) else { unreachable!("cell {cell:?} is not on the stack") };
            let limit = if moving || at < base { base } else { self.stack.len() };
            let mut count = 1;
            while next + count < args.len()
                && at + count < limit
                && self.stack[at + count] == args[next + count]
                && moves(next + count) == moving
            {
                count += 1;
            }
            let depth = self.stack.len() - at - count;
            let cells: Vec<Cell> = self.stack[at..at + count].to_vec();
            if moving {
                self.lines.push(Line::Cpop(count, depth));
                self.stack.drain(at..at + count);
                base -= count;
            } else {
                self.lines.push(Line::Copy(count, depth));
            }
            self.stack.extend(cells);
            next += count;
        }
    }

    /// How many of the first operands are already on top of the stack, in order and at their last use.
    fn in_place(&self, args: &[Cell], dying: &HashSet<Cell>) -> usize {
        (1..=args.len().min(self.stack.len()))
            .rev()
            .find(|&n| {
                let top = &self.stack[self.stack.len() - n..];
                top == &args[..n]
                    && top
                        .iter()
                        .enumerate()
                        .all(|(i, cell)| dying.contains(cell) && !top[..i].contains(cell))
            })
            .unwrap_or(0)
    }

    /// Where a cell lies: below the operands being placed if it is there, else among them.
    fn find(&self, cell: Cell, base: usize) -> Option<usize> {
        self.stack[..base]
            .iter()
            .rposition(|&c| c == cell)
            .or_else(|| self.stack.iter().rposition(|&c| c == cell))
    }
}

/// The operation that gives the same for exchanged operands.
fn exchanged(name: &'static str) -> Option<&'static str> {
    match name {
        "+" | "*" | "AND" | "OR" | "XOR" | "=" | "!=" => Some(name),
        "<" => Some(">"),
        ">" => Some("<"),
        "<=" => Some(">="),
        ">=" => Some("<="),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::Builder;
    use super::*;

    fn lower_body(params: Vec<Cell>, body: Block) -> Vec<Line> {
        lower(&Function { name: "F".into(), params, body, source: String::new() })
    }

    #[test]
    fn last_use_moves_and_other_uses_copy() {
        let mut b = Builder::new();
        let (x, y) = (b.fresh(Kind::Int), b.fresh(Kind::Int));
        let s = b.op("-", Some(Kind::Int), &[x, y]);
        let r = b.op("-", Some(Kind::Int), &[s, x]);
        let lines = lower_body(vec![x, y], b.finish(vec![r]));
        let minus = Line::Op("-", Some(Kind::Int));
        assert_eq!(lines, vec![Line::Copy(1, 1), Line::Cpop(1, 1), minus.clone(), Line::Cpop(1, 1), minus]);
    }

    #[test]
    fn operands_on_top_stay_where_they_are() {
        let mut b = Builder::new();
        let (x, y) = (b.fresh(Kind::Int), b.fresh(Kind::Int));
        let s = b.op("-", Some(Kind::Int), &[x, y]);
        assert_eq!(lower_body(vec![x, y], b.finish(vec![s])), vec![Line::Op("-", Some(Kind::Int))]);
    }

    #[test]
    fn a_comparison_is_turned_if_its_second_operand_is_on_top() {
        let mut b = Builder::new();
        let (x, y) = (b.fresh(Kind::Int), b.fresh(Kind::Int));
        let less = b.op("<", Some(Kind::Int), &[x, y]);
        let lines = lower_body(vec![x, y], b.finish(vec![x, less]));
        assert_eq!(lines, vec![Line::Copy(1, 1), Line::Op(">", Some(Kind::Int))]);
    }

    #[test]
    fn a_branch_pops_what_it_does_not_use_first() {
        let mut b = Builder::new();
        let (x, y, c) = (b.fresh(Kind::Int), b.fresh(Kind::Int), b.fresh(Kind::Bool));
        b.enter();
        let yes = b.leave(vec![x]);
        b.enter();
        let no = b.leave(vec![y]);
        let r = b.branch(c, yes, no);
        let lines = lower_body(vec![x, y, c], b.finish(r));
        assert_eq!(lines, vec![Line::If, Line::Pop(1, 0), Line::Else, Line::Pop(1, 1), Line::Endif]);
    }

    #[test]
    fn constants_are_written_where_they_are_used() {
        let mut b = Builder::new();
        let x = b.fresh(Kind::Int);
        let two = b.int(2);
        let r = b.op("*", Some(Kind::Int), &[x, two]);
        let lines = lower_body(vec![x], b.finish(vec![r]));
        assert_eq!(lines, vec![Line::Const(Constant::Int(vec![2])), Line::Op("*", Some(Kind::Int))]);
    }

    #[test]
    fn a_doubled_operand_is_copied_once() {
        let mut b = Builder::new();
        let x = b.fresh(Kind::Int);
        let r = b.op("*", Some(Kind::Int), &[x, x]);
        assert_eq!(
            lower_body(vec![x], b.finish(vec![r])),
            vec![Line::Copy(1, 0), Line::Op("*", Some(Kind::Int))]
        );
    }

    use proptest::prelude::*;

    fn evaluate(block: &Block, values: &mut HashMap<Cell, i64>) -> Vec<i64> {
        for stmt in &block.stmts {
            let args: Vec<i64> = stmt.args.iter().map(|cell| values[cell]).collect();
            match &stmt.instr {
                Instr::Const(Constant::Int(v)) => {
                    values.insert(stmt.results[0], i64::from(v[0]));
                }
                Instr::Op(name, _) => {
                    values.insert(stmt.results[0], operation(name, args[0], args[1]));
                }
                Instr::If(yes, no) => {
                    let taken = if args[0] != 0 { yes } else { no };
                    let outs = evaluate(taken, values);
                    for (cell, value) in stmt.results.iter().zip(outs) {
                        values.insert(*cell, value);
                    }
                }
                other => unreachable!("{other:?}"),
            }
        }
        block.outs.iter().map(|cell| values[cell]).collect()
    }

    fn operation(name: &str, a: i64, b: i64) -> i64 {
        match name {
            "+" => a.wrapping_add(b),
            "-" => a.wrapping_sub(b),
            "<" => i64::from(a < b),
            ">" => i64::from(a > b),
            other => unreachable!("{other}"),
        }
    }

    fn execute(lines: &[Line], stack: &mut Vec<i64>) {
        let mut at = 0;
        while at < lines.len() {
            let top = stack.len();
            match &lines[at] {
                Line::Const(Constant::Int(v)) => stack.push(i64::from(v[0])),
                Line::Copy(n, i) => stack.extend_from_within(top - i - n..top - i),
                Line::Pop(n, i) => drop(stack.drain(top - i - n..top - i)),
                Line::Cpop(n, i) => {
                    let moved: Vec<i64> = stack.drain(top - i - n..top - i).collect();
                    stack.extend(moved);
                }
                Line::Op(name, _) => {
                    let b = stack.pop().expect("an operand");
                    let a = stack.pop().expect("an operand");
                    stack.push(operation(name, a, b));
                }
                Line::If => {
                    if stack.pop().expect("a condition") == 0 {
                        at = matching(lines, at, true);
                    }
                }
                Line::Else => at = matching(lines, at, false),
                Line::Endif => {}
                other => unreachable!("{other:?}"),
            }
            at += 1;
        }
    }

    /// The `ELSE` (if wanted and there) or `ENDIF` that belongs to the `IF` or `ELSE` at a place.
    fn matching(lines: &[Line], from: usize, or_else: bool) -> usize {
        let mut depth = 0;
        for (at, line) in lines.iter().enumerate().skip(from + 1) {
            match line {
                Line::If => depth += 1,
                Line::Else if depth == 0 && or_else => return at,
                Line::Endif if depth == 0 => return at,
                Line::Endif => depth -= 1,
                _ => {}
            }
        }
        unreachable!("every IF has an ENDIF")
    }

    type Step = (u8, usize, usize, usize);

    /// Writes steps over the cells known so far; every fifth kind of step is a conditional over the rest of a few.
    fn write(b: &mut Builder, steps: &[Step], cells: &mut Vec<Cell>, depth: usize) {
        for (index, &(kind, x, y, z)) in steps.iter().enumerate() {
            let pick = |n: usize| cells[n % cells.len()];
            let (x, y) = (pick(x), pick(y));
            let made = match kind {
                0 => b.op("+", Some(Kind::Int), &[x, y]),
                1 => b.op("-", Some(Kind::Int), &[x, y]),
                2 => b.op("<", Some(Kind::Int), &[x, y]),
                3 => b.int(i32::try_from(z % 5).unwrap_or(0)),
                _ if depth == 0 => b.op("-", Some(Kind::Int), &[y, x]),
                _ => {
                    let inner = &steps[index + 1..(index + 1 + z % 4).min(steps.len())];
                    let mut blocks = Vec::new();
                    for turn in 0..2 {
                        b.enter();
                        let mut known = cells.clone();
                        write(b, inner, &mut known, depth - 1);
                        let last = known[known.len() - 1 - (z + turn) % known.len().min(3)];
                        blocks.push(b.leave(vec![last, known[z % known.len()]]));
                    }
                    let (no, yes) = (blocks.pop().expect("two"), blocks.pop().expect("two"));
                    let results = b.branch(x, yes, no);
                    cells.push(results[1]);
                    results[0]
                }
            };
            cells.push(made);
        }
    }

    proptest! {
        #[test]
        fn stack_code_computes_what_the_cells_do(
            steps in proptest::collection::vec((0u8..5, 0usize..50, 0usize..50, 0usize..50), 1..25),
            params in proptest::collection::vec(-3i64..4, 1..5),
        ) {
            let mut b = Builder::new();
            let mut cells: Vec<Cell> = params.iter().map(|_| b.fresh(Kind::Int)).collect();
            let own = cells.clone();
            write(&mut b, &steps, &mut cells, 2);
            let outs = vec![cells[cells.len() - 1], cells[cells.len() / 2], cells[cells.len() / 2]];
            let mut body = b.finish(outs);
            super::super::prune::prune(&mut body);
            let mut values = own.iter().copied().zip(params.iter().copied()).collect();
            let expected = evaluate(&body, &mut values);
            let mut stack = params.clone();
            execute(&lower_body(own, body), &mut stack);
            prop_assert_eq!(stack, expected);
        }
    }
}
