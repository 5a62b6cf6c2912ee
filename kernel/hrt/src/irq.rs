// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts: raw interprocessor interrupts, device lines, the interrupt flag (`hadal/hrt/irq.h`).

use hadal_event::ipi;
use hadal_event::lines::{self, LineError};
use hadal_hal::interrupts::irq;
use hadal_hal::memory::user;
use hadal_hrt_abi::irq::IrqInfo;

use crate::event::{cpu_of, handler, named};
use crate::memory_of_program::write_prefix;
use crate::program::Program;
use crate::status::{Code, Status, code};

/// `ipi_register`.
pub(crate) extern "C" fn ipi_register<P: Program>(
    function: usize,
    arg: usize,
    flags: u32,
    vector: usize,
) -> Code {
    let register = || {
        let action = handler::<P>(function, arg, flags)?;
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

impl From<LineError> for Status {
    fn from(error: LineError) -> Self {
        match error {
            LineError::NoLine => Self::NoDevice,
            LineError::Busy => Self::Busy,
            LineError::Full => Self::NoSpace,
            LineError::NoCpu => Self::Invalid,
            LineError::NotPermitted => Self::NotPermitted,
        }
    }
}

/// `irq_register`.
pub(crate) extern "C" fn register<P: Program>(line: u32, function: usize, arg: usize, flags: u32) -> Code {
    code(handler::<P>(function, arg, flags).and_then(|action| Ok(lines::register(line, action)?)))
}

/// `irq_unregister`.
pub(crate) extern "C" fn unregister(line: u32) -> Code {
    code(lines::unregister(line).map_err(Status::from))
}

/// `irq_steer`.
pub(crate) extern "C" fn steer(line: u32, cpu: i32) -> Code {
    code(cpu_of(cpu).and_then(|cpu| Ok(lines::steer(line, cpu)?)))
}

/// `irq_mask`.
pub(crate) extern "C" fn mask(line: u32, masked: bool) -> Code {
    code(lines::mask(line, masked).map_err(Status::from))
}

/// `irq_info`.
pub(crate) extern "C" fn info(index: u32, info: usize, info_bytes: u64) -> Code {
    let give = || {
        let found = lines::info(index as usize).ok_or(Status::NoDevice)?;
        let mut name = [0; 24];
        let length = found.name.len().min(name.len() - 1);
        name[..length].copy_from_slice(&found.name.as_bytes()[..length]);
        let record = IrqInfo {
            line: found.line,
            cpu: found.cpu as i32,
            vector: found.vector.into(),
            masked: found.masked,
            kernel: found.kernel,
            reserved: [0; 2],
            count: found.count,
            name,
        };
        write_prefix(info, &record, info_bytes)
    };
    code(give())
}

/// `irq_disable`.
pub(crate) extern "C" fn disable() -> u64 {
    u64::from(irq::disable_for_program())
}

/// `irq_restore`.
pub(crate) extern "C" fn restore(state: u64) {
    irq::restore_for_program(state & 1 != 0);
}
