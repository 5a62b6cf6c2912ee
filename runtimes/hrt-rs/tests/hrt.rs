// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The crate on Linux, right and wrong. The same binary runs under `hadal run`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use hrt::memory::{Placement, ZoneBox, ZoneBytes};
use hrt::sync::{Barrier, BarrierAlgorithm, Condvar, Mutex, RwLock, Semaphore, SpinLock, Wake};
use hrt::thread::{Builder, Policy};
use hrt::{Error, fiber, module, task, thread, time, topology};

/// Counts what is dropped.
struct Dropped<'a>(&'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn threads_return_and_panic() {
    let text = String::from("moved");
    let thread = thread::spawn(move || text + " back").unwrap();
    assert_eq!(thread.join().unwrap(), "moved back");
    let payload = thread::spawn(|| panic!("on purpose")).unwrap().join().map(|(): ()| ()).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
    let slow = thread::spawn(|| time::sleep(Duration::from_millis(20))).unwrap();
    let Err(slow) = slow.join_until(time::now_ns()) else { panic!("not yet") };
    assert!(slow.join_until(time::FOREVER).is_ok_and(|outcome| outcome.is_ok()));
    // Detached.
    drop(thread::spawn(|| ()).unwrap());
}

thread_local! {
    static LOCAL: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    static PLAIN: Cell<u32> = const { Cell::new(7) };
}

#[test]
fn thread_locals_are_fresh() {
    for _ in 0..20 {
        let thread = thread::spawn(|| {
            assert_eq!(LOCAL.with_borrow(Vec::len), 0);
            assert_eq!(PLAIN.replace(8), 7);
            LOCAL.with_borrow_mut(|local| local.extend([1, 2, 3]));
            std::thread::current().id()
        });
        thread.unwrap().join().unwrap();
    }
}

#[test]
fn scoped_threads_borrow() {
    let mut numbers = vec![1, 2, 3];
    let dropped = AtomicUsize::new(0);
    let total = thread::scope(|scope| {
        let own = Dropped(&dropped);
        let sum = scope.spawn(|| numbers.iter().sum::<i32>()).unwrap();
        scope.spawn(move || drop(own)).unwrap();
        scope.spawn(|| scope.spawn(|| dropped.fetch_add(10, Ordering::Relaxed)).map(drop).unwrap()).unwrap();
        sum.join().unwrap()
    });
    assert_eq!((total, dropped.load(Ordering::Relaxed)), (6, 11));
    numbers.push(total);
    let panics = std::panic::catch_unwind(|| {
        thread::scope(|scope| scope.spawn(|| panic!("on purpose")).map(drop).unwrap())
    });
    assert!(panics.is_err());
}

#[test]
fn choices_are_checked() {
    let cpus = topology::cpu_count();
    let where_it_ran = Builder::new().cpu(cpus - 1).name("placed\0rest").spawn(|| {
        let info = thread::current().info().unwrap();
        assert_eq!((info.name.as_str(), info.bound_cpu), ("placed", Some(topology::cpu_self())));
        topology::cpu_self()
    });
    assert_eq!(where_it_ran.unwrap().join().unwrap(), cpus - 1);
    let invalid = [
        Builder::new().cpu(cpus),
        Builder::new().cpu(u32::MAX),
        Builder::new().zone(topology::zone_count()),
        Builder::new().priority(thread::PRIORITIES),
        Builder::new().stack_bytes(u64::MAX / 2),
        Builder::new().policy(Policy::Periodic { period_ns: 1, work_ns: 2, start_ns: 0 }),
    ];
    for builder in invalid {
        assert_eq!(builder.spawn(|| ()).err(), Some(Error::Invalid), "{builder:?}");
    }
    let own = thread::current();
    assert_eq!(own.bind(Some(cpus)), Err(Error::Invalid));
    own.bind(Some(0)).unwrap();
    own.bind(None).unwrap();
    own.migrate(0).unwrap();
    own.set_name("tester").unwrap();
    assert_eq!(own.set_name("a\0b"), Err(Error::Invalid));
    assert_eq!(own.info().unwrap().name, "tester");
    assert_eq!(thread::wait_period(), Err(Error::NotPermitted));
    assert!(thread::list().contains(&own));
    let gone = thread::spawn(|| ()).unwrap();
    let name = gone.thread().unwrap();
    gone.join().unwrap();
    assert_eq!(name.bind(None), Err(Error::NotFound));
}

