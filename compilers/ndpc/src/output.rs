// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts the translated program together: the C++ source and the header for its callers.

use std::fmt::Write;

use hadal_front::types::Type;

use crate::ctype::is_scalar;
use crate::function::{Form, Function};
use crate::unit::{Site, Unit};

/// The C++ source.
pub(crate) fn source(unit: &Unit<'_>, name: &str, functions: &[Function], forms: &[Form]) -> String {
    let recursive = unit.recursive();
    let mut out = String::new();
    let _ = writeln!(out, "// Translated from {name} by hadal ndpc.");
    out.push_str("#include <ndpc.h>\n#include <ndpc/ndpc.h>\n\n");
    for function in functions {
        let _ = writeln!(out, "{};", function.signature);
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
        let _ = writeln!(out, "\n{}\n{} {{", function.comment, function.signature);
        if recursive[number] {
            let _ = writeln!(out, "    if (ndpc::is_stack_low()) {{");
            let _ = writeln!(out, "        return ndpc::fail_depth({});", function.depth_site);
            out.push_str("    }\n");
        }
        write_lines(&mut out, &function.lines);
        out.push_str("}\n");
    }
    for function in functions {
        if let Some(binding) = binding(function) {
            out.push_str(&binding.definition);
        }
    }
    if !forms.is_empty() {
        write_program(&mut out, forms);
    }
    out
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
        let _ = writeln!(out, "{};", function.signature);
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
                let _ = writeln!(out, "{};", binding.declaration);
            }
            None => {
                let _ = writeln!(out, "/* {}: only for C++ */", c_name(function));
            }
        }
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

fn write_sites<'s>(out: &mut String, sites: impl Iterator<Item = &'s Site>) {
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

fn write_lines(out: &mut String, lines: &[String]) {
    for line in lines {
        let _ = if line.starts_with('#') { writeln!(out, "{line}") } else { writeln!(out, "    {line}") };
    }
}

fn write_program(out: &mut String, forms: &[Form]) {
    out.push_str("\n#ifndef NDPC_NO_MAIN\n");
    for form in forms {
        write_sites(out, form.sites.iter());
        let _ = writeln!(out, "\nstatic int {}() {{", form.name);
        write_lines(out, &form.lines);
        out.push_str("}\n");
    }
    out.push_str("\nstatic int program() {\n");
    for form in forms {
        let _ = writeln!(out, "    NDPC_TRY({}());", form.name);
    }
    out.push_str("    return ndpc::done;\n}\n\n");
    out.push_str(
        "int main(int argc, char **argv) { return ndpc::run_program(argc, argv, program); }\n#endif\n",
    );
}

/// A function's binding for C.
struct Binding {
    declaration: String,
    definition: String,
}

fn c_name(function: &Function) -> &str {
    let signature = function.signature.strip_prefix("int ").unwrap_or(&function.signature);
    signature.split('(').next().unwrap_or(signature)
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
    let name = c_name(function);
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
    let name = c_name(function);
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
