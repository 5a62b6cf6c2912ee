// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Elaboration: typed forms to core functions. Every function is made once per instance of its types and per
//! identity of the functions passed to it, so that no function value is left; datatypes become their contents.

mod call;
mod expr;
mod generic;
mod primitive;
pub mod statics;

use crate::core::{Expr, Function, FunctionId, Pattern, Place, PlaceId, Program, Shape, Var};
use hadal_front::ast::Name;
use hadal_front::typed::{self, BindingId, ExprKind, GlobalId, PatternKind};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, SourceMap, Span};
use statics::{Closure, Static};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// No program of reasonable size needs more instances; more come from functions that pass ever new functions.
const MAX_INSTANCES: usize = 20_000;

/// What a top-level name stands for.
#[derive(Clone, Debug)]
pub enum Definition {
    /// A function with a body.
    Function(Rc<typed::Function>),
    /// Provided by the compiler.
    Primitive(Name),
    /// The constructor of a datatype.
    Constructor(Name),
    /// An expression that stands for its name wherever it is used: constants of the library, polymorphic functions
    /// bound to names.
    Constant(Rc<typed::Expr>),
    /// A value that an earlier form computed.
    Value(Static),
}

/// All definitions in force.
#[derive(Clone, Default, Debug)]
pub struct Definitions {
    /// By number.
    pub globals: HashMap<GlobalId, Definition>,
    /// The library's functions by name.
    pub library: HashMap<String, GlobalId>,
    /// How many source texts, the first ones, are the library's.
    pub library_files: u32,
}

/// Bindings around an expression: more would make the trees of later passes too high for their recursion.
const MAX_BINDINGS: usize = 1000;

/// What makes two instances of a function the same.
#[derive(PartialEq, Eq, Hash, Clone)]
enum Key {
    Global(GlobalId, Vec<Type>, Option<Static>),
    Lambda(Rc<Closure>, Static),
    Generic(&'static str, Static),
}

/// An instance whose body is not elaborated yet.
struct Pending {
    id: FunctionId,
    body: PendingBody,
}

enum PendingBody {
    Global(Rc<typed::Function>, Vec<Type>, Static),
    Lambda(Rc<Closure>, Static),
}

/// Makes core functions of typed ones.
pub struct Elaborator<'a> {
    definitions: &'a Definitions,
    sources: &'a SourceMap,
    /// What has been made so far.
    pub program: Program,
    instances: HashMap<Key, (FunctionId, Static)>,
    pending: VecDeque<Pending>,
    in_progress: HashSet<FunctionId>,
    needs: HashMap<GlobalId, Rc<BTreeSet<GlobalId>>>,
    /// How many bindings are around the current expression.
    bindings: usize,
}

/// What is in scope where an expression is elaborated.
#[derive(Clone, Default)]
struct Scope {
    locals: HashMap<BindingId, (Var, Static)>,
    values: HashMap<GlobalId, (Var, Static)>,
    types: Rc<[Type]>,
    function: Rc<str>,
}

/// An elaborated expression.
type Elaborated = Result<(Expr, Static), Diagnostic>;

impl<'a> Elaborator<'a> {
    /// Nothing is made yet.
    #[must_use]
    pub fn new(definitions: &'a Definitions, sources: &'a SourceMap) -> Self {
        Self {
            definitions,
            sources,
            program: Program::default(),
            instances: HashMap::new(),
            pending: VecDeque::new(),
            in_progress: HashSet::new(),
            needs: HashMap::new(),
            bindings: 0,
        }
    }

    /// The function that computes a form's value from the earlier values that it uses; these, in the order of its
    /// parameters, and the static part of the result.
    ///
    /// # Errors
    /// Functions that are not known when the program is compiled.
    pub fn form(&mut self, value: &typed::Expr) -> Result<(FunctionId, Vec<GlobalId>, Static), Diagnostic> {
        let used: Vec<GlobalId> = self.values_used(value).into_iter().collect();
        let mut scope = Scope { function: "top-level".into(), ..Scope::default() };
        let params = self.value_params(&used, &mut scope);
        let (body, result) = self.expr(value, &scope)?;
        let (file, line) = self.file_line(value.span);
        let id = self.add(Function {
            name: "top-level".into(),
            params,
            result: result.shape(),
            body: Rc::new(body),
            file,
            line,
        });
        self.finish()?;
        Ok((id, used, result))
    }

