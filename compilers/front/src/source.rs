// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Source texts, and places in them.

use std::sync::Arc;

/// A text of a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes of one source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// The smallest range that holds `self` and `other`, which lie in one text.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether all of `other` is in it.
    pub fn contains(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// The empty range just past `self`.
    pub fn after(self) -> Span {
        Span { file: self.file, start: self.end, end: self.end }
    }
}

/// One source text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    id: FileId,
    name: Arc<str>,
    text: Arc<str>,
    first_line: u32,
    line_starts: Arc<[u32]>,
}

impl SourceFile {
    /// The number of this text in its map.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// The name shown in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of the first line: 1, or more for what a prompt reads later.
    pub fn first_line(&self) -> u32 {
        self.first_line
    }

    /// Line and column (in characters), both from 1, of a byte of the text.
    pub fn line_column(&self, byte: u32) -> (u32, u32) {
        let byte = byte.min(self.text.len() as u32);
        let line = self.line_starts.partition_point(|&start| start <= byte) - 1;
        let start = self.line_starts[line];
        let column = self.text.get(start as usize..byte as usize).map_or(0, |text| text.chars().count());
        (self.first_line + line as u32, column as u32 + 1)
    }
}

/// All source texts of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// A map without texts.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a text whose first line has the number 1.
    pub fn add(&mut self, name: &str, text: &str) -> FileId {
        self.add_at_line(name, text, 1)
    }

    /// Adds a text whose first line has the number `first_line`, as a prompt needs it.
    pub fn add_at_line(&mut self, name: &str, text: &str, first_line: u32) -> FileId {
        let id = FileId(self.files.len() as u32);
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        self.files.push(SourceFile {
            id,
            name: name.into(),
            text: text.into(),
            first_line,
            line_starts: line_starts.into(),
        });
        id
    }

    /// Adds a text given as bytes: UTF-8, or (as programs of the nineties may be) Latin-1.
    pub fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> FileId {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.add(name, text),
            Err(_) => self.add(name, &bytes.iter().map(|&byte| char::from(byte)).collect::<String>()),
        }
    }

    /// The text with the number `id`.
    ///
    /// # Panics
    /// If `id` is of another map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// Name, line and column of the start of `span`.
    pub fn position(&self, span: Span) -> (&str, u32, u32) {
        let file = self.file(span.file);
        let (line, column) = file.line_column(span.start);
        (file.name(), line, column)
    }

    /// The text of `span`.
    pub fn snippet(&self, span: Span) -> &str {
        self.file(span.file).text().get(span.start as usize..span.end as usize).unwrap_or("")
    }
}