#[test]
fn locks_exclude() {
    static COUNT: Mutex<u32> = Mutex::new(0);
    static SPIN: SpinLock<u32> = SpinLock::new(0);
    let shared = RwLock::new(0_u32);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope
                .spawn(|| {
                    for _ in 0..500 {
                        *COUNT.lock() += 1;
                        *SPIN.lock() += 1;
                        *shared.write() += 1;
                        assert!(*shared.read() > 0);
                    }
                })
                .unwrap();
        }
    });
    assert_eq!((*COUNT.lock(), *SPIN.lock(), *shared.read()), (2000, 2000, 2000));
    let held = COUNT.lock();
    assert!(COUNT.try_lock().is_none() && COUNT.lock_until(time::now_ns() + 1000).is_none());
    drop(held);
    assert!(COUNT.try_lock().is_some());
    let reading = shared.read();
    assert!(shared.try_read().is_some() && shared.try_write().is_none());
    drop(reading);
    assert!(shared.try_write().is_some());
    let spinning = SPIN.lock();
    assert!(SPIN.try_lock().is_none());
    drop(spinning);
    assert_eq!(Mutex::new(5).into_inner(), 5);
}

#[test]
fn waits_end() {
    let (ready, changed) = (Mutex::new(0), Condvar::new());
    let places = Semaphore::new(0);
    thread::scope(|scope| {
        for wake in [Wake::Kick, Wake::NoKick] {
            scope.spawn(move || wake).unwrap().join().unwrap();
            scope
                .spawn(|| {
                    *ready.lock() += 1;
                    changed.notify_all(Wake::Kick);
                    places.post().unwrap();
                })
                .unwrap();
        }
        let mut guard = ready.lock();
        changed.wait_while(&mut guard, |ready| *ready < 2);
        assert!(!changed.wait_until(&mut guard, time::now_ns() + 1000) || *guard == 2);
        drop(guard);
        places.wait();
        places.wait();
    });
    assert_eq!(places.value(), 0);
    assert!(!places.try_wait() && !places.wait_until(time::now_ns() + 1000));
    assert_eq!(Semaphore::new(Semaphore::MAX).post(), Err(Error::Overflow));
    changed.notify_one(Wake::NoKick);
}

#[test]
fn barriers_meet() {
    for algorithm in [BarrierAlgorithm::Central, BarrierAlgorithm::Dissemination, BarrierAlgorithm::Tree] {
        let barrier = Barrier::new(3, algorithm).unwrap();
        let (arrived, chosen) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope
                    .spawn(|| {
                        for round in 1..=20 {
                            arrived.fetch_add(1, Ordering::Relaxed);
                            chosen.fetch_add(barrier.wait().into(), Ordering::Relaxed);
                            assert!(arrived.load(Ordering::Relaxed) >= 3 * round);
                            barrier.wait();
                        }
                    })
                    .unwrap();
            }
        });
        assert_eq!(chosen.load(Ordering::Relaxed), 20);
    }
    assert_eq!(Barrier::new(0, BarrierAlgorithm::Central).err(), Some(Error::Invalid));
}

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (left, right) = task::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    left + right
}

#[test]
fn tasks_are_done() {
    assert_eq!(fibonacci(15), 610);
    let tasks: Vec<_> = (0..100_u64).map(|i| task::spawn(move || i * i).unwrap()).collect();
    assert_eq!(tasks.into_iter().map(|task| task.wait().unwrap()).sum::<u64>(), 328_350);
    assert!(task::spawn(|| panic!("on purpose")).unwrap().wait().map(|(): ()| ()).is_err());
    let options = task::Options { cpu: Some(topology::cpu_count()), size_hint_ns: 0 };
    assert_eq!(task::spawn_with(options, || ()).err(), Some(Error::Invalid));
    let task = task::spawn(|| 5).unwrap();
    while !task.is_done() {
        task::run_one();
    }
    drop(task);
    let panics = std::panic::catch_unwind(|| task::join(|| 1, || panic!("on purpose")));
    assert!(panics.map(|(_, ())| ()).is_err());
}

