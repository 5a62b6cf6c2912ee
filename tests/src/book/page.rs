// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A page as a reader meets it: files that it lists, and console blocks, in order.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::console::{self, Console, Treatment};

/// Languages in which a command would be hidden from the tests.
const SHELLS: [&str; 4] = ["sh", "bash", "shell", "shell-session"];

/// What a page asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A listing that the paragraph before it names: the reader saves it.
    File {
        /// Name in the page's directory.
        name: String,
        /// What the listing shows.
        text: String,
    },
    /// Commands that the page does not show: they make what the reader has of his own.
    Before {
        /// Line of the comment in the page.
        line: usize,
        /// What a shell gets.
        commands: String,
    },
    /// A console block.
    Console(Console),
}

/// Comments that wait for the block that they are about.
#[derive(Debug, Default)]
struct Waiting {
    line: usize,
    treatment: Option<Treatment>,
    within: Option<String>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.treatment.is_none() && self.within.is_none()
    }
}

/// The steps of a page. An error begins with the line.
pub fn steps(source: &str) -> Result<Vec<Step>, String> {
    let line_of = |offset: usize| source[..offset].matches('\n').count() + 1;
    let mut steps = Vec::new();
    let mut waiting = Waiting::default();
    // The name that the last paragraph gives to a listing directly below it.
    let mut name = None;
    let mut block: Option<(usize, Option<String>, String)> = None;
    for (event, range) in Parser::new(source).into_offset_iter() {
        match event {
            Event::Start(Tag::HtmlBlock) => {
                comment(&source[range.clone()], line_of(range.start), &mut waiting, &mut steps)?;
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => Some(info.into_string()),
                    CodeBlockKind::Indented => None,
                };
                block = Some((line_of(range.start), info, String::new()));
            }
            Event::Text(text) if block.is_some() => {
                if let Some((_, _, content)) = &mut block {
                    content.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((line, info, text)) = block.take() {
                    steps.extend(code_block(line, info.as_deref(), text, name.take(), &mut waiting)?);
                }
            }
            Event::Start(Tag::Paragraph) => name = listing_name(&source[range]),
            Event::Start(Tag::Heading { .. }) => name = None,
            _ => {}
        }
    }
    if waiting.is_empty() {
        return Ok(steps);
    }
    Err(format!("{}: a comment about a console block, and none follows", waiting.line))
}

/// Reads `<!-- console WORD: TEXT -->`.
fn comment(html: &str, line: usize, waiting: &mut Waiting, steps: &mut Vec<Step>) -> Result<(), String> {
    let Some(text) = html.trim().strip_prefix("<!--").and_then(|text| text.strip_suffix("-->")) else {
        return Ok(());
    };
    let Some(text) = text.trim().strip_prefix("console ") else { return Ok(()) };
    let (word, text) = text.split_once(':').unwrap_or((text, ""));
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(format!("{line}: nothing follows `console {word}:`"));
    }
    waiting.line = line;
    match word {
        "before" => steps.push(Step::Before { line, commands: text }),
        "within" => waiting.within = Some(text),
        "not compared" => waiting.treatment = Some(Treatment::NotCompared(text)),
        "not run" => waiting.treatment = Some(Treatment::NotRun(text)),
        _ => {
            return Err(format!(
                "{line}: `console {word}` is unknown: before, within, not compared, not run"
            ));
        }
    }
    Ok(())
}

/// What a block of code is: a console, or a listing with or without a name.
fn code_block(
    line: usize,
    info: Option<&str>,
    text: String,
    name: Option<String>,
    waiting: &mut Waiting,
) -> Result<Option<Step>, String> {
    let mut words = info.unwrap_or_default().split(',').map(str::trim);
    let language = words.next().unwrap_or_default();
    if language.is_empty() {
        return Err(format!(
            "{line}: code without a language: use a fence with `console`, `text` or the language"
        ));
    }
    if SHELLS.contains(&language)
        || (language != "console" && text.lines().any(|line| line.starts_with("$ ")))
    {
        return Err(format!("{line}: a command outside a `console` block is not tested"));
    }
    if language != "console" {
        return match waiting.is_empty() {
            true => Ok(name.map(|name| Step::File { name, text })),
            false => Err(format!("{}: a comment about a console block, and a listing follows", waiting.line)),
        };
    }
    let (mut numbers, mut background) = (false, false);
    for word in words {
        match word {
            "numbers" => numbers = true,
            "background" => background = true,
            _ => return Err(format!("{line}: `console,{word}` is unknown: numbers, background")),
        }
    }
    let waiting = std::mem::take(waiting);
    let commands = console::commands(&text, line, waiting.within)?;
    let treatment = waiting.treatment.unwrap_or(Treatment::Compared);
    Ok(Some(Step::Console(Console { line, treatment, numbers, background, commands })))
}

/// The name of a file with which a paragraph ends: `` ... `sum.c`: ``.
fn listing_name(paragraph: &str) -> Option<String> {
    let (_, name) = paragraph.trim_end().strip_suffix("`:")?.rsplit_once('`')?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (plain && name.contains('.')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(source: &str) -> Console {
        match steps(source).unwrap().pop() {
            Some(Step::Console(console)) => console,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_named_listing_is_a_file() {
        let page = "This is `sum.c`:\n\n```c\nint x;\n```\n\nAnd:\n\n```c\nint y;\n```\n";
        assert_eq!(steps(page).unwrap(), [Step::File { name: "sum.c".into(), text: "int x;\n".into() }]);
        for paragraph in ["`hadal run`:", "`sum.c`", "`a/b.c`:", "See below:"] {
            assert_eq!(listing_name(paragraph), None, "{paragraph}");
        }
    }

    #[test]
    fn attributes_and_comments_describe_a_block() {
        let block = console("text\n\n```console,numbers,background\n$ a\n1\n```\n");
        assert!(block.numbers && block.background);
        assert_eq!((block.line, block.treatment), (3, Treatment::Compared));
        let block = console("<!-- console not run: needs a disc -->\n```console\n$ a\n```\n");
        assert_eq!(block.treatment, Treatment::NotRun("needs a disc".into()));
        let block = console("<!-- console not compared:\nvaries -->\n\n```console\n$ a\n```\n");
        assert_eq!(block.treatment, Treatment::NotCompared("varies".into()));
        let block = console("<!-- console within: gdb a -->\n\n```console\n(gdb) continue\n```\n");
        assert_eq!(block.commands[0].text, "gdb a");
        let page = "<!-- console before:\nmake a\n\nmake b\n-->\n";
        let commands = "make a\n\nmake b".to_owned();
        assert_eq!(steps(page).unwrap(), [Step::Before { line: 1, commands }]);
    }

    #[test]
    fn code_that_no_test_sees_is_an_error() {
        for page in [
            "    hadal run a\n",
            "```\nhadal run a\n```\n",
            "```sh\nhadal run a\n```\n",
            "```text\n$ hadal run a\n```\n",
            "```console,loud\n$ a\n```\n",
            "<!-- console not run: -->\n```console\n$ a\n```\n",
            "<!-- console not run: why -->\n",
            "<!-- console not run: why -->\n```c\nint x;\n```\n",
            "<!-- console sometimes: why -->\n",
        ] {
            assert!(steps(page).is_err(), "{page}");
        }
    }

    #[test]
    fn blocks_in_lists_and_other_comments_are_read() {
        let page = "<!-- a note -->\n\n- item\n\n  ```console\n  $ a\n  b\n  ```\n";
        assert_eq!(console(page).commands[0].output, ["b"]);
    }
}
