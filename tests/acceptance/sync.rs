// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Synchronisation: the objects of `hadal/hrt.h` on Linux, on the kernel and in images, and the pthread functions on top of
//! them in images.

use std::time::Duration;

use hadal_tests::case::expect_same;
use hadal_tests::programs::{CPP_THREADS, HRT_SYNC, PTHREAD, PTHREAD_LAYER, Program, SYSTEM};
use hadal_tests::{Case, Hadal, TestError, Way, image, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4, 8] {
        suite.compare(format!("sync/objects/{cpus}cpus"), &HRT_SYNC, Way::GccDynamic, cpus, |case| {
            case.limit_s(120)
        });
    }
    for way in [Way::GccStatic, Way::ClangDynamic, Way::MuslStatic] {
        suite.compare(format!("sync/objects/{}", way.name()), &HRT_SYNC, way, 2, |case| case.limit_s(120));
    }
    suite.compare("sync/objects/numa", &HRT_SYNC, Way::GccDynamic, 4, |case| {
        case.limit_s(120).hadal(|hadal| hadal.with("--numa", "2").with("--memory", "2G"))
    });
    suite.compare_slow("sync/barriers/64cpus", &HRT_SYNC, Way::GccDynamic, 64, |case| {
        case.args(&["barriers", "wide-barriers"])
            .limit_s(240)
            .hadal(|hadal| hadal.with("--memory", "4G").alone())
    });
    for cpus in [1, 2, 4, 8] {
        suite.hadal(format!("sync/image/objects/{cpus}cpus"), move |name| {
            in_image(name, &HRT_SYNC, Way::GccDynamic, cpus, &[])
        });
        suite.hadal(format!("sync/image/pthread-layer/{cpus}cpus"), move |name| {
            in_image(name, &PTHREAD_LAYER, Way::GccDynamic, cpus, &["-pthread"])
        });
    }
    suite.hadal("sync/image/pthread-set", |name| in_image(name, &PTHREAD, Way::GccDynamic, 2, &["-pthread"]));
    suite.hadal("sync/image/pthread-set-system", |name| {
        in_image(name, &PTHREAD, Way::GccDynamic, 2, &["-pthread", "--pthread=system"])
    });
    for cpus in [1, 4] {
        suite.hadal(format!("sync/image/cpp-threads/{cpus}cpus"), move |name| {
            in_image(name, &CPP_THREADS, Way::Gxx, cpus, &["-pthread"])
        });
    }
    // Changing the user reaches threads that wait for work, too.
    suite.hadal("sync/image/ids", |name| {
        image_with(name, &SYSTEM, Way::GccDynamic, 2, &["-pthread"], &["ids"])
    });
    suite.compare("sync/pthread-layer/libc", &PTHREAD_LAYER, Way::GccDynamic, 2, |case| case);
}

/// Runs a program here and as an image: both must say the same.
fn in_image(
    name: &str,
    program: &'static Program,
    way: Way,
    cpus: u32,
    options: &[&str],
) -> Result<(), TestError> {
    image_with(name, program, way, cpus, options, &[])
}

fn image_with(
    name: &str,
    program: &'static Program,
    way: Way,
    cpus: u32,
    options: &[&str],
    args: &[&str],
) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image::build(&directory, program, way, options)?;
    let linux = Case::new(name, program, way, cpus).args(args).on_linux(&directory)?;
    let args: Vec<_> = args.iter().map(Into::into).collect();
    let hadal = Hadal::new(cpus).cwd(&directory).limit(Duration::from_secs(120)).run(&image, &args)?;
    expect_same(&linux, &hadal, false)
}
