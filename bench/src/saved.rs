// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files of results: written whole or not at all, also while the run still goes on. Such a file can be shown like any other,
//! and holds what the run needs to go on.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::collected::Collected;
use crate::order::Order;
use crate::results::{Mode, Results, Setting};

/// Files that nobody named are removed after this.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);

/// A run that has not ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unfinished {
    pub(crate) order: Order,
    /// Turns done and all turns.
    pub(crate) done: usize,
    pub(crate) turns: usize,
    pub(crate) collected: Collected,
}

/// Reads a file of results.
pub(crate) fn read(file: &Path) -> Result<Results> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not a file of results", file.display()))
}

impl Results {
    /// The file's text, for people and programs; an unfinished run's is for programs.
    pub(crate) fn json(&self) -> Result<String> {
        let text = match self.unfinished {
            Some(_) => serde_json::to_string(self),
            None => serde_json::to_string_pretty(self),
        };
        Ok(text.context("cannot write the results")? + "\n")
    }

    /// Writes the file, in one step where it is a file: who reads it meanwhile, or ends this process, finds the old one or
    /// the new one.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let failed = || format!("cannot write {}", file.display());
        let text = self.json()?;
        if is_special(file) {
            return fs::write(file, text).with_context(failed);
        }
        // Of a link the target is written.
        let target = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let directory = target.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let mut scratch = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)
            .with_context(failed)?;
        scratch.write_all(text.as_bytes()).with_context(failed)?;
        scratch.persist(&target).map_err(|error| error.error).with_context(failed)?;
        Ok(())
    }
}

/// Whether it is a terminal, a pipe or the like, which gets the text once, at the end.
pub(crate) fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// A file for a run whose user named none. Two runs at once have different ones.
pub(crate) fn unnamed(cache: &Path, mode: Mode) -> Result<PathBuf> {
    let directory = cache.join("runs");
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > KEEP) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(directory.join(format!("{}-{}.json", mode.name(), std::process::id())))
}

/// The unfinished run in a file.
pub(crate) fn unfinished(file: &Path) -> Result<(Unfinished, Setting)> {
    let mut results = read(file)?;
    let Some(unfinished) = results.unfinished.take() else {
        bail!("{}: this run has ended; there is nothing to go on with", file.display())
    };
    let setting = results.settings.pop().with_context(|| format!("{}: no setting", file.display()))?;
    Ok((*unfinished, setting))
}

/// Fails unless a run can go on here: turns of different machines or kernels are not one run.
pub(crate) fn check_same(begun: &Setting, now: &Setting) -> Result<()> {
    let guest = |setting: &Setting| setting.linux.clone().unwrap_or_default();
    let variable = |setting: &Setting| setting.variable.clone().unwrap_or_default();
    let parts = [
        ("machine", begun.machine.clone(), now.machine.clone()),
        ("variable of programs", variable(begun), variable(now)),
        ("QEMU", begun.qemu.clone(), now.qemu.clone()),
        ("build", begun.build.clone(), now.build.clone()),
        ("Linux guest", guest(begun), guest(now)),
        ("cores of the host", begun.host_cores.to_string(), now.host_cores.to_string()),
    ];
    for (what, begun, now) in parts {
        ensure!(
            begun == now,
            "the run cannot go on here: {what} was\n  {begun}\nand is now\n  {now}\nMeasure again from the start, or restore \
             what has changed"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::order;
    use crate::results::tests::entry;

    fn begun() -> Results {
        let (order, collected) = (order(Mode::Path, false), Collected::default());
        Results {
            results: vec![entry("a.b", Mode::Path, 1, &[1.0], &[])],
            settings: vec![Setting { qemu: "7".into(), ..Setting::default() }],
            unfinished: Some(Box::new(Unfinished { order, done: 3, turns: 9, collected })),
            ..Results::default()
        }
    }

    #[test]
    fn an_unfinished_file_is_shown_and_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("r.json");
        begun().write(&file).unwrap();
        let (unfinished, setting) = unfinished(&file).unwrap();
        assert_eq!((unfinished.done, setting.qemu.as_str()), (3, "7"));
        let shown = Results::read(std::slice::from_ref(&file)).unwrap();
        assert_eq!((shown.results.len(), shown.unfinished.unwrap().turns), (1, 9));
        Results { unfinished: None, ..begun() }.write(&file).unwrap();
        assert!(super::unfinished(&file).unwrap_err().to_string().contains("this run has ended"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_and_its_target_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("r.json"), dir.path().join("link"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        begun().write(&link).unwrap();
        assert!(link.is_symlink() && read(&file).is_ok());
        assert!(is_special(Path::new("/dev/null")) && !is_special(&dir.path().join("none")));
    }

    #[test]
    fn only_the_same_machine_and_build_go_on() {
        let setting = Setting { qemu: "7".into(), load: [1.0, 2.0], ..Setting::default() };
        let later = Setting { load: [3.0, 4.0], ..setting.clone() };
        assert!(check_same(&setting, &later).is_ok());
        let other = Setting { qemu: "8".into(), ..later };
        let error = check_same(&setting, &other).unwrap_err().to_string();
        assert!(error.contains("QEMU was\n  7\nand is now\n  8"), "{error}");
    }
}
