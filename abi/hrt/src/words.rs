// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types that C has a name or a spelling of its own for.
//!
//! Fields whose C type is a pointer or a name for a number. Addresses of the program are plain numbers here: the kernel never
//! follows them as pointers, and copies them as bytes. `tests/headers.rs` has the C types.

use core::ffi::c_void;

/// `char`.
pub type Char = u8;
/// `const char *`: the address of a text that ends with a NUL.
pub type Text = u64;
/// `const void *`.
pub type Data = u64;
/// `void *`: what a function gets or gives.
pub type Argument = u64;
/// `hrt_thread_fn`.
pub type ThreadFn = u64;
/// `hrt_thread_t`.
pub type ThreadId = u64;
/// `const volatile uint64_t *`.
pub type Watched = u64;

/// `hrt_thread_fn`: a thread's function and a task's.
pub type ThreadFunction = unsafe extern "C" fn(arg: *mut c_void) -> *mut c_void;
/// `hrt_handler_fn`: runs in interrupt context.
pub type HandlerFunction = unsafe extern "C" fn(arg: *mut c_void);
