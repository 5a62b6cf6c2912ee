// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the forms before the current one have defined.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::Name;
use crate::source::Span;
use crate::typed::{Global, GlobalId, GlobalKind};
use crate::types::{Datatype, Type};

/// The top-level names.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    pub(super) globals: Vec<Global>,
    pub(super) names: HashMap<Name, GlobalId>,
    pub(super) datatypes: HashMap<Name, Arc<Datatype>>,
    /// Names whose last definition had an error.
    pub(super) failed: HashMap<Name, Span>,
    /// Names that a form of the text will define, and where.
    pub(super) announced: HashMap<Name, Span>,
    /// NDPC: types that were given to names.
    pub(super) declared: HashMap<Name, Type>,
    pub(super) datatype_count: u32,
}

impl Environment {
    /// The global with this name.
    pub(super) fn lookup(&self, name: &str) -> Option<&Global> {
        self.names.get(name).map(|id| &self.globals[id.0 as usize])
    }

    /// The forward declaration with this name that waits for its definition.
    pub(super) fn forward(&self, name: &str) -> Option<&Global> {
        self.lookup(name).filter(|global| global.kind == GlobalKind::Forward)
    }

    /// The number of the next global.
    pub(super) fn next_id(&self) -> GlobalId {
        GlobalId(self.globals.len() as u32)
    }

    /// Makes a global known: at the end, or in place of its forward declaration.
    pub(super) fn define(&mut self, global: Global) {
        self.names.insert(global.name.clone(), global.id);
        self.failed.remove(&global.name);
        match self.globals.get_mut(global.id.0 as usize) {
            Some(place) => *place = global,
            None => self.globals.push(global),
        }
    }
}
