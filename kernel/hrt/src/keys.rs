// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thread-local data by key.
//!
//! Keys are lines of one table. A key's generation is odd while it is in use, and a value counts only with the generation
//! it was set under, so a key that was deleted and made again starts without values. A thread's values are made at its first
//! `key_set` and kept for the next use of its record.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::memory::{fallible, user};
use hadal_hrt_abi::thread::KEYS_MAX;
use spin::Once;

use crate::program::Program;
use crate::status::{Code, Status, code};
use crate::{footprint, record};

struct Key {
    generation: AtomicU32,
    destructor: AtomicUsize,
}

static TABLE: [Key; KEYS_MAX] =
    [const { Key { generation: AtomicU32::new(0), destructor: AtomicUsize::new(0) } }; KEYS_MAX];

#[derive(Default)]
struct Value {
    word: AtomicUsize,
    generation: AtomicU32,
}

/// The values of one thread.
pub(crate) struct Values {
    all: Once<Box<[Value]>>,
    /// A bit for each value that is not null.
    set: [AtomicU64; KEYS_MAX / 64],
}

impl Values {
    pub(crate) const fn new() -> Self {
        Self { all: Once::new(), set: [const { AtomicU64::new(0) }; KEYS_MAX / 64] }
    }

    fn make(&self) -> Result<&[Value], Status> {
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let values = fallible::made(Value::default, KEYS_MAX).map_err(|_| Status::NoMemory)?;
        Ok(self.all.call_once(|| values))
    }

    /// Whether a value is not null.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.set.iter().fold(0, |all, word| all | word.load(Ordering::Relaxed)) != 0
    }

    /// Forgets all values, whose destructors do not run.
    pub(crate) fn clear(&self) {
        self.set.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    fn store(&self, key: usize, generation: u32, word: usize) -> Result<(), Status> {
        let bit = 1 << (key % 64);
        if word == 0 {
            self.set[key / 64].fetch_and(!bit, Ordering::Relaxed);
            return Ok(());
        }
        let value = &self.make()?[key];
        value.word.store(word, Ordering::Relaxed);
        value.generation.store(generation, Ordering::Relaxed);
        self.set[key / 64].fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }

    fn load(&self, key: usize, generation: u32) -> usize {
        if self.set[key / 64].load(Ordering::Relaxed) & 1 << (key % 64) == 0 {
            return 0;
        }
        let value = self.all.get().map(|all| &all[key]);
        let value = value.filter(|value| value.generation.load(Ordering::Relaxed) == generation);
        value.map_or(0, |value| value.word.load(Ordering::Relaxed))
    }

    /// Takes the next value whose key has a destructor: destructor and value.
    fn take(&self) -> Option<(usize, usize)> {
        for (index, word) in self.set.iter().enumerate() {
            loop {
                let set = word.load(Ordering::Relaxed);
                if set == 0 {
                    break;
                }
                let key = index * 64 + set.trailing_zeros() as usize;
                let generation = TABLE[key].generation.load(Ordering::Acquire);
                let value = self.load(key, generation);
                word.fetch_and(!(1 << (key % 64)), Ordering::Relaxed);
                let destructor = TABLE[key].destructor.load(Ordering::Relaxed);
                if value != 0 && generation % 2 == 1 && destructor != 0 {
                    return Some((destructor, value));
                }
            }
        }
        None
    }
}

fn in_use(key: u32) -> Result<(usize, u32), Status> {
    let entry = TABLE.get(key as usize).ok_or(Status::Invalid)?;
    let generation = entry.generation.load(Ordering::Acquire);
    if generation % 2 == 1 { Ok((key as usize, generation)) } else { Err(Status::Invalid) }
}

fn create<P: Program>(out: usize, destructor: usize) -> Result<(), Status> {
    // The first touch of the result's page may wait; a key is not taken in vain.
    user::store_u32(out, 0)?;
    footprint::note::<P>()?;
    let key = TABLE.iter().position(|key| {
        let generation = key.generation.load(Ordering::Relaxed);
        let taken = generation + 1;
        generation % 2 == 0
            && key.generation.compare_exchange(generation, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    let key = key.ok_or(Status::NoSpace)?;
    TABLE[key].destructor.store(destructor, Ordering::Release);
    Ok(user::store_u32(out, key as u32)?)
}

/// `key_create`.
pub(crate) extern "C" fn key_create<P: Program>(out: usize, destructor: usize) -> Code {
    code(create::<P>(out, destructor))
}

fn delete(key: u32) -> Result<(), Status> {
    let (key, generation) = in_use(key)?;
    let entry = &TABLE[key];
    entry.destructor.store(0, Ordering::Relaxed);
    let free = generation.wrapping_add(1);
    let freed = entry.generation.compare_exchange(generation, free, Ordering::AcqRel, Ordering::Relaxed);
    freed.map(drop).map_err(|_| Status::Invalid)
}

/// `key_delete`.
pub(crate) extern "C" fn key_delete(key: u32) -> Code {
    code(delete(key))
}

/// `key_get`.
pub(crate) extern "C" fn key_get(key: u32) -> usize {
    in_use(key).map_or(0, |(key, generation)| record::current().values.load(key, generation))
}

/// `key_set`.
pub(crate) extern "C" fn key_set(key: u32, value: usize) -> Code {
    let set = |(key, generation)| record::current().values.store(key, generation, value);
    code(in_use(key).and_then(set))
}

/// `key_take`.
pub(crate) extern "C" fn key_take(destructor_out: usize, value_out: usize) -> bool {
    // Hardly any thread has one at its end.
    let values = &record::current().values;
    values.any() && take_set(values, destructor_out, value_out)
}

#[inline(never)]
fn take_set(values: &Values, destructor_out: usize, value_out: usize) -> bool {
    let Some((destructor, value)) = values.take() else { return false };
    user::store_u64(destructor_out, destructor as u64).is_ok()
        && user::store_u64(value_out, value as u64).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_belong_to_one_use_of_a_key() {
        let values = Values::new();
        assert_eq!(values.load(3, 1), 0);
        values.store(3, 1, 77).unwrap();
        assert_eq!((values.load(3, 1), values.load(3, 3), values.load(67, 1)), (77, 0, 0));
        values.store(3, 1, 0).unwrap();
        assert_eq!(values.load(3, 1), 0);
    }

    #[test]
    fn only_values_with_a_destructor_are_taken() {
        let values = Values::new();
        TABLE[100].generation.store(5, Ordering::Relaxed);
        TABLE[100].destructor.store(0x1000, Ordering::Relaxed);
        TABLE[101].generation.store(5, Ordering::Relaxed);
        values.store(100, 5, 1).unwrap();
        values.store(101, 5, 2).unwrap();
        values.store(99, 5, 3).unwrap();
        assert_eq!(values.take(), Some((0x1000, 1)));
        assert_eq!(values.take(), None);
    }
}
