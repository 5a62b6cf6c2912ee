// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiling sources of the tree with sanitizers of gcc, for Linux.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::expect_status;
use hadal_tests::{TestError, run, scratch};

use crate::model::files;

pub(crate) const COMPILER_LIMIT: Duration = Duration::from_secs(600);

/// Finds races.
pub(crate) const THREAD: &[&str] = &["-fsanitize=thread"];
/// Finds wrong addresses, leaks and undefined behaviour.
pub(crate) const ADDRESS: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];

/// Folders of libhrt for Linux, and their sources' extensions.
pub(crate) const LIBHRT: [(&str, &str); 4] =
    [("runtimes/hrt", "c"), ("runtimes/hrt", "S"), ("runtimes/hrt/sync", "c"), ("runtimes/hrt/linux", "c")];

/// Compiles folders of sources, each with one extension, and gives the object files.
pub(crate) fn objects(
    work: &Path,
    folders: &[(&str, &str)],
    options: &[&str],
) -> Result<Vec<PathBuf>, TestError> {
    let root = scratch::workspace();
    let mut objects = Vec::new();
    for (folder, extension) in folders {
        // Files of different folders have the same names.
        let objects_of_folder = work.join(folder.replace('/', "-")).join(extension);
        scratch::make_empty(&objects_of_folder)?;
        let is_cpp = *extension == "cpp";
        let mut command = Command::new(if is_cpp { "g++" } else { "gcc" });
        command.current_dir(&objects_of_folder).args(["-c", "-O1", "-g", "-fPIC", "-fvisibility=hidden"]);
        command.args(options).arg("-Wno-tsan");
        if is_cpp {
            command.args(["-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]);
        } else if *extension == "c" {
            command.arg("-std=gnu11");
        }
        for directory in ["kernel/hrt/include", "runtimes/hrt", "runtimes/openmp"] {
            command.arg("-I").arg(root.join(directory));
        }
        command.args(files(&root.join(folder), extension)?);
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
        objects.extend(files(&objects_of_folder, "o")?);
    }
    Ok(objects)
}
