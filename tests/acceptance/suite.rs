// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list of tests in the making.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hadal_tests::machine::native_only;
use hadal_tests::{Case, Program, TestError, Way};
use libtest_mimic::{Failed, Trial};

/// How many of the slowest tests the end of a run names.
const NAMED: usize = 40;

/// How long each test took that has ended.
#[derive(Clone, Default)]
pub(crate) struct Times(Arc<Mutex<Vec<(Duration, String)>>>);

impl Times {
    fn add(&self, name: String, time: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((time, name));
    }

    /// Says where the time of a run of many tests went: to which parts, and to which tests.
    pub(crate) fn print(&self) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() <= NAMED {
            return;
        }
        let total: Duration = times.iter().map(|(time, _)| *time).sum();
        let mut parts: BTreeMap<&str, (Duration, usize)> = BTreeMap::new();
        for (time, name) in times.iter() {
            let part = parts.entry(name.split('/').next().unwrap_or(name)).or_default();
            *part = (part.0 + *time, part.1 + 1);
        }
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts.sort_by_key(|(_, (time, _))| std::cmp::Reverse(*time));
        println!("{} tests took {:.0} s together, by part:", times.len(), total.as_secs_f64());
        for (part, (time, tests)) in parts {
            println!("{:8.1} s  {part} ({tests})", time.as_secs_f64());
        }
        times.sort_by(|a, b| b.cmp(a));
        println!("the slowest:");
        for (time, name) in times.iter().take(NAMED) {
            println!("{:8.1} s  {name}", time.as_secs_f64());
        }
    }
}

/// When a test runs that takes long.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    /// Always but in a quick run.
    Slow,
    /// Under `hadal test --all`.
    All,
}

/// Tests, and what of them is wanted.
pub(crate) struct Suite {
    trials: Vec<Trial>,
    times: Times,
    quick: bool,
    all: bool,
    native: bool,
}

impl Suite {
    /// An empty list with the choices of the environment.
    pub(crate) fn from_environment() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| value != "0");
        Self {
            trials: Vec::new(),
            times: Times::default(),
            quick: is_set("HADAL_TESTS_QUICK"),
            all: is_set("HADAL_TESTS_ALL"),
            native: native_only(),
        }
    }

    /// A comparison of a program on both systems; `set` gives it arguments and environment.
    pub(crate) fn compare(
        &mut self,
        name: impl Into<String>,
        program: &'static Program,
        way: Way,
        cpus: u32,
        set: impl FnOnce(Case) -> Case,
    ) {
        self.comparison(false, name, program, way, cpus, set);
    }

    /// The same, when it takes long.
    pub(crate) fn compare_slow(
        &mut self,
        name: impl Into<String>,
        program: &'static Program,
        way: Way,
        cpus: u32,
        set: impl FnOnce(Case) -> Case,
    ) {
        self.comparison(self.quick, name, program, way, cpus, set);
    }

    /// The same, when it belongs to the set of `hadal test --all`.
    pub(crate) fn compare_in_all(
        &mut self,
        name: impl Into<String>,
        program: &'static Program,
        way: Way,
        cpus: u32,
        set: impl FnOnce(Case) -> Case,
    ) {
        self.comparison(!self.all, name, program, way, cpus, set);
    }

    fn comparison(
        &mut self,
        left_out: bool,
        name: impl Into<String>,
        program: &'static Program,
        way: Way,
        cpus: u32,
        set: impl FnOnce(Case) -> Case,
    ) {
        let name = name.into();
        let case = set(Case::new(&name, program, way, cpus));
        self.push(name, left_out, move || case.compare());
    }

    /// A test of a comparison that expects more than equality.
    pub(crate) fn case(
        &mut self,
        name: impl Into<String>,
        program: &'static Program,
        way: Way,
        cpus: u32,
        test: impl FnOnce(Case) -> Result<(), TestError> + Send + 'static,
    ) {
        let name = name.into();
        let case = Case::new(&name, program, way, cpus);
        self.push(name, false, move || test(case));
    }

    /// A test of the source tree: no machine is started.
    pub(crate) fn host(
        &mut self,
        name: impl Into<String>,
        test: impl FnOnce() -> Result<(), TestError> + Send + 'static,
    ) {
        self.push(name.into(), false, test);
    }

    /// The same, when it takes long.
    pub(crate) fn host_slow(
        &mut self,
        name: impl Into<String>,
        test: impl FnOnce() -> Result<(), TestError> + Send + 'static,
    ) {
        self.push(name.into(), self.quick, test);
    }

    /// A test that needs Hadal; it gets its own name.
    pub(crate) fn hadal(
        &mut self,
        name: impl Into<String>,
        test: impl FnOnce(&str) -> Result<(), TestError> + Send + 'static,
    ) {
        let name = name.into();
        let own = name.clone();
        self.push(name, self.native, move || test(&own));
    }

    /// The same, when it takes long.
    pub(crate) fn hadal_slow(
        &mut self,
        name: impl Into<String>,
        test: impl FnOnce(&str) -> Result<(), TestError> + Send + 'static,
    ) {
        let name = name.into();
        let own = name.clone();
        self.push(name, self.native || self.quick, move || test(&own));
    }

    /// The same, when it belongs to the set of `hadal test --all`.
    pub(crate) fn hadal_in_all(
        &mut self,
        name: impl Into<String>,
        test: impl FnOnce(&str) -> Result<(), TestError> + Send + 'static,
    ) {
        let name = name.into();
        let own = name.clone();
        self.push(name, self.native || !self.all, move || test(&own));
    }

    /// The same for what needs that much memory of the host, without which the machine would be ended from outside, with
    /// nothing said. Left out where there is less.
    pub(crate) fn hadal_with_memory(
        &mut self,
        name: impl Into<String>,
        gib: u64,
        set: Set,
        test: impl FnOnce(&str) -> Result<(), TestError> + Send + 'static,
    ) {
        let name = name.into();
        let own = name.clone();
        let wanted = !self.native
            && match set {
                Set::Slow => !self.quick,
                Set::All => self.all,
            };
        let lacks = available_gib().is_some_and(|available| available < gib);
        if lacks && wanted {
            eprintln!("{name} is left out: it needs {gib} GiB of memory, and the host has less available");
        }
        self.push(name, !wanted || lacks, move || test(&own));
    }

    fn push(
        &mut self,
        name: String,
        left_out: bool,
        test: impl FnOnce() -> Result<(), TestError> + Send + 'static,
    ) {
        let times = self.times.clone();
        let own = name.clone();
        let trial = Trial::test(name, move || {
            let start = Instant::now();
            let result = test();
            times.add(own, start.elapsed());
            result.map_err(|error| Failed::from(error.to_string()))
        });
        self.trials.push(trial.with_ignored_flag(left_out));
    }

    /// The times of the tests that end, from now on.
    pub(crate) fn times(&self) -> Times {
        self.times.clone()
    }

    /// The finished list.
    pub(crate) fn into_trials(self) -> Vec<Trial> {
        self.trials
    }
}

/// Memory that the host can give without swapping.
fn available_gib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 20)
}
