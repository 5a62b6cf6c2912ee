// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sums the numbers below ten million, one thread for each CPU, each bound to its own.

use hrt::thread::{self, Builder};
use hrt::topology;

const LIMIT: u64 = 10_000_000;

fn main() -> hrt::Result<()> {
    let cpus = u64::from(topology::cpu_count());
    let total = thread::scope(|scope| {
        let mut threads = Vec::new();
        for cpu in 0..topology::cpu_count() {
            let part = LIMIT * u64::from(cpu) / cpus..LIMIT * (u64::from(cpu) + 1) / cpus;
            let builder = Builder::new().cpu(cpu).name("sum");
            threads.push(scope.spawn_with(&builder, move || part.sum::<u64>())?);
        }
        Ok::<u64, hrt::Error>(threads.into_iter().filter_map(|thread| thread.join().ok()).sum())
    })?;
    println!("sum {total}");
    Ok(())
}
