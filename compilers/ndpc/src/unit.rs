// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One translation: the functions that are needed, each for the types it is needed with.

use std::collections::{HashMap, HashSet};

use hadal_front::check::Checker;
use hadal_front::typed::{self, Global, GlobalId};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, SourceMap, Span};

use crate::Options;
use crate::names::Names;

/// More instances than this are a function that needs itself for ever larger types.
const MOST_INSTANCES: usize = 2000;

/// A function for certain types.
pub(crate) struct Instance {
    pub(crate) function: GlobalId,
    pub(crate) types: Vec<Type>,
    /// Its name in C++.
    pub(crate) name: String,
    /// The instances that it calls.
    pub(crate) calls: HashSet<usize>,
    /// Those of them that it calls not only from loops, which look at the stack.
    pub(crate) direct_calls: HashSet<usize>,
    /// Whether a loop of its own can be divided.
    pub(crate) has_loop: bool,
}

/// A constant of generated code that says where an operation stands.
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) function: String,
    pub(crate) position: String,
}

/// One translation.
pub(crate) struct Unit<'a> {
    pub(crate) options: &'a Options,
    pub(crate) checker: &'a Checker,
    pub(crate) sources: &'a SourceMap,
    pub(crate) functions: HashMap<GlobalId, &'a typed::Function>,
    /// Names of top-level values in C++.
    pub(crate) values: HashMap<GlobalId, String>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) names: Names,
    pub(crate) errors: Vec<Diagnostic>,
    /// Sites of the function being written.
    pub(crate) sites: Vec<Site>,
    /// For each instance whether it forks, itself or by what it calls; empty while that is being found out.
    pub(crate) forking: Vec<bool>,
    index: HashMap<(GlobalId, Vec<Type>), usize>,
}

impl<'a> Unit<'a> {
    pub(crate) fn new(options: &'a Options, checker: &'a Checker, sources: &'a SourceMap) -> Unit<'a> {
        Unit {
            options,
            checker,
            sources,
            functions: HashMap::new(),
            values: HashMap::new(),
            instances: Vec::new(),
            names: Names::default(),
            errors: Vec::new(),
            sites: Vec::new(),
            forking: Vec::new(),
            index: HashMap::new(),
        }
    }

    /// What is known of a top-level name.
    pub(crate) fn global(&self, id: GlobalId) -> &'a Global {
        self.checker.global(id)
    }

    /// The function `id` for `types`, which is translated sooner or later.
    pub(crate) fn instance(&mut self, id: GlobalId, types: &[Type], span: Span) -> Option<usize> {
        // What nothing decides is an int.
        let types: Vec<Type> = types.iter().map(close).collect();
        if let Some(&known) = self.index.get(&(id, types.clone())) {
            return Some(known);
        }
        let global = self.global(id);
        if !self.functions.contains_key(&id) {
            self.errors.push(Diagnostic::error(
                format!("`{}` is declared, but not defined", global.name),
                span,
                "needed here",
            ));
            return None;
        }
        if self.instances.len() == MOST_INSTANCES {
            self.errors.push(
                Diagnostic::error(format!("`{}` needs itself for ever new types", global.name), span, "")
                    .help("declare the types of the functions that call each other"),
            );
            return None;
        }
        let name = self.names.fresh(&global.name);
        self.index.insert((id, types.clone()), self.instances.len());
        self.instances.push(Instance {
            function: id,
            types,
            name,
            calls: HashSet::new(),
            direct_calls: HashSet::new(),
            has_loop: false,
        });
        Some(self.instances.len() - 1)
    }

    /// The name of the constant for an operation at `span` of `function`, called `cpp_name`.
    pub(crate) fn site(&mut self, function: &str, cpp_name: &str, span: Span) -> String {
        let (file, line, column) = self.sources.position(span);
        let position = format!("{file}:{line}:{column}");
        if let Some(known) = self.sites.iter().find(|site| site.position == position) {
            return known.name.clone();
        }
        let name = self.names.fresh(&format!("{cpp_name}_{line}_{column}"));
        self.sites.push(Site { name: name.clone(), function: function.into(), position });
        name
    }

    /// Whether each instance reaches itself by calls, none of which is from a loop.
    pub(crate) fn recursive(&self) -> Vec<bool> {
        let reaches = |start: usize| {
            let mut seen = HashSet::new();
            let mut open: Vec<usize> = self.instances[start].direct_calls.iter().copied().collect();
            while let Some(next) = open.pop() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    open.extend(&self.instances[next].direct_calls);
                }
            }
            false
        };
        (0..self.instances.len()).map(reaches).collect()
    }

    /// Whether each instance forks, itself or by what it calls.
    pub(crate) fn find_forking(&self) -> Vec<bool> {
        let mut forking: Vec<bool> = self.instances.iter().map(|instance| instance.has_loop).collect();
        loop {
            let more = |number: usize| self.instances[number].calls.iter().any(|&callee| forking[callee]);
            let next: Vec<bool> = (0..forking.len()).map(|number| forking[number] || more(number)).collect();
            if next == forking {
                return forking;
            }
            forking = next;
        }
    }

    /// Whether the function of an instance takes a mode.
    pub(crate) fn takes_mode(&self, instance: usize) -> bool {
        !self.options.serial && self.forking.get(instance).copied().unwrap_or(false)
    }

    /// Whether it is a function of the library, which only this program calls.
    pub(crate) fn is_library(&self, instance: usize) -> bool {
        self.global(self.instances[instance].function).span.file.0 != 0
    }
}

/// The type without parameters.
fn close(ty: &Type) -> Type {
    match ty {
        Type::Param(_) => Type::Int,
        _ => ty.map_parts(&mut close),
    }
}
