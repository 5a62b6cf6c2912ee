// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Facts about expressions: free variables, size, which functions are recursive, what cannot fail.

use super::{Each, Expr, FunctionId, Program, Shape, Var};
use std::collections::{BTreeSet, HashSet};

/// The free variables of an expression, in the order of their numbers.
#[must_use]
pub fn free_variables(expr: &Expr) -> BTreeSet<Var> {
    let mut out = BTreeSet::new();
    collect_free(expr, &mut HashSet::new(), &mut out);
    out
}

fn collect_free(expr: &Expr, bound: &mut HashSet<Var>, out: &mut BTreeSet<Var>) {
    match expr {
        Expr::Var(var) => {
            if !bound.contains(var) {
                out.insert(*var);
            }
        }
        Expr::Let(pattern, value, body) => {
            collect_free(value, bound, out);
            let mut variables = Vec::new();
            pattern.variables(&mut variables);
            let added: Vec<Var> = variables.into_iter().filter(|var| bound.insert(*var)).collect();
            collect_free(body, bound, out);
            for var in added {
                bound.remove(&var);
            }
        }
        Expr::Each(each) => {
            let mut variables = Vec::new();
            for (pattern, source) in &each.sources {
                collect_free(source, bound, out);
                pattern.variables(&mut variables);
            }
            let added: Vec<Var> = variables.into_iter().filter(|var| bound.insert(*var)).collect();
            for inner in each.filter.iter().chain([&each.body]) {
                collect_free(inner, bound, out);
            }
            for var in added {
                bound.remove(&var);
            }
        }
        _ => each_child(expr, &mut |child| collect_free(child, bound, out)),
    }
}

/// The free variables of the body and filter of an apply-to-each.
#[must_use]
pub fn free_in_each(each: &Each) -> BTreeSet<Var> {
    let mut bound = HashSet::new();
    let mut variables = Vec::new();
    for (pattern, _) in &each.sources {
        pattern.variables(&mut variables);
    }
    bound.extend(variables);
    let mut out = BTreeSet::new();
    for inner in each.filter.iter().chain([&each.body]) {
        collect_free(inner, &mut bound, &mut out);
    }
    out
}

/// Calls `visit` on each expression directly below.
pub fn each_child(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match expr {
        Expr::Var(_)
        | Expr::Unit
        | Expr::Int(_)
        | Expr::Float(_)
        | Expr::Bool(_)
        | Expr::Char(_)
        | Expr::Text(_) => {}
        Expr::Pair(a, b) | Expr::Let(_, a, b) => {
            visit(a);
            visit(b);
        }
        Expr::If(a, b, c) => {
            visit(a);
            visit(b);
            visit(c);
        }
        Expr::Prim(_, args, _) | Expr::Call(_, args, _) | Expr::Sequence(args, _) => {
            args.iter().for_each(visit);
        }
        Expr::Each(each) => {
            each.sources.iter().for_each(|(_, source)| visit(source));
            each.filter.iter().for_each(&mut *visit);
            visit(&each.body);
        }
    }
}

/// What flattening asks of a function as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whether it can call itself, over others too.
    pub recursive: bool,
    /// Nodes of its body, those of functions it inlines counted too.
    pub size: usize,
    /// Whether it neither fails nor touches the world and surely ends.
    pub total: bool,
    /// Whether it, or what it calls, touches the world.
    pub impure: bool,
    /// Whether its body holds only scalar operations, each possible on every element.
    pub elementwise: bool,
}

/// Functions up to this size are written out where they are called, unless they are recursive.
pub const INLINE_SIZE: usize = 60;

impl Facts {
    /// Whether calls of the function are replaced by its body.
    #[must_use]
    pub fn inlined(&self) -> bool {
        !self.recursive && self.size <= INLINE_SIZE
    }
}

/// The facts of all functions.
#[must_use]
pub fn facts(program: &Program) -> Vec<Facts> {
    let calls: Vec<BTreeSet<FunctionId>> = program.functions.iter().map(|f| callees(&f.body)).collect();
    let mut facts = vec![None; program.functions.len()];
    for id in 0..program.functions.len() {
        compute(program, &calls, id, &mut facts);
    }
    facts
        .into_iter()
        .map(|fact| {
            fact.unwrap_or(Facts { recursive: true, size: 0, total: false, impure: true, elementwise: false })
        })
        .collect()
}

