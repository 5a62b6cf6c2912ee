// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types in C++.

use hadal_front::types::Type;

/// The type in C++. Datatypes and functions have been refused before.
pub(crate) fn cpp(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::Float => "double".into(),
        Type::Char => "char".into(),
        Type::Seq(element) => format!("ndpc::Seq<{}>", cpp(element)),
        Type::Pair(a, b) => format!("ndpc::Pair<{}, {}>", cpp(a), cpp(b)),
        // What no value decides has become an int.
        Type::Int | Type::Param(_) | Type::Var(_) | Type::Data(..) | Type::Function(..) => "int".into(),
    }
}

/// Whether a value is a number or the like, which is copied rather than pointed to.
pub(crate) fn is_scalar(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Bool | Type::Float | Type::Char)
}

/// What a scalar begins with before it gets its value.
pub(crate) fn declare(ty: &Type, name: &str) -> String {
    match ty {
        Type::Int => format!("int {name} = 0;"),
        Type::Bool => format!("bool {name} = false;"),
        Type::Float => format!("double {name} = 0;"),
        Type::Char => format!("char {name} = 0;"),
        Type::Pair(..) => format!("{} {name}{{}};", cpp(ty)),
        _ => format!("{} {name};", cpp(ty)),
    }
}

/// A parameter: scalars by value, all else by reference.
pub(crate) fn parameter(ty: &Type, name: &str) -> String {
    if is_scalar(ty) { format!("{} {name}", cpp(ty)) } else { format!("{} const &{name}", cpp(ty)) }
}
