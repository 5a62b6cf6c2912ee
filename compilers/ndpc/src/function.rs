// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions, and the forms of the top level.

use hadal_front::typed::{Pattern, PatternKind, Value};
use hadal_front::types::Type;

use crate::call::parameters;
use crate::ctype::{cpp, declare, is_scalar, parameter};
use crate::unit::{Site, Unit};
use crate::writer::{Writer, mentions, quoted};

/// A translated function.
pub(crate) struct Function {
    pub(crate) name: String,
    /// Its parameters in C++, without names for those that nobody reads.
    declared: Vec<String>,
    /// Whether the source calls it `main`.
    pub(crate) is_main: bool,
    /// Its clones take a mode ahead of the rest.
    pub(crate) forks: bool,
    /// What stands above it.
    pub(crate) comment: String,
    /// The statements.
    pub(crate) lines: Vec<String>,
    pub(crate) sites: Vec<Site>,
    /// The site of a recursion that goes too deep.
    pub(crate) depth_site: String,
    pub(crate) parameters: Vec<(String, Type)>,
    pub(crate) result: Type,
}

impl Function {
    /// What callers of the program see: `int f(int &result, int n)`.
    pub(crate) fn entry_signature(&self) -> String {
        let mut text = format!("int {}({} &result", self.name, cpp(&self.result));
        for (name, ty) in &self.parameters {
            text.push_str(", ");
            text.push_str(&parameter(ty, name));
        }
        text + ")"
    }

    /// What the program itself calls: `static inline int f(ndpc::Mode auto mode, int n)`.
    pub(crate) fn signature(&self) -> String {
        let mode = self.forks.then(|| "ndpc::Mode auto mode".to_string());
        let parameters: Vec<String> = mode.into_iter().chain(self.declared.iter().cloned()).collect();
        format!("static inline {} {}({})", cpp(&self.result), self.name, parameters.join(", "))
    }
}

/// A translated form.
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
    pub(crate) sites: Vec<Site>,
    /// Declarations of the variables it binds.
    pub(crate) variables: Vec<String>,
}

impl Form {
    /// Whether it takes a mode, for loops of its own or what it calls.
    pub(crate) fn forks(&self) -> bool {
        self.lines.iter().any(|line| mentions(line, "mode"))
    }
}

/// Translates the function of an instance.
pub(crate) fn function(unit: &mut Unit<'_>, number: usize) -> Function {
    let instance = &unit.instances[number];
    let (name, types) = (instance.name.clone(), instance.types.clone());
    let source = unit.functions[&instance.function];
    let mut closed = |ty: &Type| unit_type(&ty.instantiate(&types));
    let body = source.body.map(&mut closed, &mut |id| id);
    let pattern = source.pattern.map(&mut closed, &mut |id| id);
    let (file, line, _) = unit.sources.position(source.name_span);
    let comment = format!(
        "// {file}:{line}: {} : {}",
        source.name,
        Type::function(pattern.ty.clone(), body.ty.clone())
    );
    let mut writer = Writer::new(unit, &source.name, &name, &body);
    writer.instance = Some(number);
    writer.check_type(&pattern.ty, source.name_span);
    writer.check_type(&body.ty, source.name_span);
    let depth_site = writer.site(source.name_span);
    let mut named = Vec::new();
    let mut declared = Vec::new();
    for part in parameters(&pattern) {
        let parameter_name = part_name(&mut writer, part);
        declared.push(parameter(&part.ty, &parameter_name));
        let is_read = !parameter_name.starts_with("/*");
        if is_read && is_scalar(&part.ty) {
            writer.constant_parameter(&parameter_name);
        }
        writer.parameters.push(is_read.then(|| (parameter_name.clone(), part.ty.clone())));
        named
            .push((parameter_name.trim_start_matches("/* ").trim_end_matches(" */").into(), part.ty.clone()));
    }
    writer.write_tail(&body);
    let mut lines = std::mem::take(&mut writer.block.lines);
    lines.push("return result;".into());
    if writer.is_loop {
        lines = std::iter::once("for (;;) {".to_string())
            .chain(
                lines
                    .into_iter()
                    .map(|line| if line.starts_with('#') { line } else { format!("    {line}") }),
            )
            .chain(["}".to_string()])
            .collect();
    }
    lines.insert(0, declare(&body.ty, "result"));
    Function {
        declared,
        name,
        is_main: source.name.eq_ignore_ascii_case("main"),
        forks: unit.takes_mode(number),
        comment,
        lines,
        sites: std::mem::take(&mut unit.sites),
        depth_site,
        parameters: named,
        result: body.ty,
    }
}

