// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls: of functions, of what the run-time provides, and top-level names used as values.

use hadal_front::typed::{Expr, ExprKind, GlobalId, GlobalKind, Pattern, PatternKind};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, Span};

use crate::ctype::{cpp, is_scalar};
use crate::each::LONGEST_ARRAY;
use crate::primitive::{How, how};
use crate::writer::{Writer, bare};

impl<'a> Writer<'_, 'a> {
    /// A primitive that is called: how it is written, and its number of arguments.
    pub(crate) fn primitive(&self, function: &Expr) -> Option<(How, usize)> {
        let ExprKind::Global(id, instance) = &function.kind else { return None };
        let global = self.unit.global(*id);
        if global.kind != GlobalKind::Primitive { None } else { how(&global.name, instance.first()) }
    }

    /// Whether the value is an element of a sequence, which can be pointed to.
    pub(crate) fn is_element(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Call(function, _)
            if matches!(self.primitive(function), Some((How::Index, _))))
    }

    /// A top-level name.
    pub(crate) fn global_value(&mut self, id: GlobalId, instance: &[Type], expr: &Expr) -> String {
        if let Some(name) = self.unit.values.get(&id) {
            return name.clone();
        }
        let global = self.unit.global(id);
        if let (GlobalKind::Primitive, Some((How::Value(text), 0))) =
            (&global.kind, how(&global.name, instance.first()))
        {
            return text.into();
        }
        self.refuse(
            &format!("`{}` is a function, which is no value in NDPC", global.name),
            expr.span,
            "call it; or write out what it is passed to for this function",
        )
    }

    /// A call as an expression.
    pub(crate) fn call_value(&mut self, expr: &Expr, function: &Expr, argument: &Expr) -> String {
        if let Some(code) = self.with_literal(function, argument) {
            return code;
        }
        match self.primitive(function) {
            Some((How::Value(text), count)) => {
                let arguments = self.arguments(argument, count);
                fill(text, &arguments)
            }
            Some((How::Slow(text), count)) => {
                self.block.heavy = true;
                let arguments = self.arguments(argument, count);
                fill(text, &arguments)
            }
            Some((How::Index, _)) if !is_scalar(&expr.ty) => {
                let arguments = self.arguments(argument, 2);
                let site = self.site(expr.span);
                let place = self.names.fresh("element");
                self.line(format!("{} const *{place} = nullptr;", cpp(&expr.ty)));
                self.try_line(&format!("ndpc::element({place}, {}, {site})", join(&arguments)));
                format!("(*{place})")
            }
            _ => {
                let name = self.temporary(&expr.ty);
                self.call_into(expr, function, argument, &name);
                name
            }
        }
    }

    /// What is simpler with a literal: its negation, and a division that cannot fail.
    fn with_literal(&mut self, function: &Expr, argument: &Expr) -> Option<String> {
        match literal_form(self.primitive(function), argument)? {
            Literal::Negated(number) => Some(number),
            Literal::Divisor(operator, number) => {
                let ExprKind::Pair(dividend, _) = &argument.kind else { return None };
                let dividend = self.value(dividend);
                Some(match operator {
                    "mod" => format!("ndpc::modulo({}, {number})", bare(&dividend)),
                    _ => format!("({dividend} {operator} {number})"),
                })
            }
        }
    }

    /// Writes a call whose result goes to `place`; false: it is an expression.
    pub(crate) fn call_into(&mut self, expr: &Expr, function: &Expr, argument: &Expr, place: &str) -> bool {
        if literal_form(self.primitive(function), argument).is_some() {
            return false;
        }
        let Some((how, count)) = self.primitive(function) else {
            self.call_function(expr, function, argument, place);
            return true;
        };
        match how {
            How::Value(_) | How::Slow(_) => return false,
            How::Index if !is_scalar(&expr.ty) => return false,
            How::Index => {
                let arguments = self.arguments(argument, 2);
                let site = self.site(expr.span);
                self.try_line(&format!("ndpc::element({place}, {}, {site})", join(&arguments)));
            }
            How::Checked(name) => {
                let arguments = self.arguments(argument, count);
                let site = self.site(expr.span);
                self.try_line(&format!("ndpc::{name}({place}, {}, {site})", join(&arguments)));
            }
            How::Sequence("scatter") => self.scatter_into(expr, argument, place),
            How::Sequence(name) => {
                let arguments = self.arguments(argument, count);
                let site = self.site(expr.span);
                self.block.heavy = true;
                self.try_line(&format!("ndpc::{name}({place}, {}, {site})", join(&arguments)));
            }
            How::Scan(operator) => {
                let arguments = self.arguments(argument, 1);
                let site = self.site(expr.span);
                let element = element_type(&expr.ty);
                self.block.heavy = true;
                self.try_line(&format!(
                    "ndpc::scan<ndpc::{operator}<{element}>>({place}, {}, {site})",
                    join(&arguments)
                ));
            }
            How::Append => {
                let mut parts = Vec::new();
                self.appended(expr, &mut parts);
                let site = self.site(expr.span);
                self.block.heavy = true;
                self.try_line(&format!("ndpc::append({place}, {site}, {})", join(&parts)));
            }
            How::Reduce(_) | How::Count => self.reduce_into(expr, how, argument, place),
        }
        true
    }

    /// The operands of `a ++ b ++ c`.
    fn appended(&mut self, expr: &Expr, parts: &mut Vec<String>) {
        if let ExprKind::Call(function, argument) = &expr.kind
            && let ExprKind::Pair(a, b) = &argument.kind
            && matches!(self.primitive(function), Some((How::Append, _)))
        {
            self.appended(a, parts);
            self.appended(b, parts);
            return;
        }
        // What is copied at once needs no sequence of its own.
        let part = match &expr.kind {
            ExprKind::Sequence(elements) if is_scalar(&elements[0].ty) && elements.len() <= LONGEST_ARRAY => {
                let array = self.array(elements);
                format!("ndpc::constant({array}, {})", elements.len())
            }
            _ => self.value(expr),
        };
        parts.push(part);
    }

    fn call_function(&mut self, expr: &Expr, function: &Expr, argument: &Expr, place: &str) {
        let (id, types) = match &function.kind {
            ExprKind::Global(id, types) if !self.unit.values.contains_key(id) => (id, types),
            _ => {
                // Where the function comes from is refused as well, which says more.
                let message = "NDPC calls only functions that are defined at top level";
                self.unit.errors.push(Diagnostic::error(message, function.span, "").as_consequence());
                return;
            }
        };
        if let GlobalKind::Constructor(_) = self.unit.global(*id).kind {
            self.refuse("NDPC has no datatypes", function.span, "use a tuple");
            return;
        }
        let Some(instance) = self.unit.instance(*id, types, expr.span) else { return };
        let count = parameters(&self.unit.functions[id].pattern).len();
        let arguments = self.arguments(argument, count);
        if let Some(caller) = self.instance {
            let caller = &mut self.unit.instances[caller];
            caller.calls.insert(instance);
            if self.loops == 0 {
                caller.direct_calls.insert(instance);
            }
        }
        self.block.heavy = true;
        self.mark(expr.span);
        let name = self.unit.instances[instance].name.clone();
        let mode = if self.unit.takes_mode(instance) { "mode, " } else { "" };
        self.block.fails = true;
        self.line(format!("{place} = {name}({mode}{});", join(&arguments)));
    }

    /// The components of an argument.
    pub(crate) fn arguments(&mut self, argument: &Expr, count: usize) -> Vec<String> {
        if count < 2 {
            return vec![self.value(argument)];
        }
        match &argument.kind {
            ExprKind::Pair(first, rest) => {
                let mut all = vec![self.value(first)];
                all.extend(self.arguments(rest, count - 1));
                all
            }
            _ => {
                let mut place = self.value(argument);
                let mut all = Vec::new();
                for _ in 1..count {
                    all.push(format!("{place}.first"));
                    place.push_str(".second");
                }
                all.push(place);
                all
            }
        }
    }

    pub(crate) fn check_type(&mut self, ty: &Type, span: Span) {
        if ty.has_function() {
            self.refuse(
                "NDPC has no functions as values",
                span,
                "define a function at top level for each use, and call it",
            );
        } else if has_data(ty) {
            self.refuse("NDPC has no datatypes", span, "use a tuple");
        }
    }
}

