// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two fibers that take turns: one walks up, one walks down.

use std::cell::RefCell;

use hrt::fiber;

fn main() {
    let steps = RefCell::new(Vec::new());
    let meetings = fiber::scope(|scope| {
        let walk = |from: i32, direction: i32| {
            let steps = &steps;
            scope.spawn(0, move || {
                for step in 0..5 {
                    steps.borrow_mut().push(from + direction * step);
                    fiber::yield_now();
                }
                from + 5 * direction
            })
        };
        let (up, down) = (walk(0, 1), walk(10, -1));
        up.is_ok_and(|up| down.is_ok_and(|down| up.join().ok() == down.join().ok()))
    });
    println!("{:?}", steps.into_inner());
    println!("{}", if meetings { "they meet" } else { "they do not meet" });
}