/// The name of a parameter, commented out if nobody reads it.
fn part_name(writer: &mut Writer<'_, '_>, part: &Pattern) -> String {
    match &part.kind {
        PatternKind::Bind(id, name) => {
            let name = writer.names.fresh(name);
            writer.places.insert(*id, name.clone());
            if writer.is_used(*id) { name } else { format!("/* {name} */") }
        }
        _ => {
            let name = writer.names.fresh("argument");
            let before = writer.block.lines.len();
            writer.destructure(part, &name);
            if writer.block.lines.len() == before { format!("/* {name} */") } else { name }
        }
    }
}

/// Translates a top-level value.
pub(crate) fn form(unit: &mut Unit<'_>, value: &Value, number: usize) -> Form {
    let mut closed = |ty: &Type| unit_type(ty);
    let body = value.value.map(&mut closed, &mut |id| id);
    let pattern = value.pattern.map(&mut closed, &mut |id| id);
    let shown = if value.is_expression { "it".to_string() } else { pattern_text(&value.pattern) };
    let form_name = unit.names.fresh(&format!("form_{number}"));
    let mut variables = Vec::new();
    let mut targets = Vec::new();
    for (id, name, ty) in pattern.bindings() {
        let variable = unit.names.fresh(name);
        variables.push(format!("static {}", declare(ty, &variable)));
        targets.push((id, variable));
    }
    let mut writer = Writer::new(unit, "top level", &form_name, &body);
    writer.check_type(&body.ty, value.span);
    writer.mark(value.span);
    let whole = match &pattern.kind {
        PatternKind::Bind(..) => targets[0].1.clone(),
        _ => writer.temporary(&body.ty),
    };
    writer.write_into(&body, &whole);
    if !matches!(pattern.kind, PatternKind::Bind(..)) {
        assign(&mut writer, &pattern, &whole, &targets);
    }
    let site = writer.site(value.span);
    let ty = format!("{}", body.ty);
    writer.line(format!(
        "return ndpc::print({}, {whole}, {}, {site});",
        quoted(shown.as_bytes()),
        quoted(ty.as_bytes())
    ));
    let lines = std::mem::take(&mut writer.block.lines);
    // Only later forms see the variables.
    for ((binding, global), (_, variable)) in value.globals.iter().zip(&targets) {
        debug_assert!(targets.iter().any(|(id, _)| id == binding));
        unit.values.insert(*global, variable.clone());
    }
    Form { name: form_name, lines, sites: std::mem::take(&mut unit.sites), variables }
}

fn assign(
    writer: &mut Writer<'_, '_>,
    pattern: &Pattern,
    place: &str,
    targets: &[(hadal_front::typed::BindingId, String)],
) {
    match &pattern.kind {
        PatternKind::Bind(id, _) => {
            if let Some((_, variable)) = targets.iter().find(|(target, _)| target == id) {
                writer.line(format!("{variable} = {place};"));
            }
        }
        PatternKind::Pair(first, second) => {
            assign(writer, first, &format!("{place}.first"), targets);
            assign(writer, second, &format!("{place}.second"), targets);
        }
        PatternKind::Data(..) => {
            writer.refuse("NDPC has no datatypes", pattern.span, "use a tuple");
        }
    }
}

fn pattern_text(pattern: &Pattern) -> String {
    match &pattern.kind {
        PatternKind::Bind(_, name) => name.to_string(),
        PatternKind::Pair(first, second) => {
            let first_text = pattern_text(first);
            let first_text = if matches!(first.kind, PatternKind::Pair(..)) {
                format!("({first_text})")
            } else {
                first_text
            };
            format!("{first_text}, {}", pattern_text(second))
        }
        PatternKind::Data(data, content) => format!("{}({})", data.name, pattern_text(content)),
    }
}

/// What nothing decides is an int.
fn unit_type(ty: &Type) -> Type {
    match ty {
        Type::Param(_) => Type::Int,
        _ => ty.map_parts(&mut unit_type),
    }
}
