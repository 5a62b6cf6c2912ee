// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expressions. What can fail or needs room goes into a temporary by a statement of its own; the rest stays an
//! expression. Values never change, so that the order in which the latter are evaluated does not matter.

use hadal_front::Span;
use hadal_front::typed::{Expr, ExprKind, Pattern, PatternKind};
use hadal_front::types::Type;

use crate::ctype::{cpp, declare, is_scalar};
use crate::writer::{Writer, bare, quoted};

/// So many constant elements are written as a table.
const TABLE_FROM: usize = 4;

impl Writer<'_, '_> {
    /// The value as an expression of C++ that cannot fail; what is not a scalar is a place.
    pub(crate) fn value(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Int(value) => match *value {
                i32::MIN => "(-2147483647 - 1)".into(),
                value => value.to_string(),
            },
            ExprKind::Float(value) => float_literal(*value),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Char(value) => char_literal(*value),
            ExprKind::Local(id) => match self.places.get(id) {
                Some(place) => place.clone(),
                None => self.refuse("a variable that is not known here", expr.span, "name it in the pattern"),
            },
            ExprKind::Global(id, instance) => self.global_value(*id, instance, expr),
            ExprKind::Let(bindings, body) => {
                for (pattern, value) in bindings {
                    self.bind(pattern, value);
                }
                self.value(body)
            }
            ExprKind::If(condition, yes, no) => self.if_value(expr, condition, yes, no),
            ExprKind::Call(function, argument) => self.call_value(expr, function, argument),
            _ => self.in_temporary(expr),
        }
    }

    fn in_temporary(&mut self, expr: &Expr) -> String {
        let name = self.temporary(&expr.ty);
        self.write_into(expr, &name);
        name
    }

    /// Writes statements that give `place` the value.
    pub(crate) fn write_into(&mut self, expr: &Expr, place: &str) {
        match &expr.kind {
            ExprKind::Let(bindings, body) => {
                for (pattern, value) in bindings {
                    self.bind(pattern, value);
                }
                self.write_into(body, place);
            }
            ExprKind::If(condition, yes, no) => {
                let condition = self.value(condition);
                let ((), yes) = self.apart(|writer| writer.write_into(yes, place));
                let ((), no) = self.apart(|writer| writer.write_into(no, place));
                self.nest(&format!("if ({}) {{", bare(&condition)), yes, "");
                self.nest("} else {", no, "}");
            }
            ExprKind::Pair(first, second) => {
                self.write_into(first, &format!("{place}.first"));
                self.write_into(second, &format!("{place}.second"));
            }
            ExprKind::String(bytes) => {
                self.line(format!("{place} = ndpc::constant({}, {});", quoted(bytes), bytes.len()));
            }
            ExprKind::Empty => self.line(format!("{place} = {}();", cpp(&expr.ty))),
            ExprKind::Sequence(elements) => self.literal(elements, place, &expr.ty, expr.span),
            ExprKind::ApplyToEach(each) => self.each_into(each, expr, place),
            ExprKind::Time(body) => {
                let before = self.names.fresh("before");
                self.line(format!("double const {before} = ndpc::seconds();"));
                self.block.heavy = true;
                self.write_into(body, &format!("{place}.first"));
                self.line(format!("{place}.second = ndpc::seconds() - {before};"));
            }
            ExprKind::Call(function, argument) if self.call_into(expr, function, argument, place) => {}
            ExprKind::Lambda(..) => {
                self.refuse(
                    "NDPC has no functions without a name",
                    expr.span,
                    "define a function at top level and call it",
                );
            }
            _ => {
                let value = self.value(expr);
                self.line(format!("{place} = {};", bare(&value)));
            }
        }
    }

    fn if_value(&mut self, expr: &Expr, condition: &Expr, yes: &Expr, no: &Expr) -> String {
        let condition = self.value(condition);
        let (yes, mut yes_block) = self.apart(|writer| writer.value(yes));
        let (no, mut no_block) = self.apart(|writer| writer.value(no));
        if is_scalar(&expr.ty) && yes_block.lines.is_empty() && no_block.lines.is_empty() {
            return format!("({condition} ? {yes} : {no})");
        }
        let name = self.temporary(&expr.ty);
        yes_block.lines.push(format!("{name} = {};", bare(&yes)));
        no_block.lines.push(format!("{name} = {};", bare(&no)));
        self.nest(&format!("if ({}) {{", bare(&condition)), yes_block, "");
        self.nest("} else {", no_block, "}");
        name
    }

    /// `[a, b, c]`
    fn literal(&mut self, elements: &[Expr], place: &str, ty: &Type, span: Span) {
        let Type::Seq(element_type) = ty else { return };
        let is_constant = |element: &Expr| {
            matches!(
                element.kind,
                ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_)
            )
        };
        let is_table = elements.len() >= TABLE_FROM && elements.iter().all(is_constant);
        let codes: Vec<String> = elements.iter().map(|element| self.value(element)).collect();
        if is_table {
            let table = self.names.fresh("table");
            self.line(format!("static {} const {table}[] = {{{}}};", cpp(element_type), codes.join(", ")));
            self.line(format!("{place} = ndpc::constant({table}, {});", codes.len()));
            return;
        }
        self.block.heavy = true;
        let site = self.site(span);
        let codes: Vec<&str> = codes.iter().map(|code| bare(code)).collect();
        self.try_line(&format!("ndpc::literal({place}, {site}, {})", codes.join(", ")));
    }

    /// `pattern = value` of a `let`.
    pub(crate) fn bind(&mut self, pattern: &Pattern, value: &Expr) {
        match (&pattern.kind, &value.kind) {
            (PatternKind::Pair(first, second), ExprKind::Pair(a, b)) => {
                self.bind(first, a);
                self.bind(second, b);
            }
            (PatternKind::Pair(..), ExprKind::If(condition, yes, no)) if is_choice(pattern, yes, no) => {
                self.mark(pattern.span);
                let code = self.value(condition);
                let chosen = self.names.fresh("chosen");
                self.line(format!("bool const {chosen} = {};", bare(&code)));
                self.choose(pattern, &chosen, yes, no);
            }
            (PatternKind::Bind(id, name), _) => {
                self.mark(pattern.span);
                let is_place = matches!(value.kind, ExprKind::Local(_) | ExprKind::Global(..));
                if is_place || !self.is_used(*id) {
                    let code = self.value(value);
                    self.places.insert(*id, code);
                } else if is_scalar(&pattern.ty) {
                    let code = self.value(value);
                    let name = self.names.fresh(name);
                    self.constant_line(&pattern.ty, &name, &code);
                    self.places.insert(*id, name);
                } else if self.is_element(value) {
                    let code = self.value(value);
                    let name = self.names.fresh(name);
                    self.line(format!("{} const &{name} = {};", cpp(&pattern.ty), bare(&code)));
                    self.places.insert(*id, name);
                } else {
                    let name = self.names.fresh(name);
                    self.line(declare(&pattern.ty, &name));
                    self.write_into(value, &name);
                    self.places.insert(*id, name);
                }
            }
            _ => {
                self.mark(pattern.span);
                let place = self.value(value);
                self.destructure(pattern, &place);
            }
        }
    }

    /// Names for one or the other of variables that are there already: no copies (`is_choice`).
    fn choose(&mut self, pattern: &Pattern, chosen: &str, yes: &Expr, no: &Expr) {
        match (&pattern.kind, &yes.kind, &no.kind) {
            (PatternKind::Pair(first, second), ExprKind::Pair(a, b), ExprKind::Pair(c, d)) => {
                self.choose(first, chosen, a, c);
                self.choose(second, chosen, b, d);
            }
            (PatternKind::Bind(id, name), ..) if self.is_used(*id) => {
                let code = format!("{chosen} ? {} : {}", self.value(yes), self.value(no));
                let name = self.names.fresh(name);
                if is_scalar(&pattern.ty) {
                    self.constant_line(&pattern.ty, &name, &code);
                } else {
                    self.line(format!("{} const &{name} = {code};", cpp(&pattern.ty)));
                }
                self.places.insert(*id, name);
            }
            _ => {}
        }
    }

    /// Names for the parts of what is at `place`, one in each statement.
    pub(crate) fn destructure(&mut self, pattern: &Pattern, place: &str) {
        match &pattern.kind {
            PatternKind::Bind(id, name) => {
                if self.is_used(*id) {
                    let name = self.names.fresh(name);
                    if is_scalar(&pattern.ty) {
                        self.constant_line(&pattern.ty, &name, place);
                    } else {
                        self.line(format!("{} const &{name} = {};", cpp(&pattern.ty), bare(place)));
                    }
                    self.places.insert(*id, name);
                }
            }
            PatternKind::Pair(first, second) => {
                self.destructure(first, &format!("{place}.first"));
                self.destructure(second, &format!("{place}.second"));
            }
            PatternKind::Data(..) => {
                self.refuse("NDPC has no datatypes", pattern.span, "use a tuple");
            }
        }
    }
}

fn float_literal(value: f64) -> String {
    if value.is_finite() { format!("{value:?}") } else { "__builtin_inf()".into() }
}

fn char_literal(value: u8) -> String {
    match value {
        b'\'' => "'\\''".into(),
        b'\\' => "'\\\\'".into(),
        b'\n' => "'\\n'".into(),
        b'\t' => "'\\t'".into(),
        b' '..=b'~' => format!("'{}'", char::from(value)),
        _ => format!("static_cast<char>({value})"),
    }
}

/// Whether a pattern names parts of one of two tuples of variables.
fn is_choice(pattern: &Pattern, yes: &Expr, no: &Expr) -> bool {
    match (&pattern.kind, &yes.kind, &no.kind) {
        (PatternKind::Pair(first, second), ExprKind::Pair(a, b), ExprKind::Pair(c, d)) => {
            is_choice(first, a, c) && is_choice(second, b, d)
        }
        (PatternKind::Bind(..), ExprKind::Local(_), ExprKind::Local(_)) => true,
        _ => false,
    }
}
