// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The text of a message: as rustc prints it, with the source line and carets.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Label, Severity, Suggestion};
use crate::source::{FileId, SourceFile, SourceMap, Span};

/// The text of a message, with a newline at the end. `colour` adds the escape codes of terminals.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut main = level.primary_title(&*diagnostic.message).elements(snippets(diagnostic, sources));
    for note in &diagnostic.notes {
        main = main.element(Level::NOTE.message(note.as_str()));
    }
    for help in &diagnostic.helps {
        main = main.element(Level::HELP.message(help.as_str()));
    }
    let mut report = vec![main];
    report.extend(diagnostic.suggestions.iter().filter_map(|suggestion| patch(suggestion, sources)));
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&report);
    text.push('\n');
    text
}

/// One message after another, each followed by an empty line.
pub fn render_all(diagnostics: &[Diagnostic], sources: &SourceMap, colour: bool) -> String {
    diagnostics.iter().map(|diagnostic| render(diagnostic, sources, colour) + "\n").collect()
}

/// The labelled places, one snippet for each text: that of the first label first.
fn snippets<'a>(
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut files: Vec<FileId> = Vec::new();
    for label in &diagnostic.labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    files
        .into_iter()
        .map(|id| {
            let file = sources.file(id);
            let labels = diagnostic.labels.iter().filter(|label| label.span.file == id);
            snippet(file).annotations(labels.map(|label| annotation(label, file)))
        })
        .collect()
}

fn snippet<'a, T: Clone>(file: &'a SourceFile) -> Snippet<'a, T> {
    Snippet::source(file.text()).path(file.name()).line_start(file.first_line() as usize).fold(true)
}

fn annotation<'a>(label: &'a Label, file: &SourceFile) -> annotate_snippets::Annotation<'a> {
    let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let annotation = kind.span(range(label.span, file));
    if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
}

/// The bytes of a place, at borders of characters.
fn range(span: Span, file: &SourceFile) -> std::ops::Range<usize> {
    let text = file.text();
    let border = |byte: u32| {
        let mut byte = (byte as usize).min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    };
    let (start, end) = (border(span.start), border(span.end));
    start..end.max(start)
}

fn patch<'a>(suggestion: &'a Suggestion, sources: &'a SourceMap) -> Option<Group<'a>> {
    let first = suggestion.changes.first()?;
    let file = sources.file(first.0.file);
    let patches = suggestion.changes.iter().map(|(span, text)| Patch::new(range(*span, file), text.as_str()));
    Some(Level::HELP.secondary_title(suggestion.text.as_str()).element(snippet(file).patches(patches)))
}
