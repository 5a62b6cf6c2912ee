// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Atomics whose every access is a place where another simulated CPU may go on.

use core::sync::atomic as real;
pub use core::sync::atomic::Ordering;

use super::buffer::{Width, access, buffered, store};

/// Orders accesses as the machine's fence of this order does.
pub fn fence(order: Ordering) {
    real::fence(order);
    if order == Ordering::SeqCst {
        access(true);
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty, $width:expr, $to:expr, $from:expr $(, $parameter:ident)?) => {
        /// The machine's, with a place to stop before each access.
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $name$(<$parameter>)?(real::$name$(<$parameter>)?);

        impl$(<$parameter>)? $name$(<$parameter>)? {
            /// One that holds `value`.
            pub const fn new(value: $value) -> Self {
                Self(real::$name::new(value))
            }

            /// What is there, for this CPU.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                access(false);
                match buffered(self.0.as_ptr() as usize) {
                    Some(bits) => $from(bits),
                    None => self.0.load(order),
                }
            }

            /// Replaces what is there: at once for this CPU, for others when it leaves the buffer.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                access(order == Ordering::SeqCst);
                if order == Ordering::SeqCst || !store(self.0.as_ptr() as usize, $width, $to(value)) {
                    self.0.store(value, order);
                }
            }

            /// Replaces what is there and returns it.
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                access(true);
                self.0.swap(value, order)
            }

            /// Replaces what is there if it is `current`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                access(true);
                self.0.compare_exchange(current, new, success, failure)
            }

            /// The same, which on this machine does not fail for no reason.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}

macro_rules! number {
    ($name:ident, $value:ty, $width:expr) => {
        atomic!($name, $value, $width, |value| value as u64, |bits| bits as $value);

        impl $name {
            /// Adds, and returns what was there.
            #[inline]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                access(true);
                self.0.fetch_add(value, order)
            }

            /// Subtracts, and returns what was there.
            #[inline]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                access(true);
                self.0.fetch_sub(value, order)
            }

            /// Sets bits, and returns what was there.
            #[inline]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                access(true);
                self.0.fetch_or(value, order)
            }

            /// Keeps bits, and returns what was there.
            #[inline]
            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                access(true);
                self.0.fetch_and(value, order)
            }

            /// Changes what is there as `change` says, unless it says nothing.
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(failure);
                while let Some(new) = change(seen) {
                    match self.compare_exchange(seen, new, success, failure) {
                        Ok(old) => return Ok(old),
                        Err(found) => seen = found,
                    }
                }
                Err(seen)
            }

            /// Where the number is.
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }
        }
    };
}

number!(AtomicU8, u8, Width::Byte);
number!(AtomicU32, u32, Width::Four);
number!(AtomicU64, u64, Width::Eight);
number!(AtomicI64, i64, Width::Eight);
number!(AtomicUsize, usize, Width::Eight);
atomic!(AtomicBool, bool, Width::Byte, u64::from, |bits| bits != 0);
atomic!(
    AtomicPtr,
    *mut T,
    Width::Eight,
    |value: *mut T| value.expose_provenance() as u64,
    |bits| core::ptr::with_exposed_provenance_mut(bits as usize),
    T
);

impl AtomicBool {
    /// Sets it if `value`, and returns what was there.
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        access(true);
        self.0.fetch_or(value, order)
    }
}
