// SPDX-License-Identifier: Apache-2.0 OR MIT
//! README, the book and the other pages of the tree: what they show on a console is true, and their links lead somewhere.

use hadal_tests::TestError;
use hadal_tests::book::console::Treatment;
use hadal_tests::book::page::{Step, steps};
use hadal_tests::book::{links, markdown_files, options, read, session};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    suite.host("book/links", || expect_none(&links::dead()?));
    suite.hadal("book/options", |_| expect_none(&options::unknown()?));
    suite.host("book/blocks", blocks);
    for page in markdown_files().unwrap_or_default() {
        let found = read(&page).ok().and_then(|source| steps(&source).ok()).unwrap_or_default();
        let runs = |step: &Step| matches!(step, Step::Console(block) if !matches!(block.treatment, Treatment::NotRun(_)));
        if found.iter().any(runs) {
            suite.hadal(format!("book/{page}"), move |_| session::run(&page));
        }
    }
}

fn expect_none(faults: &[String]) -> Result<(), TestError> {
    if faults.is_empty() { Ok(()) } else { Err(TestError::Wrong(faults.join("\n"))) }
}

/// Every block of code of every page is run, or a listing, or says why it is not run. Prints those that are not run.
fn blocks() -> Result<(), TestError> {
    let mut errors = Vec::new();
    let mut left_out = Vec::new();
    let (mut compared, mut run) = (0, 0);
    for page in markdown_files()? {
        let found = steps(&read(&page)?).unwrap_or_else(|error| {
            errors.push(format!("{page}:{error}"));
            Vec::new()
        });
        for step in found {
            let Step::Console(block) = step else { continue };
            let reason = match &block.treatment {
                Treatment::Compared if block.shows_output() => {
                    compared += 1;
                    continue;
                }
                Treatment::Compared => {
                    run += 1;
                    continue;
                }
                Treatment::NotCompared(reason) => format!("not compared: {reason}"),
                Treatment::NotRun(reason) => format!("not run: {reason}"),
            };
            left_out.push(format!("  {page}:{}: {reason}", block.line));
        }
    }
    eprintln!("console blocks of the pages: {compared} run and compared, {run} run, these not:");
    eprintln!("{}", left_out.join("\n"));
    expect_none(&errors)
}
