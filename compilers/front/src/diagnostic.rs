// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages about a program: what is wrong, where, why, and what to do.

use crate::source::Span;

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program cannot be compiled.
    Error,
    /// The program can be compiled, but it may not do what its author meant.
    Warning,
}

/// A text beside a place of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What there is to say about it; may be empty.
    pub text: String,
    /// Whether this is the place of the mistake itself, not one that explains it.
    pub primary: bool,
}

/// A change of the source that would mend the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What the change does.
    pub text: String,
    /// The changes: each range and what to write there.
    pub changes: Vec<(Span, String)>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Diagnostic {
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, in one line without a full stop.
    pub message: Box<str>,
    /// Places; the first is where the message points to.
    pub labels: Vec<Label>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// What to do, in words.
    pub helps: Vec<String>,
    /// What to do, as changes of the source.
    pub suggestions: Vec<Suggestion>,
    /// Whether this only follows from an earlier error, so that a file's report leaves it out.
    pub consequence: bool,
}

impl Diagnostic {
    /// An error at `span`; `label` is the text beside the place, may be empty.
    pub fn error(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into().into(),
            labels: vec![Label { span, text: label.into(), primary: true }],
            notes: Vec::new(),
            helps: Vec::new(),
            suggestions: Vec::new(),
            consequence: false,
        }
    }

    /// A warning at `span`.
    pub fn warning(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message, span, label) }
    }

    /// Adds a place that explains the mistake.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: false });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds advice.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }

    /// Adds a change of the source that would mend the mistake.
    pub fn suggest(mut self, text: impl Into<String>, changes: Vec<(Span, String)>) -> Diagnostic {
        self.suggestions.push(Suggestion { text: text.into(), changes });
        self
    }

    /// Marks the message as one that only follows from an earlier error.
    pub fn as_consequence(mut self) -> Diagnostic {
        self.consequence = true;
        self
    }

    /// Where the message points to.
    pub fn span(&self) -> Span {
        self.labels[0].span
    }
}
