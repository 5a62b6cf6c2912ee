// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In place of `routines` in host tests, which have no program memory: every access is a fault.

pub(super) unsafe fn hadal_user_copy(_dst: usize, _src: usize, _len: usize) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_zero(_dst: usize, _len: usize) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_cmpxchg(_address: usize, _value: *mut u32, _new: u32) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_store32(_address: usize, _value: u32) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_poll(_address: usize, _value: u64, _looks: u32) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_monitor(_address: usize, _value: u64) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_xsave(_image: usize, _: u64, _: u64, _: u64, _: usize, _: u32) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_xrstor(_image: usize, _components: u64) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_fxsave(_image: usize) -> u32 {
    1
}
pub(super) unsafe fn hadal_user_fxrstor(_image: usize) -> u32 {
    1
}
pub(super) unsafe fn load32(_address: usize) -> (u32, u32) {
    (1, 0)
}
pub(super) unsafe fn load64(_address: usize) -> (u32, u64) {
    (1, 0)
}
pub(super) unsafe fn load_five(_address: usize, _distance: usize) -> (u32, [u64; 5]) {
    (1, [0; 5])
}
pub(super) unsafe fn store64(_address: usize, _value: u64) -> u32 {
    1
}
