// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stress: all primitives at once for some seconds. `hadal-stress` does the same for hours.

use std::path::PathBuf;
use std::time::Duration;

use hadal_tests::case::expect_status;
use hadal_tests::machine::arguments;
use hadal_tests::programs::STRESS;
use hadal_tests::{Hadal, TestError, Way, image, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [2, 8] {
        suite.hadal(format!("stress/run/{cpus}cpus"), move |name| {
            stress(name, cpus, STRESS.build(Way::GccDynamic)?, "--seconds=5")
        });
        suite.hadal_in_all(format!("stress/longer/{cpus}cpus"), move |name| {
            stress(name, cpus, STRESS.build(Way::GccDynamic)?, "--seconds=60")
        });
    }
    suite.hadal("stress/image/8cpus", |name| {
        let directory = scratch::empty_directory(&format!("{name}-build"))?;
        stress(name, 8, image::build(&directory, &STRESS, Way::GccDynamic, &[])?, "--seconds=5")
    });
}

/// The time limit leaves the program room to say what does not get on.
fn stress(name: &str, cpus: u32, program: PathBuf, time: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let machine = Hadal::new(cpus).cwd(&directory).limit(Duration::from_secs(150)).alone();
    expect_status(&machine.run(&program, &arguments(&[time, "--seed=4", "--stall=60"]))?, 0)
}
