// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types as they are written to types.

use super::Inference;
use crate::Dialect;
use crate::ast::{Ident, Name, TypeDef, TypeExpr, TypeExprKind};
use crate::diagnostic::Diagnostic;
use crate::types::{Class, Type};

impl Inference<'_> {
    /// The variables of a type definition, with their classes.
    pub(super) fn variables(&mut self, definition: &TypeDef) -> Vec<(Name, Class)> {
        let mut variables: Vec<(Name, Class)> = Vec::new();
        for (name, class) in &definition.variables {
            if variables.iter().any(|(known, _)| *known == name.name) {
                self.report(Diagnostic::error(
                    format!("the type variable `{}` has two classes", name.name),
                    name.span,
                    "declared a second time",
                ));
                continue;
            }
            let found = Class::named(&class.name).unwrap_or_else(|| {
                let diagnostic = Diagnostic::error(
                    format!("`{}` is not a type class", class.name),
                    class.span,
                    "unknown class",
                );
                self.report(
                    diagnostic.help("the classes are `any`, `scalar`, `ordinal`, `number` and `logical`"),
                );
                Class::Any
            });
            variables.push((name.name.clone(), found));
        }
        variables
    }

    /// A written type; `self.unifier.rigid` are the variables it may use.
    pub(super) fn written_type(&mut self, ty: &TypeExpr) -> Type {
        match &ty.kind {
            TypeExprKind::Sequence(element) => Type::seq(self.written_type(element)),
            TypeExprKind::Pair(a, b) => Type::pair(self.written_type(a), self.written_type(b)),
            TypeExprKind::Function(a, b) => Type::function(self.written_type(a), self.written_type(b)),
            TypeExprKind::Name(name) => self.named_type(&Ident { name: name.clone(), span: ty.span }, &[]),
            TypeExprKind::Apply(name, arguments) => self.named_type(name, arguments),
        }
    }

    fn named_type(&mut self, name: &Ident, arguments: &[TypeExpr]) -> Type {
        if arguments.is_empty() {
            if let Some(index) = self.unifier.rigid.iter().position(|(known, _)| *known == name.name) {
                return Type::Param(index as u32);
            }
            match &*name.name {
                "int" => return Type::Int,
                "bool" => return Type::Bool,
                "float" => return Type::Float,
                "char" => return Type::Char,
                "double" if self.dialect == Dialect::Ndpc => return Type::Float,
                "string" if self.dialect == Dialect::Ndpc => return Type::string(),
                _ => {}
            }
        }
        let Some(datatype) = self.environment.datatypes.get(&name.name).cloned() else {
            return self.unknown_type(name);
        };
        if datatype.params.len() != arguments.len() {
            let count = datatype.params.len();
            let plural = if count == 1 { "" } else { "s" };
            self.report(Diagnostic::error(
                format!("the datatype `{}` has {count} type parameter{plural}", name.name),
                name.span,
                format!("{} given here", arguments.len()),
            ));
            return self.unifier.error();
        }
        let types: Vec<Type> = arguments.iter().map(|argument| self.written_type(argument)).collect();
        for ((argument, ty), (parameter, class)) in arguments.iter().zip(&types).zip(&datatype.params) {
            let fits = match ty {
                Type::Param(_) | Type::Var(_) => self.unifier.class(ty).is_within(*class),
                ty => class.has(ty),
            };
            if !fits {
                self.report(Diagnostic::error(
                    format!("the parameter `{parameter}` of `{}` must be {}", name.name, class.members()),
                    argument.span,
                    format!("not in the class `{}`", class.name()),
                ));
            }
        }
        Type::Data(datatype, types.into())
    }

    fn unknown_type(&mut self, name: &Ident) -> Type {
        if self.environment.failed.contains_key(&name.name) {
            let message = format!("the definition of `{}` has an error", name.name);
            self.report(Diagnostic::error(message, name.span, "used here").as_consequence());
            return self.unifier.error();
        }
        let mut diagnostic =
            Diagnostic::error(format!("there is no type `{}`", name.name), name.span, "unknown type");
        let replace = |text: &str| vec![(name.span, text.to_string())];
        diagnostic = match &*name.name {
            "integer" => diagnostic.suggest("integers are called `int`", replace("int")),
            "boolean" => diagnostic.suggest("truth values are called `bool`", replace("bool")),
            "double" | "real" => {
                diagnostic.suggest("floating-point numbers are called `float`", replace("float"))
            }
            "string" | "str" => diagnostic.suggest("a string is a sequence of characters", replace("[char]")),
            "character" => diagnostic.suggest("characters are called `char`", replace("char")),
            short if short.len() <= 2 => diagnostic
                .help(format!("for a type variable write its class behind the type: `:: ({short} in any)`")),
            other => {
                let mut known: Vec<&str> = ["int", "bool", "float", "char"]
                    .into_iter()
                    .chain(self.environment.datatypes.keys().map(|name| &**name))
                    .filter(|known| strsim::damerau_levenshtein(other, known) <= 2)
                    .collect();
                known.sort_by_key(|known| (strsim::damerau_levenshtein(other, known), *known));
                match known.first() {
                    Some(near) => diagnostic.suggest("a similar type exists", replace(near)),
                    None => diagnostic,
                }
            }
        };
        self.report_missing(&name.name, diagnostic);
        self.unifier.error()
    }
}
