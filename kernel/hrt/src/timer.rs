// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timers that call the program, and the counters of the platform (`hadal/hrt/time.h`).

use hadal_hal::cpu;
use hadal_hal::devices::pit;
use hadal_hal::interrupts::handler::{self, Handler, Kind};
use hadal_hal::memory::user;
use hadal_hrt_abi::base::CPU_ANY;

use crate::event::{cpu_of, handler};
use crate::program::Program;
use crate::status::{Code, Status, code};

/// `timer_start`.
pub(crate) extern "C" fn start<P: Program>(
    on: i32,
    deadline_ns: u64,
    function: usize,
    arg: usize,
    flags: u32,
    timer: usize,
) -> Code {
    let start = || {
        let target = if on == CPU_ANY { cpu::current_id() } else { cpu_of(on)? };
        let action = handler::<P>(function, arg, flags)?;
        let handler = Handler { kind: Kind::Timer, vectors: action.vectors, function, arg };
        handler::prepare(&handler);
        if timer != 0 {
            // Before it fires: the callback may look.
            user::store_u64(timer, 0)?;
        }
        let name = hadal_sched::handler_at(target, deadline_ns, handler).ok_or(Status::NoMemory)?;
        if timer != 0 {
            user::store_u64(timer, name)?;
        }
        Ok(())
    };
    code(start())
}

/// `timer_cancel`.
pub(crate) extern "C" fn cancel(timer: u64) -> Code {
    if hadal_sched::cancel_handler(timer) { 0 } else { Status::NoSuchThing as Code }
}

/// `hpet_read`.
pub(crate) extern "C" fn hpet_read(count: usize, hz: usize) -> Code {
    let read = || {
        let hpet = hadal_time::hpet().ok_or(Status::NoDevice)?;
        user::store_u64(count, hpet.read())?;
        Ok(user::store_u64(hz, 1_000_000_000_000_000 / u64::from(hpet.period_fs()))?)
    };
    code(read())
}

/// `pit_read`.
pub(crate) extern "C" fn pit_read(count: usize, hz: usize) -> Code {
    let read = || {
        let value = pit::read_channel_0().ok_or(Status::NoDevice)?;
        user::copy_to(count, &value.to_le_bytes())?;
        Ok(user::store_u64(hz, pit::HZ.into())?)
    };
    code(read())
}
