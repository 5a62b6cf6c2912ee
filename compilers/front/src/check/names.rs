// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a name means, and the nearest one if it means nothing.

use super::{Inference, Local};
use crate::ast::{Ident, Name};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::typed::{Expr, ExprKind, GlobalId, GlobalKind};
use crate::types::{Scheme, Type};

impl Inference<'_> {
    /// The innermost variable with this name.
    pub(super) fn local(&self, name: &str) -> Option<&Local> {
        self.scope.iter().rev().find(|local| &*local.name == name)
    }

    /// A use of a name.
    pub(super) fn use_name(&mut self, name: &Name, span: Span) -> Expr {
        if let Some(local) = self.local(name) {
            return Expr { kind: ExprKind::Local(local.id), ty: local.ty.clone(), span };
        }
        if let Some((own, id, ty)) = &self.own
            && own == name
        {
            // The instance is filled in when the function's parameters are known.
            return Expr { kind: ExprKind::Global(*id, [].into()), ty: ty.clone(), span };
        }
        if self.environment.failed.contains_key(name) {
            let diagnostic =
                Diagnostic::error(format!("the definition of `{name}` has an error"), span, "used here");
            self.report(diagnostic.as_consequence());
            return self.unknown(span);
        }
        match self.environment.lookup(name) {
            Some(global) => {
                let (id, scheme) = (global.id, global.scheme.clone());
                self.use_global(id, &scheme, span)
            }
            None => {
                let diagnostic = self.undefined(name, span);
                self.report_missing(name, diagnostic);
                self.unknown(span)
            }
        }
    }

    /// A use of a global, with new unknown types for the parameters of its scheme.
    pub(super) fn use_global(&mut self, id: GlobalId, scheme: &Scheme, span: Span) -> Expr {
        let instance: Vec<Type> = scheme.params.iter().map(|class| self.unifier.fresh(*class)).collect();
        let ty = scheme.ty.instantiate(&instance);
        Expr { kind: ExprKind::Global(id, instance.into()), ty, span }
    }

    /// In place of an expression that has an error: it fits everywhere.
    pub(super) fn unknown(&mut self, span: Span) -> Expr {
        Expr { kind: ExprKind::Empty, ty: self.unifier.error(), span }
    }

    fn undefined(&self, name: &Name, span: Span) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::error(format!("`{name}` is not defined"), span, "nothing has this name here");
        if let Some(place) = self.environment.announced.get(name).filter(|place| place.file == span.file) {
            return diagnostic
                .label(Span { end: place.start, ..*place }, "it is defined only here")
                .note("a name can be used only after its definition")
                .help(format!(
                    "move the definition up, or declare it first: `function {name}(...) : type;`"
                ));
        }
        let insert = |text: &str| vec![(span, text.to_string())];
        match &**name {
            "true" => return diagnostic.suggest("the boolean constants are `t` and `f`", insert("t")),
            "false" => return diagnostic.suggest("the boolean constants are `t` and `f`", insert("f")),
            "len" | "length" | "size" => {
                return diagnostic.help("the length of a sequence `s` is `#s`");
            }
            "append" | "concat" => return diagnostic.help("`a ++ b` appends two sequences"),
            _ => {}
        }
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let at = Span { start: span.start + digits as u32, end: span.start + digits as u32, ..span };
            return diagnostic.suggest("for a product write the operator", vec![(at, " * ".into())]);
        }
        if let Some(near) = self.nearest(name) {
            diagnostic = diagnostic.suggest("a similar name is defined", vec![(span, near)]);
        }
        diagnostic
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let globals = self.environment.names.keys().filter(|name| name.starts_with(char::is_alphabetic));
        let names = self
            .scope
            .iter()
            .map(|local| &local.name)
            .chain(globals)
            .chain(self.own.iter().map(|(name, ..)| name))
            .filter(|known| !matches!(&***known, "and" | "or" | "xor" | "nand" | "nor" | "prefix -"));
        nearest(name, names).map(|near| near.to_string())
    }

    /// The datatype with this name, as the constructor of a pattern.
    pub(super) fn constructor(&mut self, name: &Ident) -> Option<std::sync::Arc<crate::types::Datatype>> {
        if let Some(datatype) = self.environment.datatypes.get(&name.name) {
            return Some(datatype.clone());
        }
        if self.environment.failed.contains_key(&name.name) {
            let message = format!("the definition of `{}` has an error", name.name);
            self.report(Diagnostic::error(message, name.span, "used here").as_consequence());
            return None;
        }
        let is_global = self.environment.lookup(&name.name);
        let mut diagnostic = Diagnostic::error(
            format!("`{}` is not a datatype, so it cannot stand in a pattern", name.name),
            name.span,
            "no datatype has this name",
        );
        if is_global.is_some_and(|global| !matches!(global.kind, GlobalKind::Constructor(_))) {
            diagnostic = diagnostic.note(format!("`{}` is a function or a value", name.name));
        }
        if let Some(near) = nearest(&name.name, self.environment.datatypes.keys()) {
            diagnostic =
                diagnostic.suggest("a datatype has a similar name", vec![(name.span, near.to_string())]);
        }
        self.report(diagnostic);
        None
    }
}

/// The name among `known` that was probably meant by `name`.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a Name>) -> Option<&'a Name> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= limit && *distance < known.chars().count())
        .min()
        .map(|(_, known)| known)
}
