// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links between pages lead somewhere, in the source tree and in the built book.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{markdown_files, read};
use crate::error::TestError;
use crate::scratch;

/// The pages of the book, and its table of contents.
const BOOK: &str = "docs/src";
const SUMMARY: &str = "docs/src/SUMMARY.md";

/// What a page offers, and where it leads.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    /// Names of its headings in a link.
    anchors: BTreeSet<String>,
    /// Lines and destinations of its links.
    links: Vec<(usize, String)>,
}

/// Every link that leads nowhere, as `FILE:LINE: REASON`.
pub fn dead() -> Result<Vec<String>, TestError> {
    let mut pages = BTreeMap::new();
    let mut included = BTreeSet::new();
    for file in markdown_files()? {
        let source = read(&file)?;
        let mut page = parse(&source);
        for path in includes(&source) {
            let path = resolved(&file, path);
            page.anchors.extend(parse(&read(&path)?).anchors);
            included.insert(path);
        }
        pages.insert(file, page);
    }
    let links = |file: &str| pages.get(file).map_or(&[][..], |page| &page.links);
    let chapters: BTreeSet<String> = links(SUMMARY).iter().map(|(_, to)| resolved(SUMMARY, to)).collect();
    let in_book = |file: &str| file.starts_with(BOOK);
    let mut dead = Vec::new();
    for file in pages.keys().filter(|file| in_book(file) && *file != SUMMARY && !chapters.contains(*file)) {
        dead.push(format!("{file}:1: the page is not in {SUMMARY}"));
    }
    for (file, page) in &pages {
        for (line, link) in page.links.iter().filter(|(_, link)| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { resolved(file, path) };
            let mut report = |reason: &str| dead.push(format!("{file}:{line}: {link} {reason}"));
            if !scratch::workspace().join(&target).exists() {
                report("does not exist");
            } else if in_book(file) && !chapters.contains(&target) {
                report("is not a page of the book, and leads nowhere there");
            } else if included.contains(file) && !path.is_empty() {
                report("leads elsewhere in the book, which includes this file: name the file instead");
            } else if !anchor.is_empty()
                && !pages.get(&target).is_some_and(|page| page.anchors.contains(anchor))
            {
                report("has no such heading");
            }
        }
    }
    Ok(dead)
}

/// The path in the tree to which a link in `file` leads.
fn resolved(file: &str, link: &str) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(file).parent().into_iter().chain([Path::new(link)]).flat_map(Path::components) {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().into_owned()
}

/// Files that mdBook puts into a page.
fn includes(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| line.trim().strip_prefix("{{#include ")?.strip_suffix("}}"))
}

fn parse(source: &str) -> Page {
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    for (event, range) in Parser::new_ext(source, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                if let Some(text) = heading.take() {
                    insert_anchor(&mut page.anchors, &text);
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = source[..range.start].matches('\n').count() + 1;
                page.links.push((line, dest_url.into_string()));
            }
            _ => {}
        }
    }
    page
}

/// Adds the name that GitHub and mdBook give a heading: small letters, blanks as hyphens, no punctuation, a number where
/// there is such a name already.
fn insert_anchor(anchors: &mut BTreeSet<String>, heading: &str) {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter(|&c| c.is_alphanumeric() || "-_ ".contains(c));
    let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
    let mut numbered = name.clone();
    for number in 1.. {
        if anchors.insert(numbered) {
            return;
        }
        numbered = format!("{name}-{number}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found() {
        let page = parse(
            "# A `b` page: x_y\n\n[one](two.md)\n\n| t |\n| - |\n| [c](d.md#e) |\n\n## Same\n## Same\n",
        );
        assert_eq!(page.links, [(3, "two.md".to_owned()), (7, "d.md#e".to_owned())]);
        let anchors: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
        assert_eq!(anchors, ["a-b-page-x_y", "same", "same-1"]);
    }

    #[test]
    fn paths_are_those_of_the_tree() {
        assert_eq!(resolved("docs/src/a.md", "../../README.md"), "README.md");
        assert_eq!(resolved("README.md", "./docs/src/a.md"), "docs/src/a.md");
        assert_eq!(includes("x\n{{#include ../a.md}}\n").collect::<Vec<_>>(), ["../a.md"]);
    }
}
