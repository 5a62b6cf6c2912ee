// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of `hadal bench` in a browser: nothing is cut, nothing scrolls sideways, every text can be read, in windows of
//! three widths and in both themes. The results are made up, of every figure that there is, so that all are looked at.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hadal_tests::browser::{View, layout_faults};
use hadal_tests::case::{expect_status, wrong};
use hadal_tests::machine::hadal;
use hadal_tests::{TestError, scratch};
use serde_json::{Value, json};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(60);

const WIDTHS: [u32; 3] = [800, 1300, 2000];

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("bench/page-layout", page_layout);
    suite.host("bench/page-layout-finds-faults", || faults_are_found("bench/page-layout-finds-faults"));
}

fn write(file: &Path, text: &str) -> Result<(), TestError> {
    fs::write(file, text).map_err(TestError::io(format!("cannot write {}", file.display())))
}

fn page_layout(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let list = hadal(&["bench", "list"], &directory, LIMIT)?;
    expect_status(&list, 0)?;
    let results = every_figure(&list.stdout_text());
    write(&directory.join("results.json"), &results.to_string())?;
    let report = hadal(&["bench", "report", "results.json", "--html", "page.html"], &directory, LIMIT)?;
    expect_status(&report, 0)?;
    for width in WIDTHS {
        for dark in [false, true] {
            let view = View { width, dark };
            let faults = layout_faults(&directory.join("page.html"), view)?;
            if !faults.is_empty() {
                return Err(wrong(
                    &format!("{view:?}: {} faults\n{}", faults.len(), faults.join("\n")),
                    &report,
                ));
            }
        }
    }
    Ok(())
}

/// Results of every figure in every mode: short and long times, equal and scattered samples, several numbers of CPUs, places
/// that lack one, a busy host, a quick run, failures with long reasons.
fn every_figure(list: &str) -> Value {
    let mut results = Vec::new();
    for (index, line) in list.lines().skip(1).enumerate() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        for mode in words.take_while(|word| ["path", "parallel"].contains(word)) {
            let shapes: &[u32] = match (mode, index % 4) {
                ("path", 0..=2) => &[1],
                (_, 0) => &[1, 2, 4, 8, 16, 32],
                _ => &[2],
            };
            for cpus in shapes {
                results.push(entry(index, name, mode, *cpus));
            }
            if index % 5 == 0 {
                results.extend([1, 16, 4096].map(|n| entry(index + n, &format!("{name}_{n}"), mode, 1)));
            }
        }
    }
    let setting = |mode: &str, line: &str| {
        json!({
            "mode": mode,
            "started": "2026-11-23T05:19:53Z",
            "build": "kernel 0123456789abcdef, benchmarks 0123456789abcdef",
            "machine": format!("-machine q35,accel=tcg{line} -smp 2,sockets=1,cores=2,threads=1 -m 2G -nodefaults"),
            "qemu": "QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7+deb12u16)",
            "linux": "linux-image-6.1.0-41-cloud-amd64 6.1.158-1, busybox-static 1:1.35.0-4+b5",
            "host_cores": 2,
            "load": [0.1, 1.9],
            "quick": true,
        })
    };
    let missing = |name: &str, why: &str| json!({ "name": name, "place": "Linux guest", "why": why });
    let why = format!("ended with 1: /a/long/path/without/a/space/{}", "directory/".repeat(20));
    json!({
        "results": results,
        "settings": [setting("path", ",thread=single -icount shift=0,sleep=off"), setting("parallel", ",thread=multi")],
        "failed": [missing("event.ipi", &why)],
        "skipped": [missing("event.ipi", "user programs cannot send interrupts"), missing("event.polled", "neither")],
    })
}

fn entry(index: usize, name: &str, mode: &str, cpus: u32) -> Value {
    let median = 10_f64.powi(index as i32 % 9) * 3.7 * f64::from(cpus);
    let is_exact = mode == "path" && !index.is_multiple_of(3);
    let place = |factor: f64| {
        let at = |part: f64| {
            median * factor * if is_exact { 1.0 } else { 0.6 + 0.8 * part + 15.0 * part.powi(60) }
        };
        let quantiles: Vec<f64> = (0..=200).map(|i| at(f64::from(i) / 200.0)).collect();
        json!({
            "median": at(0.5), "p5": at(0.05), "p95": at(0.95), "samples": 500,
            "quantiles": if is_exact { &quantiles[..1] } else { &quantiles[..] },
            "host": { "load": 1.0, "others": if index.is_multiple_of(7) { 0.3 } else { 0.0 }, "steal": 0.0 },
        })
    };
    let unit = if mode == "path" { "instructions" } else { "ns" };
    let mut entry = json!({ "name": name, "mode": mode, "cpus": cpus, "unit": unit, "pik": place(2.3) });
    if !index.is_multiple_of(6) {
        entry["hadal"] = place(1.0);
    }
    if !index.is_multiple_of(11) {
        entry["linux"] = place([55.4, 1.05, 0.4, 1234.0][index % 4]);
    }
    if mode == "parallel" && cpus <= 2 {
        entry["native"] = place(0.07);
    }
    entry
}

/// The check itself: each fault that is put into a page is found, and a page without one has none.
fn faults_are_found(name: &str) -> Result<(), TestError> {
    let plot = |size: &str, text: &str| format!("<svg {size} viewBox='0 0 200 20'>{text}</svg>");
    let natural = "width='200' height='20'";
    let faults = [
        ("horizontal scroll", "", "<p style='width:3000px'>wide</p>".to_owned()),
        (
            "outside the window",
            "left of all",
            "<p style='position:absolute;left:-40px'>left of all</p>".into(),
        ),
        (
            "outside its box",
            "much too long",
            "<div style='width:40px;height:1em;overflow:hidden;white-space:nowrap'>much too long</div>"
                .into(),
        ),
        ("outside its box", "over the edge", plot(natural, "<text x='150' y='15'>over the edge</text>")),
        (
            "scrolls",
            "hidden in part",
            "<div style='width:90px;overflow:auto'><p style='width:300px'>hidden in part</p></div>".into(),
        ),
        ("little contrast", "grey on white", "<p style='color:#888'>grey on white</p>".into()),
        ("little contrast", "pale", plot(natural, "<text x='5' y='15' fill='#eee'>pale</text>")),
        ("small", "shrunk", plot("width='90' height='9'", "<text x='5' y='15'>shrunk</text>")),
        ("texts meet", "two", plot(natural, "<text x='5' y='15'>one</text><text x='9' y='15'>two</text>")),
        ("not shown", "never seen", "<p style='display:none'>never seen</p>".into()),
    ];
    let bodies: String = faults.iter().map(|(.., body)| body.as_str()).collect();
    let directory = scratch::empty_directory(name)?;
    let page = directory.join("page.html");
    let found_in = |body: &str| {
        let head = "<!DOCTYPE html><html><head><meta charset='utf-8'/></head>";
        write(&page, &format!("{head}<body style='font-size:16px'><p>good</p>{body}</body></html>"))?;
        layout_faults(&page, View { width: 800, dark: false })
    };
    let (none, all) = (found_in("")?, found_in(&bodies)?);
    if !none.is_empty() {
        return Err(TestError::Wrong(format!("a good page has faults: {none:#?}")));
    }
    for (kind, text, _) in &faults {
        if !all.iter().any(|fault| fault.starts_with(kind) && fault.contains(text)) {
            return Err(TestError::Wrong(format!("{kind:?} of {text:?} is not found: {all:#?}")));
        }
    }
    Ok(())
}
