// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Top-level forms other than functions, generalisation, and what becomes known.

use std::sync::Arc;

use super::{Checked, Inference, Local};
use crate::ast::{self, FormKind, Ident, Name, TypeDef};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{Command, Expr, Form, Global, GlobalId, GlobalKind, Pattern, PatternKind, Value};
use crate::types::{Class, Datatype, Scheme, Type};

impl Inference<'_> {
    /// Checks a form. None, if there is nothing sensible to return; errors are reported.
    pub(super) fn form(&mut self, form: &ast::Form) -> Option<Checked> {
        match &form.kind {
            FormKind::Function { name, pattern, declared, text, body } => {
                self.function(form.span, name, pattern, declared.as_ref(), text.clone(), body)
            }
            FormKind::Forward { name, pattern, declared } => self.forward(name, pattern, declared),
            FormKind::Primitive { name, declared } => {
                let scheme = self.declared(declared);
                Some(self.declaration(name, GlobalKind::Primitive, scheme))
            }
            FormKind::Datatype { name, content } => self.datatype(name, content),
            FormKind::Declare { name, declared } => {
                let ty = self.written_type(declared);
                Some(Checked::new(Form::Declare).declaring(name.name.clone(), ty))
            }
            FormKind::Assign { pattern, value } => {
                let (value, globals) = self.value(Some(pattern), value, form.span);
                Some(Checked { globals, ..Checked::new(Form::Value(value)) })
            }
            FormKind::Expression(value) => {
                let (value, globals) = self.value(None, value, form.span);
                Some(Checked { globals, ..Checked::new(Form::Value(value)) })
            }
            FormKind::Command(command) => Some(self.command(command, form.span)),
        }
    }

    fn command(&mut self, command: &ast::Command, span: Span) -> Checked {
        let mut bind = |name: &Ident, value: &ast::Expr| {
            let pattern = ast::Pattern { kind: ast::PatternKind::Name(name.name.clone()), span: name.span };
            self.value(Some(&pattern), value, span)
        };
        let (command, globals) = match command {
            ast::Command::DumpVcode(file, value) => {
                let (mut value, _) = self.value(None, value, span);
                value.globals.clear();
                (Command::DumpVcode(file.clone(), value), Vec::new())
            }
            ast::Command::FileVariable(name, value) => {
                let (value, globals) = bind(name, value);
                (Command::FileVariable(value), globals)
            }
            ast::Command::Background(name, value) => {
                let (value, globals) = bind(name, value);
                (Command::Background(value), globals)
            }
            other => (Command::Other(other.clone()), Vec::new()),
        };
        Checked { globals, ..Checked::new(Form::Command(command)) }
    }

    /// A declared type, whose variables stand for themselves from here on.
    fn declared(&mut self, definition: &TypeDef) -> Scheme {
        self.unifier.rigid = self.variables(definition);
        let ty = self.written_type(&definition.body);
        Scheme { params: self.unifier.rigid.iter().map(|(_, class)| *class).collect(), ty }
    }

    /// A declared type of a function, in two parts.
    pub(super) fn declared_function(&mut self, definition: &TypeDef) -> (Scheme, Option<(Type, Type)>) {
        let scheme = self.declared(definition);
        let parts = match &scheme.ty {
            Type::Function(argument, result) => Some(((**argument).clone(), (**result).clone())),
            _ => {
                let diagnostic = Diagnostic::error(
                    "the declared type of a function must have an arrow",
                    definition.span,
                    "expected `argument -> result`",
                );
                let diagnostic = match last_arrow(&definition.body) {
                    Some(arguments) => diagnostic.note("`->` binds tighter than the comma").suggest(
                        "put the types of the arguments in parentheses",
                        vec![
                            (Span { end: arguments.start, ..arguments }, "(".into()),
                            (arguments.after(), ")".into()),
                        ],
                    ),
                    None => diagnostic.help("write the type of the argument as well: `: (int, int) -> int`"),
                };
                self.report(diagnostic);
                None
            }
        };
        (scheme, parts)
    }

    fn declaration(&mut self, name: &Ident, kind: GlobalKind, scheme: Scheme) -> Checked {
        let id = match (&kind, self.environment.forward(&name.name)) {
            (GlobalKind::Forward, Some(known)) => known.id,
            _ => self.environment.next_id(),
        };
        let global = Global {
            id,
            name: name.name.clone(),
            kind,
            scheme,
            span: name.span,
            text: None,
            parameters: None,
        };
        Checked { globals: vec![global], ..Checked::new(Form::Declaration(id)) }
    }

    fn forward(&mut self, name: &Ident, pattern: &ast::Pattern, declared: &TypeDef) -> Option<Checked> {
        let (scheme, parts) = self.declared_function(declared);
        let (argument, _) = parts?;
        let typed = self.pattern(pattern, &mut Vec::new());
        self.fit_parameters(pattern.span, &typed, &argument, declared.body.span);
        Some(self.declaration(name, GlobalKind::Forward, scheme))
    }

    /// The parameters of a function must fit its declared type.
    pub(super) fn fit_parameters(&mut self, span: Span, pattern: &Pattern, declared: &Type, place: Span) {
        if let Err(conflict) = self.unifier.unify(declared, &pattern.ty, place) {
            let diagnostic = self.mismatch(span, declared, &pattern.ty, &conflict, |wanted, got| {
                format!("the declared type takes {wanted}, but the parameters are for {got}")
            });
            let diagnostic = self.label_instead(diagnostic, place, "the declared type");
            self.report(diagnostic);
        }
    }

    /// Makes the unknown types of `ty` parameters, and all others `int`.
    pub(super) fn generalise(&mut self, ty: &Type) -> Scheme {
        let mut params: Vec<Class> = self.unifier.rigid.iter().map(|(_, class)| *class).collect();
        let mut unknowns = Vec::new();
        self.unifier.unknowns(ty, &mut unknowns);
        for var in unknowns {
            let class = self.unifier.class(&Type::Var(var));
            self.unifier.settle(var, Type::Param(params.len() as u32));
            params.push(class);
        }
        self.unifier.settle_rest();
        Scheme { params, ty: self.unifier.zonk(ty) }
    }

    pub(super) fn known(&self, expr: &Expr) -> Expr {
        expr.map(&mut |ty| self.unifier.zonk(ty), &mut |id| id)
    }

    pub(super) fn known_pattern(&self, pattern: &Pattern) -> Pattern {
        pattern.map(&mut |ty| self.unifier.zonk(ty), &mut |id| id)
    }

    /// A value bound at top level: to a pattern, or to `it`.
    fn value(
        &mut self,
        pattern: Option<&ast::Pattern>,
        value: &ast::Expr,
        span: Span,
    ) -> (Value, Vec<Global>) {
        let typed = self.infer_bounded(value);
        let mut bound: Vec<Local> = Vec::new();
        let it = ast::Pattern { kind: ast::PatternKind::Name("it".into()), span: value.span };
        let is_expression = pattern.is_none();
        let pattern = pattern.unwrap_or(&it);
        self.misplaced_default(pattern);
        let typed_pattern = self.pattern(pattern, &mut bound);
        if let Err(conflict) = self.unifier.unify(&typed_pattern.ty, &typed.ty, value.span) {
            let diagnostic =
                self.mismatch(value.span, &typed_pattern.ty, &typed.ty, &conflict, |wanted, got| {
                    format!("the pattern is for {wanted}, but the value is {got}")
                });
            let diagnostic = self.label_instead(diagnostic, pattern.span, "this pattern");
            self.report(diagnostic);
        }
        // Only a function may stay general: it has no value at run time that depends on the type.
        let is_function = matches!(self.unifier.resolve(&typed.ty), Type::Function(..));
        let scheme = match is_function && matches!(typed_pattern.kind, PatternKind::Bind(..)) {
            true => self.generalise(&typed.ty),
            false => {
                self.unifier.settle_rest();
                Scheme::closed(self.unifier.zonk(&typed.ty))
            }
        };
        let pattern = self.known_pattern(&typed_pattern);
        let mut globals: Vec<Global> = Vec::new();
        let mut ids = Vec::new();
        for (local, (binding, name, ty)) in bound.iter().zip(pattern.bindings()) {
            let id = GlobalId(self.environment.next_id().0 + globals.len() as u32);
            ids.push((binding, id));
            globals.push(Global {
                id,
                name: name.clone(),
                kind: GlobalKind::Value,
                scheme: Scheme { params: scheme.params.clone(), ty: ty.clone() },
                span: local.span,
                text: None,
                parameters: None,
            });
        }
        let value = Value { pattern, globals: ids, value: self.known(&typed), scheme, is_expression, span };
        (value, globals)
    }

    fn datatype(&mut self, name: &Ident, content: &TypeDef) -> Option<Checked> {
        if let Some(place) = mention(&content.body, &name.name) {
            let message = format!("the datatype `{}` contains itself", name.name);
            let diagnostic = Diagnostic::error(message, place, "used in its own definition");
            self.report(diagnostic.note("a datatype of NESL cannot be recursive"));
            return None;
        }
        let scheme = self.declared(content);
        if self.check_size(&scheme.ty, content.span) {
            return None;
        }
        let datatype = Arc::new(Datatype {
            id: self.environment.datatype_count,
            name: name.name.clone(),
            params: self.unifier.rigid.clone(),
            content: self.unifier.zonk(&scheme.ty),
        });
        let arguments = (0..scheme.params.len() as u32).map(Type::Param).collect();
        let made = Type::Data(datatype.clone(), arguments);
        let constructor = Scheme { ty: Type::function(scheme.ty, made), params: scheme.params };
        let mut checked = self.declaration(name, GlobalKind::Constructor(datatype.clone()), constructor);
        checked.form = Form::Datatype { datatype: datatype.clone(), constructor: self.environment.next_id() };
        checked.datatype = Some(datatype);
        Some(checked)
    }
}

