// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue between threads: mutex, condition variable, semaphore, barrier.

use std::collections::VecDeque;

use hrt::sync::{Barrier, BarrierAlgorithm, Condvar, Mutex, Semaphore, Wake};
use hrt::thread;

const CONSUMERS: u32 = 3;

fn main() -> hrt::Result<()> {
    let (queue, filled) = (Mutex::new(VecDeque::new()), Condvar::new());
    let places = Semaphore::new(16);
    let total = Mutex::new(0_u64);
    let end = Barrier::new(CONSUMERS, BarrierAlgorithm::Dissemination)?;
    let put = |item: u64| {
        places.wait();
        queue.lock().push_back(item);
        filled.notify_one(Wake::Kick);
    };
    let consume = || {
        loop {
            let mut queue = queue.lock();
            filled.wait_while(&mut queue, |queue| queue.is_empty());
            let item = queue.pop_front().unwrap_or_default();
            drop(queue);
            places.post().expect("as many posts as waits");
            if item == 0 {
                break;
            }
            *total.lock() += item;
        }
        if end.wait() {
            println!("all {CONSUMERS} are done: {}", *total.lock());
        }
    };
    thread::scope(|scope| {
        for _ in 0..CONSUMERS {
            scope.spawn(consume)?;
        }
        (1..=1000).for_each(put);
        (0..CONSUMERS).for_each(|_| put(0));
        Ok(())
    })
}
