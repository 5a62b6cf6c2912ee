// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests to terminals (ioctl_tty(2)).

use alloc::sync::Arc;

use hadal_tty::termios::{Control, Termios};
use hadal_vfs::{IoctlArgument, OpenFlags};
use linux_raw_sys::ioctl::*;
use zerocopy::{FromBytes, IntoBytes};

use super::terminal::Window;
use super::{Terminal, devices, job};
use crate::signal::number::{SIGTTOU, SIGWINCH};
use crate::task::Task;
use crate::{Errno, Result};

/// Requests that the crate has no names for.
const TCXONC: u32 = 0x540a;
const TCFLSH: u32 = 0x540b;
const TCSBRK: u32 = 0x5409;
const TCSBRKP: u32 = 0x5425;

/// Of the side that programs read and write.
pub(super) fn of_slave(
    terminal: &Arc<Terminal>,
    request: u32,
    argument: &mut dyn IoctlArgument,
) -> Result<usize> {
    let changes = matches!(
        request,
        TCSETS
            | TCSETSW
            | TCSETSF
            | TCSETS2
            | TCSETSW2
            | TCSETSF2
            | TCFLSH
            | TCXONC
            | TIOCSPGRP
            | TCSBRK
            | TCSBRKP
    );
    if changes {
        job::check(terminal, SIGTTOU)?;
    }
    match request {
        FIONREAD => {
            let state = terminal.state();
            let waiting = state.input.readable(&state.settings).unwrap_or(0) as u32;
            drop(state);
            put(argument, &waiting)
        }
        TIOCOUTQ => put(argument, &(terminal.state().screen.len() as u32)),
        TIOCSCTTY => job::claim(terminal, argument.value() == 1).map(|()| 0),
        TIOCNOTTY => job::renounce(terminal).map(|()| 0),
        TIOCGPGRP | TIOCGSID if !job::is_own(terminal) => Err(Errno::ENOTTY),
        TIOCSPGRP => {
            let group: i32 = get(argument)?;
            job::bring_to_front(terminal, group).map(|()| 0)
        }
        TIOCSTI => {
            let byte: u8 = get(argument)?;
            if !job::is_own(terminal) && !Task::current().process().credentials.is_privileged() {
                return Err(Errno::EPERM);
            }
            terminal.type_in(&[byte]);
            Ok(0)
        }
        _ => of_both(terminal, request, argument),
    }
}

/// Of the side that is the person.
pub(super) fn of_master(
    terminal: &Arc<Terminal>,
    request: u32,
    argument: &mut dyn IoctlArgument,
) -> Result<usize> {
    match request {
        FIONREAD => put(argument, &(terminal.state().screen.len() as u32)),
        TIOCOUTQ => {
            let state = terminal.state();
            let waiting = state.input.readable(&state.settings).unwrap_or(0) as u32;
            drop(state);
            put(argument, &waiting)
        }
        TIOCGPTN => put(argument, &terminal.number()),
        TIOCSPTLCK => {
            let locks: u32 = get(argument)?;
            terminal.state().is_locked = locks != 0;
            Ok(0)
        }
        TIOCGPTLCK => put(argument, &u32::from(terminal.state().is_locked)),
        TIOCGPTPEER => {
            let flags = OpenFlags::from_bits_truncate(argument.value() as u32);
            devices::open_slave(terminal, flags)
        }
        _ => of_both(terminal, request, argument),
    }
}

fn of_both(terminal: &Arc<Terminal>, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
    match request {
        TCGETS => put(argument, &terminal.state().settings),
        TCGETS2 => {
            let mut bytes = [0; size_of::<Termios>() + SPEED_BYTES];
            let settings = terminal.state().settings;
            bytes[..size_of::<Termios>()].copy_from_slice(settings.as_bytes());
            for speed in bytes[size_of::<Termios>()..].chunks_exact_mut(size_of::<u32>()) {
                speed.copy_from_slice(&BAUD.to_le_bytes());
            }
            argument.write(&bytes).map(|()| 0)
        }
        // What was written is on the screen already: there is no line that would have to drain.
        TCSETS | TCSETSW | TCSETSF | TCSETS2 | TCSETSW2 | TCSETSF2 => {
            let settings: Termios = get(argument)?;
            terminal.set(settings, matches!(request, TCSETSF | TCSETSF2));
            Ok(0)
        }
        TIOCGWINSZ => {
            let window = terminal.state().window;
            put(argument, &window)
        }
        TIOCSWINSZ => {
            let window: Window = get(argument)?;
            let before = core::mem::replace(&mut terminal.state().window, window);
            if before != window {
                job::signal_group(terminal.foreground(), SIGWINCH);
            }
            Ok(0)
        }
        TIOCGPGRP => put(argument, &terminal.foreground()),
        TIOCGSID => match terminal.session() {
            0 => Err(Errno::ENOTTY),
            session => put(argument, &session),
        },
        TCFLSH => flush(terminal, argument.value()),
        TCXONC => flow(terminal, argument.value()),
        // A break means nothing here.
        TCSBRK | TCSBRKP => Ok(0),
        TIOCGETD => put(argument, &0_u32),
        TIOCSETD if get::<u32>(argument)? == 0 => Ok(0),
        TIOCSETD => Err(Errno::EINVAL),
        TIOCEXCL | TIOCNXCL => Ok(0),
        _ => Err(Errno::ENOTTY),
    }
}

/// What follows a `struct termios` in `struct termios2`: both speeds.
const SPEED_BYTES: usize = 8;
const BAUD: u32 = 38400;

fn flush(terminal: &Terminal, queue: usize) -> Result<usize> {
    const INPUT: usize = 0;
    const OUTPUT: usize = 1;
    const BOTH: usize = 2;
    if queue > BOTH {
        return Err(Errno::EINVAL);
    }
    let mut state = terminal.state();
    if queue != OUTPUT {
        state.input.discard();
    }
    if queue != INPUT {
        state.screen.clear();
    }
    drop(state);
    terminal.slaves.wake_all();
    terminal.masters.wake_all();
    Ok(0)
}

fn flow(terminal: &Terminal, action: usize) -> Result<usize> {
    const HOLD_OUTPUT: usize = 0;
    const RELEASE_OUTPUT: usize = 1;
    const HOLD_INPUT: usize = 2;
    const RELEASE_INPUT: usize = 3;
    let which = match action {
        HOLD_OUTPUT | RELEASE_OUTPUT => {
            terminal.state().input.hold_output(action == HOLD_OUTPUT);
            terminal.slaves.wake_all();
            return Ok(0);
        }
        HOLD_INPUT => Control::Stop,
        RELEASE_INPUT => Control::Start,
        _ => return Err(Errno::EINVAL),
    };
    // The other side is asked not to send, or to go on.
    let byte = terminal.state().settings.value(which);
    if byte != 0 {
        terminal.show(&[byte]);
    }
    Ok(0)
}

fn put(argument: &mut dyn IoctlArgument, value: &(impl IntoBytes + zerocopy::Immutable)) -> Result<usize> {
    argument.write(value.as_bytes()).map(|()| 0)
}

fn get<T: FromBytes + IntoBytes>(argument: &mut dyn IoctlArgument) -> Result<T> {
    let mut value = T::new_zeroed();
    argument.read(value.as_mut_bytes())?;
    Ok(value)
}