/// Calls that are simpler with a literal.
enum Literal {
    Negated(String),
    /// The operator and the divisor, which is neither 0 nor -1.
    Divisor(&'static str, String),
}

fn literal_form(primitive: Option<(How, usize)>, argument: &Expr) -> Option<Literal> {
    match (primitive?.0, &argument.kind) {
        (How::Value("ndpc::negate({0})"), ExprKind::Int(number)) if *number > 0 => {
            Some(Literal::Negated(format!("-{number}")))
        }
        (How::Value("ndpc::negate({0})"), ExprKind::Float(number)) if *number > 0.0 && number.is_finite() => {
            Some(Literal::Negated(format!("-{number:?}")))
        }
        (How::Checked(name), ExprKind::Pair(_, divisor)) => {
            let number = match divisor.kind {
                ExprKind::Int(number) if number > 0 => number.to_string(),
                ExprKind::Float(number) if number > 0.0 && number.is_finite() => format!("{number:?}"),
                _ => return None,
            };
            match name {
                "divide" => Some(Literal::Divisor("/", number)),
                "rem" => Some(Literal::Divisor("%", number)),
                "mod" => Some(Literal::Divisor("mod", number)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The parameters of a function: a tuple of patterns is one for each.
pub(crate) fn parameters(pattern: &Pattern) -> Vec<&Pattern> {
    match &pattern.kind {
        PatternKind::Pair(first, rest) => {
            let mut all = vec![&**first];
            all.extend(parameters(rest));
            all
        }
        _ => vec![pattern],
    }
}

/// The C++ type of a sequence's elements.
pub(crate) fn element_type(ty: &Type) -> String {
    match ty {
        Type::Seq(element) => cpp(element),
        other => cpp(other),
    }
}

fn has_data(ty: &Type) -> bool {
    matches!(ty, Type::Data(..)) || ty.parts().into_iter().any(has_data)
}

pub(crate) fn join(arguments: &[String]) -> String {
    arguments.iter().map(|argument| bare(argument)).collect::<Vec<_>>().join(", ")
}

/// The text with its arguments. Where it is a call its arguments need no parentheses of their own.
fn fill(text: &str, arguments: &[String]) -> String {
    let is_call = text.ends_with(')') && !text.starts_with('(');
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        let index = usize::from(rest.as_bytes()[at + 1] - b'0');
        let argument = arguments.get(index).map_or("", String::as_str);
        filled.push_str(if is_call { bare(argument) } else { argument });
        rest = &rest[at + 3..];
    }
    filled + rest
}
