// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `main` of the translated program: the forms of the top level, and the function `main` applied to arguments.

use std::fmt::Write;

use crate::ctype::declare;
use crate::function::{Form, Function};
use crate::output::{mode_name, write_lines, write_sites};
use crate::writer::quoted;

/// Writes what a program does when it runs.
pub(crate) fn write(out: &mut String, forms: &[Form], main: Option<&Function>) {
    out.push_str("\n#ifndef NDPC_NO_MAIN\n");
    for form in forms {
        write_sites(out, form.sites.iter());
        let mode = if form.forks() { "ndpc::Mode auto mode" } else { "" };
        let _ = writeln!(out, "\nstatic int {}({mode}) {{", form.name);
        write_lines(out, &form.lines);
        out.push_str("}\n");
    }
    if !forms.is_empty() {
        out.push_str("\nstatic int program() {\n");
        write_lines(out, &in_order(forms));
        out.push_str("}\n");
    }
    if let Some(main) = main {
        write_main(out, forms, main);
    }
    let program = if forms.is_empty() { "nullptr" } else { "program" };
    let last = match main {
        Some(main) => {
            let _ = writeln!(
                out,
                "\nstatic constexpr ndpc::Main main_function{{apply_main, {}, {}}};",
                main.parameters.len(),
                quoted(names(main).join(", ").as_bytes())
            );
            "&main_function"
        }
        None => "nullptr",
    };
    let _ = writeln!(
        out,
        "\nint main(int argc, char **argv) {{ return ndpc::run_program(argc, argv, {program}, {last}); }}\n#endif"
    );
}

/// The calls of the forms.
fn in_order(forms: &[Form]) -> Vec<String> {
    let call = |form: &Form| format!("NDPC_TRY({}({}));", form.name, if form.forks() { "mode" } else { "" });
    let mut lines: Vec<String> = forms.iter().map(call).collect();
    lines.push("return ndpc::done;".into());
    lines.iter_mut().for_each(|line| line.insert_str(0, "    "));
    let mode = mode_name(forms.iter().any(Form::forks));
    lines.insert(0, format!("return ndpc::call([](ndpc::Mode auto{mode}) -> int {{"));
    lines.push("});".into());
    lines
}

/// The parameters of `main` with their types, as the language writes them.
fn names(main: &Function) -> Vec<String> {
    main.parameters.iter().map(|(name, ty)| format!("{name} : {ty}")).collect()
}

/// Writes the function that reads the arguments, runs the forms and applies `main`.
fn write_main(out: &mut String, forms: &[Form], main: &Function) {
    let mut lines = Vec::new();
    let mut arguments = vec!["it".to_string()];
    for (number, ((_, ty), shown)) in main.parameters.iter().zip(names(main)).enumerate() {
        let name = format!("argument_{}", number + 1);
        lines.push(declare(ty, &name));
        lines.push(format!("if (!ndpc::read({name}, arguments[{number}], {})) {{", quoted(shown.as_bytes())));
        lines.push("    return ndpc::bad_argument;".into());
        lines.push("}".into());
        arguments.push(name);
    }
    if !forms.is_empty() {
        lines.push("NDPC_TRY(program());".into());
    }
    lines.push(declare(&main.result, "it"));
    lines.push(format!("NDPC_TRY({}({}));", main.name, arguments.join(", ")));
    lines.push(format!(
        "return ndpc::print(\"it\", it, {}, ndpc::argument_site);",
        quoted(main.result.to_string().as_bytes())
    ));
    out.push_str("\nstatic int apply_main(char **arguments) {\n");
    write_lines(out, &lines);
    out.push_str("}\n");
}
