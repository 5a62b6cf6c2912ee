// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sorts by halves: one half is a task that any idle CPU may take.

use hrt::task;

fn sort(part: &mut [u32]) {
    if part.len() < 1000 {
        part.sort_unstable();
        return;
    }
    let (low, high) = part.split_at_mut(part.len() / 2);
    task::join(|| sort(high), || sort(low));
    // Merges runs, in time linear in the length.
    part.sort();
}

fn main() {
    let mut state = 1_u32;
    let mut numbers: Vec<u32> = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        })
        .collect();
    sort(&mut numbers);
    println!("{}", if numbers.is_sorted() { "sorted" } else { "not sorted" });
    let squares: Vec<_> = (1..=10_u64).filter_map(|i| task::spawn(move || i * i).ok()).collect();
    let sum: u64 = squares.into_iter().filter_map(|task| task.wait().ok()).sum();
    println!("squares {sum}");
}
