// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words with waiters in an array of nodes.

use super::*;
use std::vec::Vec;

fn key(address: usize) -> Key {
    Key::private(address)
}

fn waiting(words: &Words<4>, nodes: &Array, waiters: &[(usize, u32)]) {
    for (index, &(address, bits)) in waiters.iter().enumerate() {
        let joined = words.join(nodes, index as u32, (&key(address), bits), || Ok::<_, ()>(true));
        assert_eq!(joined, Ok(true));
    }
}

fn woken(words: &Words<4>, nodes: &Array, address: usize, count: usize, bits: u32) -> Vec<u32> {
    let mut woken = Vec::new();
    words.wake(nodes, (&key(address), bits), count, |batch| woken.extend_from_slice(batch));
    woken
}

fn nodes(count: usize) -> Array {
    Array((0..count).map(|_| Node::default()).collect())
}

#[test]
fn waiters_wake_by_age_word_and_bits() {
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), nodes(5));
    waiting(&words, &nodes, &[(8, 1), (12, 1), (8, 2), (8, 1), (8, 3)]);
    assert_eq!(woken(&words, &nodes, 8, 1, 2), [2]);
    assert_eq!(woken(&words, &nodes, 8, 2, 1), [0, 3]);
    assert!(words.leave(&nodes, 1) && !words.leave(&nodes, 1) && !words.leave(&nodes, 0));
    assert_eq!(woken(&words, &nodes, 12, 9, ANY), []);
    assert_eq!(woken(&words, &nodes, 8, 9, ANY), [4]);
    assert!((0..5).all(|index| !words.is_waiting(&nodes, index)));
}

/// Nodes whose thread's urgency is its index modulo 3.
struct Ranked(Array);

impl Nodes for Ranked {
    fn node(&self, index: u32) -> &Node {
        self.0.node(index)
    }

    fn urgency(&self, index: u32) -> u8 {
        (index % 3) as u8
    }
}

#[test]
fn the_most_urgent_wake_first_and_equals_by_age() {
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), Ranked(nodes(7)));
    for index in 0..7 {
        assert_eq!(words.join(&nodes, index, (&key(8), ANY), || Ok::<_, ()>(true)), Ok(true));
    }
    assert!(words.leave(&nodes, 4));
    let mut woken = Vec::new();
    words.wake(&nodes, (&key(8), ANY), 3, |batch| woken.extend_from_slice(batch));
    words.wake(&nodes, (&key(8), ANY), 9, |batch| woken.extend_from_slice(batch));
    assert_eq!(woken, [2, 5, 1, 0, 3, 6]);
}

#[test]
fn many_are_moved_a_few_at_a_time_and_keep_their_order() {
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), Ranked(nodes(100)));
    for index in 0..100 {
        assert_eq!(words.join(&nodes, index, (&key(8), ANY), || Ok::<_, ()>(true)), Ok(true));
    }
    let (mut batches, mut woken) = (Vec::new(), Vec::new());
    let most = Counts { woken: 20, moved: 70 };
    let look = || Ok::<_, ()>(true);
    let done = words.requeue(&nodes, (&key(8), &key(12)), most, look, |batch| batches.push(batch.len()));
    assert_eq!((done, batches), (Ok(Some(most)), std::vec![16, 4]));
    assert!(words.leave(&nodes, 93) && words.leave(&nodes, 80));
    words.wake(&nodes, (&key(12), ANY), 99, |batch| woken.extend_from_slice(batch));
    words.wake(&nodes, (&key(8), ANY), 99, |batch| woken.extend_from_slice(batch));
    let urgent_first = |index: &u32| (2 - index % 3, *index);
    let mut expected: Vec<u32> = (0..100).filter(|index| ![80, 93].contains(index)).collect();
    expected.sort_by_key(urgent_first);
    assert_eq!(woken, expected[20..]);
    assert!(
        (0..100)
            .filter(|index| !expected[..20].contains(index))
            .all(|index| !words.is_waiting(&nodes, index))
    );
}

