// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages in a browser without a window: what a script finds that looks at every text of a page ([`LAYOUT`]).
//!
//! The browser writes the document as it is after its scripts have run (`--dump-dom`), with the findings in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use crate::error::TestError;
use crate::run;

/// Looks for faults of layout: horizontal scrolling, texts outside their boxes, texts that meet, little contrast.
const LAYOUT: &str = include_str!("browser/layout.js");

const BROWSERS: [&str; 3] = ["chromium-headless-shell", "chromium", "google-chrome"];
const REMEDY: &str = "apt-get install chromium-headless-shell (or chromium)";

/// A start on a loaded machine takes several seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// How a page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Width of the window in pixels.
    pub width: u32,
    /// Whether the user prefers dark colours.
    pub dark: bool,
}

/// The faults of a page's layout. The browser's files and a copy of the page are put beside the page.
///
/// # Errors
///
/// When no browser is installed, or it does not show the page in this way.
pub fn layout_faults(page: &Path, view: View) -> Result<Vec<String>, TestError> {
    let text = fs::read_to_string(page).map_err(TestError::io(format!("cannot read {}", page.display())))?;
    let Some((body, end)) = text.rsplit_once("</body>") else {
        return Err(TestError::Wrong(format!("{} is cut: it has no end", page.display())));
    };
    let checked = page.with_extension("checked.html");
    let text = format!("{body}<script>{LAYOUT}</script></body>{end}");
    fs::write(&checked, text).map_err(TestError::io(format!("cannot write {}", checked.display())))?;
    let mut command = Command::new(browser()?);
    // The page is the tests' own: it needs no sandbox, which root and containers cannot have.
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    command.arg(format!("--window-size={},1000", view.width));
    command.arg(format!("--blink-settings=preferredColorScheme={}", if view.dark { 0 } else { 1 }));
    command.arg(format!("--user-data-dir={}", page.with_extension("browser").display()));
    command.arg(format!("file://{}", checked.display()));
    let outcome = run::run(command, b"", LIMIT)?;
    let dump = outcome.stdout_text();
    let findings = dump.rsplit_once("<pre id=\"layout\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let mut lines = findings.map_or("", |(findings, _)| findings).lines();
    let shown = format!("window: {} pixels, {},", view.width, if view.dark { "dark" } else { "light" });
    if !lines.next().is_some_and(|line| line.starts_with(&shown)) || lines.next_back() != Some("done") {
        return Err(TestError::Wrong(format!("the browser did not show the page with {view:?}\n{outcome}")));
    }
    Ok(lines.map(|line| line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).collect())
}

/// The first browser that is installed.
fn browser() -> Result<PathBuf, TestError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = |name: &&str| {
        env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
    };
    let found = BROWSERS.iter().find_map(installed);
    found.ok_or_else(|| TestError::Missing { tool: BROWSERS[0].to_owned(), remedy: REMEDY })
}
