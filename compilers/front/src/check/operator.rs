// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operators, indexing and ranges: calls of globals with messages of their own.

use super::Inference;
use super::unify::{Conflict, Reason};
use crate::ast::{self, BinaryOp, PrefixOp};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::{Class, Type};

impl Inference<'_> {
    /// The function of an operator, with the types of its argument and result.
    fn operator(&mut self, name: &str, place: Span) -> Option<(Expr, Type, Type)> {
        if let Some((own, id, ty)) = &self.own
            && &**own == name
            && let Type::Function(argument, result) = ty
        {
            let (argument, result) = ((**argument).clone(), (**result).clone());
            let kind = ExprKind::Global(*id, [].into());
            return Some((Expr { kind, ty: ty.clone(), span: place }, argument, result));
        }
        if let Some(global) = self.environment.lookup(name) {
            let (id, scheme) = (global.id, global.scheme.clone());
            let function = self.use_global(id, &scheme, place);
            if let Type::Function(argument, result) = &function.ty {
                let (argument, result) = ((**argument).clone(), (**result).clone());
                return Some((function, argument, result));
            }
        }
        let message = format!("the library has no definition of `{name}`");
        self.report(Diagnostic::error(message, place, "this operation is not available"));
        None
    }

    /// The value of an operation whose operands do not fit: of the operation's type, if that is known anyway.
    pub(super) fn after_error(&mut self, result: &Type, span: Span) -> Expr {
        let known = self.unifier.zonk(result);
        match known.is_closed() {
            true => Expr { kind: ExprKind::Empty, ty: known, span },
            false => self.unknown(span),
        }
    }

    fn finish_operator(&mut self, function: Expr, argument: Expr, result: Type, span: Span) -> Expr {
        if self.check_size(&result, span) {
            return self.unknown(span);
        }
        Expr { kind: ExprKind::Call(function.into(), argument.into()), ty: result, span }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        place: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Expr {
        let (l, r) = (self.infer(left), self.infer(right));
        let Some((function, argument, result)) = self.operator(op.symbol(), place) else {
            return self.unknown(span);
        };
        let Type::Pair(first, second) = &argument else { return self.unknown(span) };
        if self.unifier.has_error(&l.ty) || self.unifier.has_error(&r.ty) {
            let _ = self.unifier.unify(&argument, &Type::pair(l.ty.clone(), r.ty.clone()), span);
            return self.after_error(&result, span);
        }
        let operands = Operands { op, place, left, right, left_type: &l.ty, right_type: &r.ty };
        if let Err(conflict) = self.unifier.unify(first, &l.ty, left.span) {
            let diagnostic = self.left_operand(&operands, first, &conflict);
            self.report(diagnostic);
            return self.after_error(&result, span);
        } else if let Err(conflict) = self.unifier.unify(second, &r.ty, right.span) {
            let diagnostic = match first == second {
                true => self.different_operands(&operands, &conflict),
                false => self.right_operand(&operands, second, &conflict),
            };
            self.report(diagnostic);
            // Which of the two types was meant is not known.
            return if **first == result { self.unknown(span) } else { self.after_error(&result, span) };
        }
        let pair = Type::pair(l.ty.clone(), r.ty.clone());
        let pair =
            Expr { kind: ExprKind::Pair(l.into(), r.into()), ty: pair, span: left.span.to(right.span) };
        self.finish_operator(function, pair, result, span)
    }

    /// Whether a type is unknown.
    fn is_open(&self, ty: &Type) -> bool {
        matches!(self.unifier.resolve(ty), Type::Var(_))
    }

    fn left_operand(&self, operands: &Operands<'_>, expected: &Type, conflict: &Conflict) -> Diagnostic {
        let Operands { op, left, left_type, .. } = operands;
        let symbol = op.symbol();
        let diagnostic = match conflict.reason {
            Reason::Class(class) if self.is_open(&conflict.left) => {
                self.class_error(operands, class, conflict, true)
            }
            _ => self.mismatch(left.span, expected, left_type, conflict, |wanted, got| {
                format!("the left side of `{symbol}` must be {wanted}, but is {got}")
            }),
        };
        let diagnostic = self.explain_variable(diagnostic, left, left_type);
        self.advise(diagnostic, operands, left_type)
    }

    fn right_operand(&self, operands: &Operands<'_>, expected: &Type, conflict: &Conflict) -> Diagnostic {
        let Operands { op, left, right, left_type, right_type, .. } = operands;
        let symbol = op.symbol();
        let mut diagnostic = match conflict.reason {
            Reason::Class(class) if self.is_open(&conflict.left) => {
                self.class_error(operands, class, conflict, false)
            }
            _ => {
                let shown = self.show(left_type);
                self.mismatch(right.span, expected, right_type, conflict, |wanted, got| {
                    format!("the right side of `{symbol}` must be {wanted}, but is {got}")
                })
                .label(left.span, format!("this is {shown}"))
            }
        };
        diagnostic = self.explain_variable(diagnostic, right, right_type);
        diagnostic = self.advise(diagnostic, operands, right_type);
        match op {
            BinaryOp::Power => diagnostic,
            _ => self.suggest_conversion(diagnostic, (expected, right_type), None, Some(right)),
        }
    }

    /// An operand is not in the class that the operator works on.
    fn class_error(
        &self,
        operands: &Operands<'_>,
        class: Class,
        conflict: &Conflict,
        is_left: bool,
    ) -> Diagnostic {
        let Operands { op, place, left, right, left_type, right_type } = operands;
        let (operand, ty) = if is_left { (left, left_type) } else { (right, right_type) };
        let shown = self.show(ty);
        let message = format!("`{}` takes {}, but this is {shown}", op.symbol(), class.members());
        let diagnostic = Diagnostic::error(message, operand.span, format!("this is {shown}"))
            .label(*place, format!("takes {}", class.members()));
        self.explain(diagnostic, conflict)
    }

    /// The operands must have one type, but have two.
    fn different_operands(&self, operands: &Operands<'_>, conflict: &Conflict) -> Diagnostic {
        let Operands { op, left, right, left_type, right_type, .. } = operands;
        if let Reason::Class(class) = conflict.reason
            && self.is_open(&conflict.left)
        {
            let diagnostic = self.class_error(operands, class, conflict, false);
            let diagnostic = self.explain_variable(diagnostic, right, right_type);
            return self.advise(diagnostic, operands, right_type);
        }
        let (first, second) = (self.show(left_type), self.show(right_type));
        let symbol = op.symbol();
        let message = format!("both sides of `{symbol}` must have one type, but are {first} and {second}");
        let mut diagnostic = Diagnostic::error(message, right.span, format!("this is {second}"))
            .label(left.span, format!("this is {first}"));
        diagnostic = self.explain_variable(diagnostic, left, left_type);
        diagnostic = self.explain_variable(diagnostic, right, right_type);
        diagnostic = self.explain(diagnostic, conflict);
        diagnostic = self.suggest_conversion(diagnostic, (left_type, right_type), Some(left), Some(right));
        diagnostic = self.advise(diagnostic, operands, right_type);
        match self.classes() {
            Some(classes) => diagnostic.note(classes),
            None => diagnostic,
        }
    }

    /// What was probably meant, by operator and type of the operand that does not fit.
    fn advise(&self, diagnostic: Diagnostic, operands: &Operands<'_>, ty: &Type) -> Diagnostic {
        let Operands { op, place, left, right, left_type, right_type } = operands;
        let ty = self.unifier.resolve(ty);
        let before = Span { end: left.span.start, ..left.span };
        let between = Span { start: left.span.end, end: right.span.start, ..left.span };
        match op {
            BinaryOp::Equal | BinaryOp::NotEqual
                if !Class::Ordinal.has(&ty) && !matches!(ty, Type::Function(..)) =>
            {
                let (open, close) = match op {
                    BinaryOp::Equal => ("eql(", ")"),
                    _ => ("not(eql(", "))"),
                };
                diagnostic.suggest(
                    "values of any other type are compared with `eql`",
                    vec![(before, open.into()), (between, ", ".into()), (right.span.after(), close.into())],
                )
            }
            BinaryOp::Add if matches!(ty, Type::Seq(_)) => {
                diagnostic.suggest("`++` appends sequences", vec![(*place, "++".into())])
            }
            BinaryOp::Append => {
                let is_element = match self.unifier.resolve(left_type) {
                    Type::Seq(element) => {
                        let (element, right) = (self.unifier.zonk(&element), self.unifier.zonk(right_type));
                        element == right || matches!(element, Type::Var(_)) || matches!(right, Type::Var(_))
                    }
                    _ => false,
                };
                match is_element {
                    true => diagnostic.suggest(
                        "`++` appends two sequences; a sequence of one element is written in brackets",
                        vec![
                            (Span { end: right.span.start, ..right.span }, "[".into()),
                            (right.span.after(), "]".into()),
                        ],
                    ),
                    false => diagnostic,
                }
            }
            BinaryOp::Pad if ty == Type::Bool => diagnostic.suggest(
                "`||` pads a string; the disjunction of conditions is `or`",
                vec![(*place, "or".into())],
            ),
            BinaryOp::Write if Class::Ordinal.has(&self.unifier.resolve(left_type)) => diagnostic.suggest(
                "`<-` is one operator; to compare with a negative number, write a blank between",
                vec![(*place, "< -".into())],
            ),
            BinaryOp::Power if self.unifier.resolve(right_type) == Type::Float => {
                diagnostic.help("`expt(x, y)` raises a float to a float power")
            }
            _ => diagnostic,
        }
    }

    pub(super) fn prefix(&mut self, op: PrefixOp, place: Span, operand: &ast::Expr, span: Span) -> Expr {
        // The smallest int has no positive counterpart.
        if let (PrefixOp::Negate, ast::ExprKind::Int(value)) = (op, &operand.kind)
            && *value == 1 << 31
        {
            return self.int(-*value, span);
        }
        let typed = self.infer(operand);
        let Some((function, argument, result)) = self.operator(op.function(), place) else {
            return self.unknown(span);
        };
        if self.unifier.has_error(&typed.ty) {
            return self.after_error(&result, span);
        }
        if let Err(conflict) = self.unifier.unify(&argument, &typed.ty, operand.span) {
            let diagnostic =
                self.mismatch(operand.span, &argument, &typed.ty, &conflict, |wanted, got| match op {
                    PrefixOp::Length => format!("`#` takes a sequence, but this is {got}"),
                    _ => format!("`{}` takes {wanted}, but this is {got}", op.symbol()),
                });
            let mut diagnostic = self.explain_variable(diagnostic, operand, &typed.ty);
            if op == PrefixOp::Negate && self.unifier.resolve(&typed.ty) == Type::Bool {
                diagnostic =
                    diagnostic.suggest("the negation of a condition is `not`", vec![(place, "not ".into())]);
            }
            self.report(diagnostic);
            return self.after_error(&result, span);
        }
        self.finish_operator(function, typed, result, span)
    }

    pub(super) fn index(&mut self, sequence: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let (s, i) = (self.infer(sequence), self.infer(index));
        let Some((function, argument, result)) = self.operator("[]", span) else { return self.unknown(span) };
        let Type::Pair(first, second) = &argument else { return self.unknown(span) };
        if let Err(conflict) = self.unifier.unify(first, &s.ty, sequence.span) {
            let got = self.show(&s.ty);
            let message = format!("only a sequence can be indexed, but this is {got}");
            let mut diagnostic = Diagnostic::error(message, sequence.span, format!("this is {got}"));
            diagnostic = self.explain_variable(diagnostic, sequence, &conflict.right);
            if matches!(self.unifier.resolve(&s.ty), Type::Function(..)) {
                let before = Span { start: sequence.span.end, end: sequence.span.end, ..span };
                diagnostic = diagnostic.suggest(
                    "to call the function with a sequence, put it in parentheses",
                    vec![(before, "(".into()), (span.after(), ")".into())],
                );
            }
            self.report(diagnostic);
            return self.after_error(&result, span);
        }
        if let Err(conflict) = self.unifier.unify(second, &i.ty, index.span) {
            let diagnostic = self.mismatch(index.span, second, &i.ty, &conflict, |wanted, got| {
                format!("an index must be {wanted}, but is {got}")
            });
            let mut diagnostic = self.explain_variable(diagnostic, index, &i.ty);
            if matches!(self.unifier.resolve(&i.ty), Type::Seq(_)) {
                diagnostic = diagnostic.help("`s -> is` reads the elements at all places of a sequence");
            }
            self.report(diagnostic);
            return self.after_error(&result, span);
        }
        let pair = Type::pair(s.ty.clone(), i.ty.clone());
        let pair = Expr { kind: ExprKind::Pair(s.into(), i.into()), ty: pair, span };
        self.finish_operator(function, pair, result, span)
    }

    pub(super) fn range(
        &mut self,
        start: &ast::Expr,
        end: &ast::Expr,
        stride: Option<&ast::Expr>,
        span: Span,
    ) -> Expr {
        let mut parts = Vec::new();
        for (expr, what) in [(Some(start), "start"), (Some(end), "end"), (stride, "stride")] {
            let Some(expr) = expr else { continue };
            let typed = self.infer(expr);
            if let Err(conflict) = self.unifier.unify(&Type::Int, &typed.ty, expr.span) {
                let diagnostic = self.mismatch(expr.span, &Type::Int, &typed.ty, &conflict, |_, got| {
                    format!("the {what} of a range must be `int`, but is {got}")
                });
                let diagnostic = self.explain_variable(diagnostic, expr, &typed.ty);
                self.report(diagnostic);
            }
            parts.push(typed);
        }
        let Some((function, argument, result)) = self.operator("[:]", span) else {
            return self.unknown(span);
        };
        let one = Expr { kind: ExprKind::Int(1), ty: Type::Int, span: span.after() };
        let stride = if parts.len() == 3 { parts.pop().unwrap_or(one) } else { one };
        let (Some(end), Some(start)) = (parts.pop(), parts.pop()) else { return self.unknown(span) };
        let pair = |a: Expr, b: Expr| {
            let ty = Type::pair(a.ty.clone(), b.ty.clone());
            Expr { kind: ExprKind::Pair(a.into(), b.into()), ty, span }
        };
        let triple = pair(start, pair(end, stride));
        // The parts are ints; the library's range takes three of them.
        let _ = self.unifier.unify(&argument, &triple.ty, span);
        self.finish_operator(function, triple, result, span)
    }
}

/// What a message about an operator needs.
struct Operands<'a> {
    op: BinaryOp,
    place: Span,
    left: &'a ast::Expr,
    right: &'a ast::Expr,
    left_type: &'a Type,
    right_type: &'a Type,
}
