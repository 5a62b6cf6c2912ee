// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Top-level forms: declarations, generalisation, and what becomes known.

use std::sync::Arc;

use super::{Checked, Inference, Local};
use crate::Dialect;
use crate::ast::{self, FormKind, Ident, Name, TypeDef};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{
    Command, Expr, ExprKind, Form, Function, Global, GlobalId, GlobalKind, Parameter, Pattern, PatternKind,
    Value,
};
use crate::types::{Class, Datatype, Scheme, Type, letter};

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
    fn declared_function(&mut self, definition: &TypeDef) -> (Scheme, Option<(Type, Type)>) {
        let scheme = self.declared(definition);
        let parts = match &scheme.ty {
            Type::Function(argument, result) => Some(((**argument).clone(), (**result).clone())),
            _ => {
                let diagnostic = Diagnostic::error(
                    "the declared type of a function must have an arrow",
                    definition.span,
                    "expected `argument -> result`",
                );
                self.report(diagnostic.help("write the type of the argument as well: `: (int, int) -> int`"));
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
    fn fit_parameters(&mut self, span: Span, pattern: &Pattern, declared: &Type, place: Span) {
        if let Err(conflict) = self.unifier.unify(declared, &pattern.ty, place) {
            let diagnostic = self.mismatch(span, declared, &pattern.ty, &conflict, |wanted, got| {
                format!("the declared type takes {wanted}, but the parameters are for {got}")
            });
            let diagnostic = self.label_instead(diagnostic, place, "the declared type");
            self.report(diagnostic);
        }
    }

    fn function(
        &mut self,
        span: Span,
        name: &Ident,
        pattern: &ast::Pattern,
        declared: Option<&TypeDef>,
        text: Option<Arc<[u8]>>,
        body: &ast::Expr,
    ) -> Option<Checked> {
        let forward = self.environment.forward(&name.name);
        let id = forward.map_or(self.environment.next_id(), |forward| forward.id);
        let mut place = None;
        let mut parts = None;
        if let Some(definition) = declared {
            let (scheme, found) = self.declared_function(definition);
            place = Some(definition.body.span);
            parts = found;
            if let Some(forward) = forward
                && forward.scheme.to_string() != scheme.to_string()
                && parts.is_some()
            {
                let diagnostic = Diagnostic::error(
                    format!("`{}` was declared with another type", name.name),
                    definition.span,
                    format!("here it is `{scheme}`"),
                );
                let earlier = format!("declared here as `{}`", forward.scheme);
                let diagnostic = match forward.span.file == span.file {
                    true => diagnostic.label(forward.span, earlier),
                    false => diagnostic.note(earlier),
                };
                self.report(diagnostic);
            }
        } else if let Some(forward) = forward {
            let classes = forward.scheme.params.iter().enumerate();
            self.unifier.rigid = classes.map(|(index, class)| (letter(index).into(), *class)).collect();
            if let Type::Function(argument, result) = &forward.scheme.ty {
                parts = Some(((**argument).clone(), (**result).clone()));
                place = Some(forward.span);
            }
        }
        let defaults = self.defaults(pattern);
        let mut bound = Vec::new();
        let pattern_span = pattern.span;
        let typed_pattern = self.pattern(pattern, &mut bound);
        if let (Some((argument, _)), Some(place)) = (&parts, place) {
            self.fit_parameters(pattern_span, &typed_pattern, argument, place);
        }
        let result = match &parts {
            Some((_, result)) => result.clone(),
            None => self.unifier.fresh(Class::Any),
        };
        if self.dialect == Dialect::Ndpc
            && let Some(declared) = self.environment.declared.get(&name.name)
        {
            self.fit_result_declaration(name, declared, &result);
        }
        let ty = Type::function(typed_pattern.ty.clone(), result.clone());
        self.own = Some((name.name.clone(), id, ty.clone()));
        let parameters = self.fit_defaults(pattern, &typed_pattern, defaults);
        self.own_parameters = parameters.clone();
        let typed_body = self.with_locals(bound, |inference| inference.infer(body));
        if let Err(conflict) = self.unifier.unify(&result, &typed_body.ty, body.span) {
            let diagnostic = self.mismatch(body.span, &result, &typed_body.ty, &conflict, |wanted, got| {
                format!("`{}` must return {wanted}, but its body is {got}", name.name)
            });
            let diagnostic = self.explain_variable(diagnostic, body, &typed_body.ty);
            let diagnostic = match place {
                Some(place) => self.label_instead(diagnostic, place, "the declared type"),
                None => diagnostic,
            };
            let types = (&result, &typed_body.ty);
            let diagnostic = self.suggest_conversion(diagnostic, types, None, Some(body));
            self.report(diagnostic);
        }
        if !self.diagnostics.is_empty() {
            return None;
        }
        let scheme = self.generalise(&ty);
        let instance: Arc<[Type]> = (0..scheme.params.len() as u32).map(Type::Param).collect();
        let mut body = self.known(&typed_body);
        fill_own(&mut body, id, &instance);
        let function = Function {
            id,
            name: name.name.clone(),
            scheme: scheme.clone(),
            pattern: self.known_pattern(&typed_pattern),
            body,
            name_span: name.span,
            span,
        };
        let parameters = parameters.map(|parameters| {
            let known = |parameter: &Parameter| Parameter {
                name: parameter.name.clone(),
                ty: self.unifier.zonk(&parameter.ty),
                default: parameter.default.as_ref().map(|default| Arc::new(self.known(default))),
            };
            parameters.iter().map(known).collect()
        });
        let global = Global {
            id,
            name: name.name.clone(),
            kind: GlobalKind::Function,
            scheme,
            span: name.span,
            text,
            parameters,
        };
        Some(Checked { globals: vec![global], ..Checked::new(Form::Function(function)) })
    }

    fn fit_result_declaration(&mut self, name: &Ident, declared: &Type, result: &Type) {
        if let Err(conflict) = self.unifier.unify(declared, result, name.span) {
            let diagnostic = self.mismatch(name.span, declared, result, &conflict, |wanted, got| {
                format!("`{}` was declared to return {wanted}, but its type says {got}", name.name)
            });
            self.report(diagnostic);
        }
    }

    /// The default values of parameters, left to right. They see no parameters.
    fn defaults(&mut self, pattern: &ast::Pattern) -> Vec<Option<Expr>> {
        parameters_of(pattern)
            .into_iter()
            .map(|parameter| match &parameter.kind {
                ast::PatternKind::Default(_, value) => Some(self.infer(value)),
                _ => {
                    self.misplaced_default(parameter);
                    None
                }
            })
            .collect()
    }

    /// Reports a default value inside of a parameter, where no call could leave it out.
    fn misplaced_default(&mut self, pattern: &ast::Pattern) {
        match &pattern.kind {
            ast::PatternKind::Name(_) => {}
            ast::PatternKind::Pair(a, b) => {
                self.misplaced_default(a);
                self.misplaced_default(b);
            }
            ast::PatternKind::Data(_, content) => self.misplaced_default(content),
            ast::PatternKind::Default(name, _) => {
                let message = "only a whole parameter of a function can have a default value";
                self.report(Diagnostic::error(message, name.span, "this is a part of a parameter"));
            }
        }
    }

    fn fit_defaults(
        &mut self,
        pattern: &ast::Pattern,
        typed: &Pattern,
        defaults: Vec<Option<Expr>>,
    ) -> Option<Arc<[Parameter]>> {
        if defaults.iter().all(Option::is_none) {
            return None;
        }
        let mut all = Vec::new();
        let mut rest = typed;
        let asts = parameters_of(pattern);
        for (index, (ast, default)) in asts.iter().zip(defaults).enumerate() {
            let part = match &rest.kind {
                PatternKind::Pair(a, b) if index + 1 < asts.len() => {
                    rest = b;
                    &**a
                }
                _ => rest,
            };
            if let Some(default) = &default
                && let Err(conflict) = self.unifier.unify(&part.ty, &default.ty, default.span)
            {
                let diagnostic =
                    self.mismatch(default.span, &part.ty, &default.ty, &conflict, |wanted, got| {
                        format!("the parameter is {wanted}, but its default value is {got}")
                    });
                self.report(diagnostic);
            }
            let name = match &ast.kind {
                ast::PatternKind::Name(name) => Some(name.clone()),
                ast::PatternKind::Default(name, _) => Some(name.name.clone()),
                _ => None,
            };
            all.push(Parameter { name, ty: part.ty.clone(), default: default.map(Arc::new) });
        }
        Some(all.into())
    }

    /// Makes the unknown types of `ty` parameters, and all others `int`.
    fn generalise(&mut self, ty: &Type) -> Scheme {
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

    fn known(&self, expr: &Expr) -> Expr {
        expr.map(&mut |ty| self.unifier.zonk(ty), &mut |id| id)
    }

    fn known_pattern(&self, pattern: &Pattern) -> Pattern {
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
    fn new(form: Form) -> Checked {
        Checked { form, globals: Vec::new(), datatype: None, declared: Vec::new() }
    }

    fn declaring(mut self, name: Name, ty: Type) -> Checked {
        self.declared.push((name, ty));
        self
    }
}

/// The parameters of a function: the parts of its outermost tuple.
fn parameters_of(pattern: &ast::Pattern) -> Vec<&ast::Pattern> {
    let mut all = vec![pattern];
    while let Some(ast::PatternKind::Pair(a, b)) = all.last().map(|last| &last.kind) {
        all.pop();
        all.extend([&**a, &**b]);
    }
    all
}

/// Gives the uses of the function in its own body its own parameters.
fn fill_own(expr: &mut Expr, own: GlobalId, parameters: &Arc<[Type]>) {
    if let ExprKind::Global(id, instance) = &mut expr.kind
        && *id == own
        && instance.is_empty()
    {
        *instance = parameters.clone();
    }
    for child in expr.children_mut() {
        fill_own(child, own, parameters);
    }
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