#[test]
fn fibers_take_turns_and_borrow() {
    let order = RefCell::new(Vec::new());
    let dropped = AtomicUsize::new(0);
    let sum = fiber::scope(|scope| {
        let fibers: Vec<_> = (0..3)
            .map(|i| {
                let own = Dropped(&dropped);
                let order = &order;
                scope
                    .spawn(0, move || {
                        for step in 0..2 {
                            order.borrow_mut().push((i, step));
                            fiber::yield_now();
                        }
                        drop(own);
                        i
                    })
                    .unwrap()
            })
            .collect();
        fibers.into_iter().map(|fiber| fiber.join().unwrap()).sum::<i32>()
    });
    assert_eq!(sum, 3);
    assert_eq!(order.into_inner(), [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]);
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    // Not joined: the scope does.
    fiber::scope(|scope| {
        scope.spawn(0, || dropped.fetch_add(1, Ordering::Relaxed)).map(drop).unwrap();
        assert_eq!(scope.spawn(10, || ()).err(), Some(Error::Invalid));
        assert!(scope.spawn(0, || panic!("on purpose")).unwrap().join().map(|(): ()| ()).is_err());
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
    assert!(!fiber::yield_now());
}

#[test]
fn fibers_that_join_each_other_are_told() {
    let told = Cell::new(None);
    fiber::scope(|scope| {
        let slot = Rc::new(RefCell::new(None));
        let (taken, told) = (Rc::clone(&slot), &told);
        let first = scope.spawn(0, move || {
            fiber::yield_now();
            let other: Option<fiber::Fiber<'_, ()>> = taken.borrow_mut().take();
            let refused = other.unwrap().join().unwrap_err();
            told.set(refused.downcast::<Error>().ok());
        });
        let first = first.unwrap();
        *slot.borrow_mut() = scope.spawn(0, move || first.join().unwrap()).ok();
        while !told.replace(None).is_some_and(|error| *error == Error::Deadlock) {
            assert!(fiber::yield_now());
        }
    });
}

#[test]
fn memory_is_where_it_should_be() {
    let number = ZoneBox::new([1_u64; 100], Placement::LOCAL).unwrap();
    assert_eq!(number.iter().sum::<u64>(), 100);
    for zone in 0..topology::zone_count() {
        let mut bytes = ZoneBytes::zeroed(100_000, 4096, Placement::only_zone(zone)).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 0) && bytes.as_ptr().addr().is_multiple_of(4096));
        bytes[99_999] = 1;
        assert_eq!(bytes.zone(), Some(zone));
        assert_eq!(ZoneBox::zone(&ZoneBox::new(1, Placement::zone(zone)).unwrap()), Some(zone));
    }
    assert!(ZoneBytes::zeroed(1, 1, Placement::INTERLEAVED.huge()).unwrap().usable() >= 2 << 20);
    assert_eq!(ZoneBytes::zeroed(1, 3, Placement::LOCAL).err(), Some(Error::Invalid));
    assert_eq!(ZoneBytes::zeroed(1, 1, Placement::zone(u32::MAX)).err(), Some(Error::Invalid));
    assert_eq!(ZoneBytes::zeroed(1, 1, Placement::zone(topology::zone_count())).err(), Some(Error::NoMemory));
    let dropped = AtomicUsize::new(0);
    drop(ZoneBox::new(Dropped(&dropped), Placement::LOCAL).unwrap());
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert!(ZoneBox::new((), Placement::LOCAL).is_ok());
}

#[test]
fn the_machine_is_described() {
    for cpu in 0..topology::cpu_count() {
        assert_eq!(topology::cpu(cpu).unwrap().cpu, cpu);
        assert!(topology::caches(cpu).all(|cache| cache.bytes > 0));
    }
    assert_eq!(topology::cpu(topology::cpu_count()), Err(Error::Invalid));
    assert_eq!(topology::zone(topology::zone_count()), Err(Error::Invalid));
    assert!(topology::zone(0).unwrap().total_bytes > 0);
    assert_eq!(topology::distance(0, 0), Some(10));
    assert_eq!(topology::distance(0, topology::zone_count()), None);
    assert_eq!(module::all().count(), 0);
    assert!(module::command_line().to_str().is_ok());
    let before = time::now_ns();
    time::sleep(Duration::from_millis(2));
    assert!(time::now_ns() - before >= 2_000_000);
    let _: hrt::Place = hrt::place();
}