impl Checked {
    pub(super) fn new(form: Form) -> Checked {
        Checked { form, globals: Vec::new(), datatype: None, declared: Vec::new() }
    }

    fn declaring(mut self, name: Name, ty: Type) -> Checked {
        self.declared.push((name, ty));
        self
    }
}

/// In `a, b -> c`, the place of `a, b`.
fn last_arrow(ty: &ast::TypeExpr) -> Option<Span> {
    let ast::TypeExprKind::Pair(first, rest) = &ty.kind else { return None };
    let end = match &rest.kind {
        ast::TypeExprKind::Function(argument, _) => argument.span,
        _ => last_arrow(rest)?,
    };
    Some(first.span.to(end))
}

/// Where a written type uses a name.
fn mention(ty: &ast::TypeExpr, name: &str) -> Option<Span> {
    match &ty.kind {
        ast::TypeExprKind::Name(found) => (**found == *name).then_some(ty.span),
        ast::TypeExprKind::Apply(found, arguments) if *found.name == *name => {
            arguments.iter().find_map(|argument| mention(argument, name)).or(Some(found.span))
        }
        ast::TypeExprKind::Apply(_, arguments) => {
            arguments.iter().find_map(|argument| mention(argument, name))
        }
        ast::TypeExprKind::Sequence(element) => mention(element, name),
        ast::TypeExprKind::Pair(a, b) | ast::TypeExprKind::Function(a, b) => {
            mention(a, name).or_else(|| mention(b, name))
        }
    }
}
