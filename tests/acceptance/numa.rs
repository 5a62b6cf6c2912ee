// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.3: memory zones.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{AFFINITY, POLICY, ZONES};
use hadal_tests::{Hadal, TestError, Way, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("numa/4-zones", |name| zones(name, 4, 8, None));
    suite.hadal("numa/2-zones-distance-30", |name| zones(name, 2, 4, Some(30)));
    suite.hadal("numa/1-zone", |name| zones(name, 1, 2, None));
    suite.compare("numa/policy", &POLICY, Way::GccDynamic, 2, |case| case);
    for zones in [1, 2, 4] {
        suite.hadal(format!("numa/policy/{zones}"), move |name| policy(name, zones));
    }
    suite.hadal("numa/affinity", |name| {
        let directory = scratch::empty_directory(name)?;
        let hadal = Hadal::new(8).with("--numa", "4").with("--memory", "2G").cwd(&directory);
        let outcome = hadal.run(&AFFINITY.build(Way::GccDynamic)?, &arguments(&["count"]))?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "CPUID names the processor asked for\n8 processors\n")
    });
}

fn zones(name: &str, zones: u32, cpus: u32, distance: Option<u8>) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let mut hadal = Hadal::new(cpus).with("--numa", zones.to_string()).with("--memory", "2G").cwd(&directory);
    if let Some(distance) = distance {
        hadal = hadal.with("--numa-distance", distance.to_string());
    }
    let program = ZONES.build(Way::GccDynamic)?;
    let outcome = hadal.limit(Duration::from_secs(90)).run(&program, &arguments(&[zones.to_string()]))?;
    expect_status(&outcome, 0)?;
    let share = cpus / zones;
    let mut expected = String::new();
    for zone in 0..zones {
        let first = zone * share;
        let distances: Vec<String> = (0..zones)
            .map(|other| if other == zone { 10 } else { distance.unwrap_or(20) }.to_string())
            .collect();
        let last = first + share - 1;
        expected += &format!("zone {zone}: processors {first}-{last}, distances {}\n", distances.join(" "));
    }
    for zone in 0..zones {
        expected += &format!("zone {zone}: first touch is local\n");
    }
    expect_stdout(&outcome, &expected)
}

/// Pages are where policies want them, and move.
fn policy(name: &str, zones: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal =
        Hadal::new(2 * zones).with("--numa", zones.to_string()).with("--memory", "2G").cwd(&directory);
    let program = POLICY.build(Way::GccDynamic)?;
    let outcome = hadal.limit(Duration::from_secs(90)).run(&program, &arguments(&[zones.to_string()]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "bound\nin turn\nmoved\nmoved under writes\n")
}
