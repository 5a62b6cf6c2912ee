// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mq_open(2)`: opens a message queue, and may create it.
//!
//! Honoured: `O_RDONLY`, `O_WRONLY`, `O_RDWR`, `O_CREAT`, `O_EXCL`, `O_NONBLOCK`, `O_CLOEXEC`; mode, umask and attributes of a new
//! queue, within the limits in `/proc/sys/fs/mqueue` (the superuser: 65536 messages of 16 MiB) and `RLIMIT_MSGQUEUE`. A queue with a
//! name outlives the program.
//!
//! Refused: nothing; other flags are ignored.

use hadal_vfs::OpenFlags;

use super::attributes::Attributes;
use crate::call::Call;
use crate::files::at;
use crate::mqueue::{self, Bounds};
use crate::strace::signature;
use crate::{Result, memory};

signature!(|words| match flags::makes_file(words[1]) {
    true => &[Path, Flags(&flags::OPEN), Octal, Address],
    false => &[Path, Flags(&flags::OPEN)],
});

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let process = call.process;
    let (flags, mode, attributes) = (OpenFlags::from_bits_truncate(call.uint(1)), call.uint(2), call.arg(3));
    let attributes: Option<Attributes> = match attributes {
        0 => None,
        address => Some(memory::read(address)?),
    };
    let mut room = at::Text::new();
    let name = at::path(call, 0, &mut room)?;
    let bounds = || match attributes {
        None => Ok(Bounds::DEFAULT),
        Some(wanted) => {
            Bounds::new(wanted.messages, wanted.message_bytes, process.credentials.is_privileged())
        }
    };
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    mqueue::directory().open(process, name, flags, mode, bounds, |file| {
        process.files().insert(file, on_exec).map(|fd| fd as usize)
    })
}
