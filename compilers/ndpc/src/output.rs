// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts the translated program together: the C++ source and the header for its callers.

use std::fmt::Write;

use hadal_front::types::Type;

use crate::ctype::is_scalar;
use crate::function::{Form, Function};
use crate::layout::push_line;
use crate::unit::{Site, Unit};

/// The C++ source.
pub(crate) fn source(unit: &Unit<'_>, name: &str, functions: &[Function], forms: &[Form]) -> String {
    let recursive = unit.recursive();
    let mut out = String::new();
    let _ = writeln!(out, "// Translated from {name} by hadal ndpc.");
    out.push_str("#include <ndpc.h>\n#include <ndpc/ndpc.h>\n\n");
    for (number, function) in functions.iter().enumerate() {
        push_line(&mut out, &format!("{};", function.signature()));
        if !unit.is_library(number) {
            push_line(&mut out, &format!("{};", function.entry_signature()));
        }
    }
    let variables: Vec<&String> = forms.iter().flat_map(|form| &form.variables).collect();
    out.push_str(if variables.is_empty() { "" } else { "\n// Values of the top level.\n" });
    for variable in variables {
        let _ = writeln!(out, "{variable}");
    }
    for (number, function) in functions.iter().enumerate() {
        let used = |site: &Site| {
            (recursive[number] && site.name == function.depth_site)
                || function.lines.iter().any(|line| crate::writer::mentions(line, &site.name))
        };
        write_sites(&mut out, function.sites.iter().filter(|site| used(site)));
        let _ = writeln!(out, "\n{}", function.comment);
        push_line(&mut out, &format!("{} {{", function.signature()));
        if recursive[number] {
            let _ = writeln!(out, "    if (ndpc::is_stack_low()) {{");
            let _ = writeln!(out, "        ndpc::leave(ndpc::fail_depth({}));", function.depth_site);
            out.push_str("    }\n");
        }
        write_lines(&mut out, &function.lines);
        out.push_str("}\n");
    }
    for (number, function) in functions.iter().enumerate() {
        if unit.is_library(number) {
            continue;
        }
        write_entry(&mut out, function);
        if let Some(binding) = binding(function) {
            out.push_str(&binding.definition);
        }
    }
    let main =
        functions.iter().enumerate().find(|(number, function)| !unit.is_library(*number) && function.is_main);
    let main = main.map(|(_, function)| function);
    if !forms.is_empty() || main.is_some() {
        crate::program::write(&mut out, forms, main);
    }
    out
}

/// Writes the function by which callers of the program enter.
fn write_entry(out: &mut String, function: &Function) {
    let mode = function.forks.then_some("mode");
    let parameters = function.parameters.iter().map(|(name, _)| name.as_str());
    let arguments: Vec<&str> = mode.into_iter().chain(parameters).collect();
    out.push('\n');
    push_line(out, &format!("{} {{", function.entry_signature()));
    let _ =
        writeln!(out, "    return ndpc::call([&](ndpc::Mode auto{}) -> int {{", mode_name(function.forks));
    push_line(out, &format!("        result = {}({});", function.name, arguments.join(", ")));
    out.push_str("        return ndpc::done;\n    });\n}\n");
}

/// The name of a mode behind its type, where it is used.
pub(crate) fn mode_name(is_used: bool) -> &'static str {
    if is_used { " mode" } else { "" }
}