/// The functions that an expression calls.
#[must_use]
pub fn callees(expr: &Expr) -> BTreeSet<FunctionId> {
    let mut out = BTreeSet::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        if let Expr::Call(id, _, _) = expr {
            out.insert(*id);
        }
        children(expr, &mut stack);
    }
    out
}

fn children<'a>(expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Pair(a, b) | Expr::Let(_, a, b) => out.extend([&**a, &**b]),
        Expr::If(a, b, c) => out.extend([&**a, &**b, &**c]),
        Expr::Prim(_, args, _) | Expr::Call(_, args, _) | Expr::Sequence(args, _) => out.extend(args),
        Expr::Each(each) => {
            out.extend(each.sources.iter().map(|(_, source)| source));
            out.extend(each.filter.iter());
            out.push(&each.body);
        }
        _ => {}
    }
}

fn is_recursive(calls: &[BTreeSet<FunctionId>], id: FunctionId) -> bool {
    let mut seen = HashSet::new();
    let mut todo: Vec<FunctionId> = calls[id].iter().copied().collect();
    while let Some(next) = todo.pop() {
        if next == id {
            return true;
        }
        if seen.insert(next) {
            todo.extend(calls[next].iter().copied());
        }
    }
    false
}

fn compute(
    program: &Program,
    calls: &[BTreeSet<FunctionId>],
    id: FunctionId,
    facts: &mut Vec<Option<Facts>>,
) -> Facts {
    if let Some(known) = facts[id] {
        return known;
    }
    if is_recursive(calls, id) {
        // Impure if anything that it can reach is; told without following the cycle.
        let mut seen = HashSet::from([id]);
        let mut todo = vec![id];
        let mut impure = false;
        while let Some(next) = todo.pop() {
            impure |= has_impure_prim(&program.functions[next].body);
            todo.extend(calls[next].iter().copied().filter(|callee| seen.insert(*callee)));
        }
        let known = Facts {
            recursive: true,
            size: node_count(&program.functions[id].body),
            total: false,
            impure,
            elementwise: false,
        };
        facts[id] = Some(known);
        return known;
    }
    for &callee in &calls[id] {
        compute(program, calls, callee, facts);
    }
    let known = expression_facts(&program.functions[id].body, &|callee| {
        facts[callee].unwrap_or(Facts {
            recursive: true,
            size: 1,
            total: false,
            impure: true,
            elementwise: false,
        })
    });
    facts[id] = Some(known);
    known
}

fn has_impure_prim(expr: &Expr) -> bool {
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        if let Expr::Prim(prim, _, _) = expr
            && prim.is_impure()
        {
            return true;
        }
        children(expr, &mut stack);
    }
    false
}

fn node_count(expr: &Expr) -> usize {
    let mut stack = vec![expr];
    let mut count = 0;
    while let Some(expr) = stack.pop() {
        count += 1;
        children(expr, &mut stack);
    }
    count
}

/// The facts of an expression as if it were a function's body.
pub fn expression_facts(expr: &Expr, of_function: &dyn Fn(FunctionId) -> Facts) -> Facts {
    let mut stack = vec![expr];
    let mut out = Facts { recursive: false, size: 0, total: true, impure: false, elementwise: true };
    while let Some(expr) = stack.pop() {
        match expr {
            Expr::Var(_) | Expr::Let(..) | Expr::Pair(..) => {}
            Expr::Call(id, _, _) => {
                let callee = of_function(*id);
                out.size += if callee.inlined() { callee.size } else { 1 };
                out.total &= callee.total;
                out.impure |= callee.impure;
                out.elementwise &= callee.elementwise && callee.inlined();
            }
            Expr::Prim(prim, _, _) => {
                out.size += 1;
                out.total &= prim.is_total();
                out.impure |= prim.is_impure();
                out.elementwise &=
                    matches!(prim, super::Prim::Element(..) | super::Prim::Retype(_) | super::Prim::Select);
            }
            Expr::Each(_) | Expr::Sequence(..) | Expr::Text(_) => {
                out.size += 2;
                out.elementwise = false;
            }
            Expr::If(..) => out.size += 3,
            _ => out.size += 1,
        }
        children(expr, &mut stack);
        // The length check of an apply-to-each over several sequences can fail.
        if let Expr::Each(each) = expr
            && each.sources.len() > 1
        {
            out.total = false;
        }
    }
    out
}