    fn add(&mut self, function: Function) -> FunctionId {
        self.program.functions.push(function);
        self.program.functions.len() - 1
    }

    /// Elaborates the bodies that are still to do.
    fn finish(&mut self) -> Result<(), Diagnostic> {
        while let Some(pending) = self.pending.pop_front() {
            self.body(pending)?;
        }
        Ok(())
    }

    /// Variables for earlier values that a function uses.
    fn value_params(&mut self, used: &[GlobalId], scope: &mut Scope) -> Vec<Var> {
        let mut params = Vec::new();
        for &id in used {
            if let Some(Definition::Value(known)) = self.definitions.globals.get(&id) {
                let var = self.program.variable(known.shape());
                scope.values.insert(id, (var, known.clone()));
                params.push(var);
            }
        }
        params
    }

    /// The earlier values that an expression uses, over the functions it calls too.
    fn values_used(&mut self, expr: &typed::Expr) -> BTreeSet<GlobalId> {
        let mut out = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut todo = globals_in(expr);
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.definitions.globals.get(&id) {
                Some(Definition::Value(_)) => {
                    out.insert(id);
                }
                Some(Definition::Function(function)) => todo.extend(globals_in(&function.body)),
                Some(Definition::Constant(expr)) => todo.extend(globals_in(expr)),
                _ => {}
            }
        }
        out
    }

    /// As [`Self::values_used`] for a top-level function.
    fn values_of_function(&mut self, id: GlobalId) -> Rc<BTreeSet<GlobalId>> {
        if let Some(known) = self.needs.get(&id) {
            return Rc::clone(known);
        }
        let used = match self.definitions.globals.get(&id) {
            Some(Definition::Function(function)) => {
                let function = Rc::clone(function);
                Rc::new(self.values_used(&function.body))
            }
            _ => Rc::new(BTreeSet::new()),
        };
        self.needs.insert(id, Rc::clone(&used));
        used
    }

    /// The instance of a top-level function for these types and this argument, and the static part of its result.
    fn instance(
        &mut self,
        id: GlobalId,
        function: &Rc<typed::Function>,
        types: &[Type],
        argument: &Static,
        span: Span,
    ) -> Result<(FunctionId, Static), Diagnostic> {
        let key = Key::Global(id, types.to_vec(), argument.has_function().then(|| argument.clone()));
        let result = match &function.scheme.ty {
            Type::Function(_, result) => result.instantiate(types),
            other => other.clone(),
        };
        let body = PendingBody::Global(Rc::clone(function), types.to_vec(), argument.clone());
        let (file, line) = self.file_line(function.name_span);
        self.instantiate(key, &result, body, (function.name.to_string(), file, line), span)
    }

    fn instantiate(
        &mut self,
        key: Key,
        result: &Type,
        body: PendingBody,
        origin: (String, String, u32),
        span: Span,
    ) -> Result<(FunctionId, Static), Diagnostic> {
        if let Some((id, known)) = self.instances.get(&key) {
            if self.in_progress.contains(id) {
                return Err(unresolved(span));
            }
            return Ok((*id, known.clone()));
        }
        if self.instances.len() >= MAX_INSTANCES {
            return Err(Diagnostic::error(
                "this program needs too many instances of its functions",
                span,
                "",
            )
            .note("a recursive function that passes on a new function each time has no end of instances"));
        }
        let known = Static::of(result);
        let shape = known.as_ref().map_or(Shape::Unit, Static::shape);
        let (name, file, line) = origin;
        let id = self.add(Function {
            name,
            params: Vec::new(),
            result: shape,
            body: Rc::new(Expr::Unit),
            file,
            line,
        });
        let pending = Pending { id, body };
        if let Some(known) = known {
            self.instances.insert(key, (id, known.clone()));
            self.pending.push_back(pending);
            return Ok((id, known));
        }
        // The result holds a function: only the body tells which.
        self.instances.insert(key.clone(), (id, Static::Int));
        self.in_progress.insert(id);
        let known = self.body(pending)?;
        self.in_progress.remove(&id);
        self.program.functions[id].result = known.shape();
        self.instances.insert(key, (id, known.clone()));
        Ok((id, known))
    }

    /// Elaborates the body of an instance.
    fn body(&mut self, pending: Pending) -> Result<Static, Diagnostic> {
        let mut scope = Scope::default();
        let (mut params, pattern, argument, body) = match pending.body {
            PendingBody::Global(function, types, argument) => {
                scope.types = types.into();
                scope.function = function.name.to_string().into();
                let used: Vec<GlobalId> = self.values_of_function(function.id).iter().copied().collect();
                let params = self.value_params(&used, &mut scope);
                (params, function.pattern.clone(), argument, function.body.clone())
            }
            PendingBody::Lambda(closure, argument) => {
                let statics::Code::Lambda(lambda) = &closure.code else {
                    unreachable!("only functions without names are instances of closures")
                };
                scope.types = lambda.types.clone().into();
                scope.function = lambda.owner.clone().into();
                let mut params = Vec::new();
                for (capture, known) in &closure.captures {
                    let var = self.program.variable(known.shape());
                    params.push(var);
                    match capture {
                        statics::Capture::Local(id) => {
                            scope.locals.insert(*id, (var, known.clone()));
                        }
                        statics::Capture::Value(id) => {
                            scope.values.insert(*id, (var, known.clone()));
                        }
                    }
                }
                (params, lambda.pattern.clone(), argument, lambda.body.clone())
            }
        };
        let core = self.pattern(&pattern, &argument, &mut scope);
        core.variables(&mut params);
        let (body, result) = self.expr(&body, &scope)?;
        let function = &mut self.program.functions[pending.id];
        function.params = params;
        function.body = Rc::new(body);
        Ok(result)
    }

    /// A pattern's core form; its variables come into scope.
    fn pattern(&mut self, pattern: &typed::Pattern, known: &Static, scope: &mut Scope) -> Pattern {
        match &pattern.kind {
            PatternKind::Bind(id, _) => {
                let var = self.program.variable(known.shape());
                scope.locals.insert(*id, (var, known.clone()));
                Pattern::Var(var)
            }
            PatternKind::Pair(a, b) => match known.parts() {
                Some((first, second)) => {
                    let a = self.pattern(a, &first, scope);
                    let b = self.pattern(b, &second, scope);
                    Pattern::Pair(Box::new(a), Box::new(b))
                }
                None => Pattern::Ignore,
            },
            PatternKind::Data(_, content) => {
                let inner = match known {
                    Static::Data(_, inner) => (**inner).clone(),
                    other => other.clone(),
                };
                self.pattern(content, &inner, scope)
            }
        }
    }

    fn file_line(&self, span: Span) -> (String, u32) {
        let (name, line, _) = self.sources.position(span);
        (name.to_owned(), line)
    }

    /// The number of a place.
    fn place(&mut self, span: Span, scope: &Scope) -> PlaceId {
        let (file, line, column) = self.sources.position(span);
        let place = Place {
            function: scope.function.to_string(),
            file: file.to_owned(),
            line,
            column,
            library: span.file.0 < self.definitions.library_files,
        };
        let places = &mut self.program.places;
        if places.last() != Some(&place) {
            places.push(place);
        }
        u32::try_from(places.len() - 1).expect("fewer than 2^32 places")
    }
}

/// The function to call cannot be told.
fn unresolved(span: Span) -> Diagnostic {
    Diagnostic::error("which function this is cannot be told when the program is compiled", span, "")
        .note("function values are resolved at compile time: each use must come from one definition")
        .help("pass the function as an argument, or choose between the results instead of the functions")
}

/// The top-level names in an expression.
pub(crate) fn globals_in(expr: &typed::Expr) -> Vec<GlobalId> {
    let mut out = Vec::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        if let ExprKind::Global(id, _) = &expr.kind {
            out.push(*id);
        }
        stack.extend(expr.children());
    }
    out
}