#[test]
fn of_different_bits_the_oldest_is_woken_first() {
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), nodes(4));
    waiting(&words, &nodes, &[(8, 2), (8, 1), (8, 2), (8, 3)]);
    assert_eq!(woken(&words, &nodes, 8, 2, ANY), [0, 1]);
    assert_eq!(woken(&words, &nodes, 8, 1, 1), [3]);
    assert_eq!(woken(&words, &nodes, 8, 9, ANY), [2]);
}

#[test]
fn a_word_that_differs_is_not_waited_for() {
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), nodes(1));
    assert_eq!(words.join(&nodes, 0, (&key(8), ANY), || Err(3)), Err(3));
    assert_eq!(words.join(&nodes, 0, (&key(8), ANY), || Ok::<_, ()>(false)), Ok(false));
    assert_eq!(woken(&words, &nodes, 8, 1, ANY), []);
}

#[test]
fn others_move_in_order_between_any_two_words() {
    for to in (4..80).step_by(4).filter(|&to| to != 16) {
        let (words, nodes) = (Words::<4>::allocate().expect("memory"), nodes(4));
        waiting(&words, &nodes, &[(16, ANY), (16, ANY), (16, ANY), (to, ANY)]);
        let mut first = Vec::new();
        let most = Counts { woken: 1, moved: 1 };
        let look = || Ok::<_, ()>(true);
        let done =
            words.requeue(&nodes, (&key(16), &key(to)), most, look, |batch| first.extend_from_slice(batch));
        assert_eq!((done, first), (Ok(Some(most)), std::vec![0]));
        assert_eq!(woken(&words, &nodes, 16, 9, ANY), [2]);
        let mut moved = woken(&words, &nodes, to, 9, ANY);
        moved.sort_unstable();
        assert_eq!(moved, [1, 3]);
    }
}

#[test]
fn a_lock_is_handed_to_the_oldest() {
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), nodes(2));
    waiting(&words, &nodes, &[(8, ANY), (8, ANY)]);
    for expected in [(Some(0), true), (Some(1), false), (None, false)] {
        let mut seen = None;
        words.hand_over(
            &nodes,
            &key(8),
            |first, more| {
                seen = Some((first, more));
                true
            },
            |_| {},
        );
        assert_eq!(seen, Some(expected));
    }
}

/// A stream of numbers that looks random.
fn numbers() -> impl FnMut(u32) -> u32 {
    let mut state = 1_u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    }
}

/// Lone waiters are taken and linked without a look at others: mixed with waiters that are not alone, on words that share
/// buckets or not, all of them behave as one list of waiters by age.
#[test]
fn waiters_alone_and_among_others_are_one_list() {
    const THREADS: u32 = 6;
    let (words, nodes) = (Words::<4>::allocate().expect("memory"), nodes(THREADS as usize));
    let mut number = numbers();
    // Who waits, on which word, with which bits, in the order in which they came.
    let mut plain: Vec<(u32, usize, u32)> = Vec::new();
    for _ in 0..20_000 {
        let (index, address, bits) = (number(THREADS), 8 + 4 * number(9) as usize, 1 + number(3));
        let at = plain.iter().position(|&(waiter, ..)| waiter == index);
        match number(4) {
            0 | 1 if at.is_none() => {
                let joined = words.join(&nodes, index, (&key(address), bits), || Ok::<_, ()>(true));
                assert_eq!(joined, Ok(true));
                plain.push((index, address, bits));
            }
            2 => {
                assert_eq!(words.leave(&nodes, index), at.is_some());
                plain.retain(|&(waiter, ..)| waiter != index);
            }
            _ => {
                let fits = |&(_, word, own): &(u32, usize, u32)| word == address && own & bits != 0;
                let count = 1 + number(2) as usize;
                let expected: Vec<u32> =
                    plain.iter().copied().filter(fits).take(count).map(|(waiter, ..)| waiter).collect();
                assert_eq!(woken(&words, &nodes, address, count, bits), expected);
                plain.retain(|(waiter, ..)| !expected.contains(waiter));
            }
        }
        assert!((0..THREADS).all(|index| {
            words.is_waiting(&nodes, index) == plain.iter().any(|&(waiter, ..)| waiter == index)
        }));
    }
}