/// The variables whose values an expression surely moves as a whole: passed to functions that are not inlined, or
/// copied with changes.
pub fn moved_whole(expr: &Expr, inlined: &dyn Fn(FunctionId) -> bool, out: &mut BTreeSet<Var>) {
    let whole = |arg: &Expr, out: &mut BTreeSet<Var>| {
        if let Expr::Var(var) = arg {
            out.insert(*var);
        }
    };
    match expr {
        Expr::Call(id, args, _) => {
            if !inlined(*id) {
                args.iter().for_each(|arg| whole(arg, out));
            }
            args.iter().for_each(|arg| moved_whole(arg, inlined, out));
        }
        Expr::Prim(prim, args, _) => {
            use super::Prim;
            match prim {
                Prim::Append => args.iter().for_each(|arg| whole(arg, out)),
                Prim::Put | Prim::PutUnchecked | Prim::Replace | Prim::Partition => whole(&args[0], out),
                _ => {}
            }
            args.iter().for_each(|arg| moved_whole(arg, inlined, out));
        }
        Expr::Pair(a, b) | Expr::Let(_, a, b) => {
            moved_whole(a, inlined, out);
            moved_whole(b, inlined, out);
        }
        // Only the condition is evaluated in any case.
        Expr::If(condition, _, _) => moved_whole(condition, inlined, out),
        _ => {}
    }
}

/// The shape of an expression's value.
#[must_use]
pub fn shape_of(expr: &Expr, program: &Program) -> Shape {
    match expr {
        Expr::Var(var) => program.shape(*var).clone(),
        Expr::Unit => Shape::Unit,
        Expr::Int(_) => Shape::Int,
        Expr::Float(_) => Shape::Float,
        Expr::Bool(_) => Shape::Bool,
        Expr::Char(_) => Shape::Char,
        Expr::Text(_) => Shape::text(),
        Expr::Pair(a, b) => Shape::pair(shape_of(a, program), shape_of(b, program)),
        Expr::Let(_, _, body) => shape_of(body, program),
        Expr::If(_, yes, _) => shape_of(yes, program),
        Expr::Prim(prim, args, _) => {
            let shapes: Vec<Shape> = args.iter().map(|arg| shape_of(arg, program)).collect();
            prim.result(&shapes)
        }
        Expr::Call(id, _, _) => program.functions[*id].result.clone(),
        Expr::Each(each) => Shape::seq(shape_of(&each.body, program)),
        Expr::Sequence(_, shape) => Shape::seq(shape.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Function, Pattern};
    use super::*;
    use std::rc::Rc;

    fn function(body: Expr) -> Function {
        Function {
            name: "f".into(),
            params: vec![0],
            result: Shape::Int,
            body: Rc::new(body),
            file: String::new(),
            line: 1,
        }
    }

    #[test]
    fn bound_variables_are_not_free() {
        let body = Expr::Let(Pattern::Var(1), Rc::new(Expr::Var(0)), Rc::new(Expr::Var(1)));
        assert_eq!(free_variables(&body), BTreeSet::from([0]));
    }

    #[test]
    fn mutual_recursion_is_recursion() {
        let program = Program {
            functions: vec![
                function(Expr::Call(1, vec![Expr::Var(0)], 0)),
                function(Expr::Call(0, vec![Expr::Var(0)], 0)),
                function(Expr::Call(0, vec![Expr::Var(0)], 0)),
            ],
            ..Program::default()
        };
        let facts = facts(&program);
        assert!(facts[0].recursive && facts[1].recursive && !facts[2].recursive);
        assert!(!facts[2].total);
    }
}