/// The header: declarations for C++, and for C those functions whose types C has.
pub(crate) fn header(name: &str, functions: &[Function]) -> String {
    let guard: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let mut out = String::new();
    let _ = writeln!(out, "/* Declares the functions of {name}, translated by hadal ndpc. */");
    let _ = writeln!(out, "#ifndef NDPC_{guard}_H\n#define NDPC_{guard}_H\n\n#include <ndpc.h>\n");
    out.push_str("#ifdef __cplusplus\n#include <ndpc/ndpc.h>\n\n");
    out.push_str(
        "// 0: done; else ndpc::failure_text() says why not. A result must not be an argument too.\n",
    );
    for function in functions {
        push_line(&mut out, &format!("{};", function.entry_signature()));
        if let Some(overload) = collection_overload(function) {
            out.push_str(&overload);
        }
    }
    out.push_str("\nextern \"C\" {\n#endif\n\n");
    out.push_str(
        "/* 0: done; else ndpc_failure_text() says why not. Free items of results with ndpc_free(). */\n",
    );
    for function in functions {
        match binding(function) {
            Some(binding) => {
                push_line(&mut out, &format!("{};", binding.declaration));
            }
            None => {
                let _ = writeln!(out, "/* {}: only for C++ */", &function.name);
            }
        }
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

pub(crate) fn write_sites<'s>(out: &mut String, sites: impl Iterator<Item = &'s Site>) {
    let mut sites = sites.peekable();
    if sites.peek().is_none() {
        return;
    }
    out.push_str("\nnamespace {\n");
    for site in sites {
        let _ = writeln!(
            out,
            "constexpr ndpc::Site {}{{{}, {}}};",
            site.name,
            crate::writer::quoted(site.function.as_bytes()),
            crate::writer::quoted(site.position.as_bytes())
        );
    }
    out.push_str("} // namespace\n");
}

pub(crate) fn write_lines(out: &mut String, lines: &[String]) {
    for line in lines {
        if line.starts_with('#') {
            push_line(out, line);
        } else {
            push_line(out, &format!("    {line}"));
        }
    }
}

/// A function's binding for C.
struct Binding {
    declaration: String,
    definition: String,
}

/// The name of the C type, and for a sequence what its structure is called.
fn c_type(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Int => "int",
        Type::Float => "double",
        Type::Bool => "bool",
        Type::Char => "char",
        Type::Seq(element) => match **element {
            Type::Int => "ndpc_ints",
            Type::Float => "ndpc_floats",
            Type::Bool => "ndpc_bools",
            Type::Char => "ndpc_chars",
            _ => return None,
        },
        _ => return None,
    })
}

fn binding(function: &Function) -> Option<Binding> {
    let name = &function.name;
    let result = c_type(&function.result)?;
    let mut parameters = vec![format!("{result} *result")];
    let mut arguments = Vec::new();
    let mut views = String::new();
    for (parameter, ty) in &function.parameters {
        let c = c_type(ty)?;
        parameters.push(format!("{c} {parameter}"));
        if is_scalar(ty) {
            arguments.push(parameter.clone());
        } else {
            arguments.push(format!("ndpc::constant({parameter}.items, {parameter}.count)"));
        }
    }
    let declaration = format!("int ndpc_{name}({})", parameters.join(", "));
    let arguments = arguments.join(", ");
    if is_scalar(&function.result) {
        let _ = writeln!(views, "    return {name}(*result, {arguments});");
    } else {
        let _ = writeln!(views, "    {} items;", crate::ctype::cpp(&function.result));
        let _ = writeln!(views, "    NDPC_TRY({name}(items, {arguments}));");
        let _ = writeln!(views, "    return ndpc::to_c(result->items, result->count, items);");
    }
    let definition = format!("\nextern \"C\" {declaration} {{\n{views}}}\n");
    Some(Binding { declaration, definition })
}

/// A version for collections, where sequences of scalars are among the types.
fn collection_overload(function: &Function) -> Option<String> {
    let is_flat = |ty: &Type| matches!(ty, Type::Seq(element) if is_scalar(element));
    let types = || function.parameters.iter().map(|(_, ty)| ty).chain([&function.result]);
    if !types().any(is_flat) || types().any(|ty| !is_scalar(ty) && !is_flat(ty)) {
        return None;
    }
    let name = &function.name;
    let collection = |ty: &Type| crate::ctype::cpp(ty).replace("ndpc::Seq<", "ndpc::Collection<");
    let mut parameters = vec![format!("{} &result", collection(&function.result))];
    let mut arguments = vec![String::from("result")];
    let mut lines = String::new();
    for (parameter, ty) in &function.parameters {
        if is_scalar(ty) {
            parameters.push(format!("{} {parameter}", crate::ctype::cpp(ty)));
            arguments.push(parameter.clone());
        } else {
            parameters.push(format!("{} const &{parameter}", collection(ty)));
            let _ = writeln!(lines, "    {} {parameter}_items;", crate::ctype::cpp(ty));
            let _ =
                writeln!(lines, "    NDPC_TRY(ndpc::from_collection({parameter}_items, {parameter}, here));");
            arguments.push(format!("{parameter}_items"));
        }
    }
    let mut last = String::new();
    if is_flat(&function.result) {
        let _ = writeln!(lines, "    {} result_items;", crate::ctype::cpp(&function.result));
        arguments[0] = "result_items".into();
        last = "    NDPC_TRY(ndpc::to_collection(result, result_items, here));\n".into();
    }
    let _ = writeln!(lines, "    NDPC_TRY({name}({}));\n{last}    return ndpc::done;", arguments.join(", "));
    Some(format!(
        "inline int {name}({}) {{\n    static constexpr ndpc::Site here{{\"{name}\", \"a collection\"}};\n{lines}}}\n",
        parameters.join(", ")
    ))
}
