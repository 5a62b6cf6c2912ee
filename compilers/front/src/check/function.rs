// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Definitions of functions: declared types, default values, the body.

use std::sync::Arc;

use super::{Checked, Inference};
use crate::Dialect;
use crate::ast::{self, Ident, TypeDef};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{
    Expr, ExprKind, Form, Function, Global, GlobalId, GlobalKind, Parameter, Pattern, PatternKind,
};
use crate::types::{Class, Type, letter};

impl Inference<'_> {
    /// The definition of a function.
    pub(super) fn function(
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
    pub(super) fn misplaced_default(&mut self, pattern: &ast::Pattern) {
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
