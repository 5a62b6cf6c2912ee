// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts: raw interprocessor interrupts, device lines, the interrupt flag (`hadal/hrt/irq.h`).

use hadal_event::ipi;
use hadal_hal::{irq, user};

use crate::event::{handler, named};
use crate::status::{Code, Status, code};

/// `ipi_register`.
pub(crate) extern "C" fn ipi_register(function: usize, arg: usize, flags: u32, vector: usize) -> Code {
    let register = || {
        let action = handler(function, arg, flags)?;
        user::store_u32(vector, 0)?;
        let number = ipi::register(action).ok_or(Status::NoSpace)?;
        user::store_u32(vector, number).map_err(|fault| {
            let _ = ipi::unregister(number);
            fault.into()
        })
    };
    code(register())
}

/// `ipi_unregister`.
pub(crate) extern "C" fn ipi_unregister(vector: u32) -> Code {
    code(ipi::unregister(vector).map_err(named))
}

/// `ipi_send`.
pub(crate) extern "C" fn ipi_send(vector: u32, cpu: i32) -> Code {
    // A negative number is a CPU that does not exist.
    code(ipi::send(vector, cpu as u32 as usize).map_err(Status::from))
}

/// `irq_disable`.
pub(crate) extern "C" fn disable() -> u64 {
    u64::from(irq::disable_for_program())
}

/// `irq_restore`.
pub(crate) extern "C" fn restore(state: u64) {
    irq::restore_for_program(state & 1 != 0);
}
