// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests to terminals (ioctl_tty(2)).

use alloc::sync::Arc;

use hadal_tty::termios::{Control, Termios};
use hadal_vfs::{IoctlArgument, OpenFlags};
use linux_raw_sys::ioctl::*;
use zerocopy::{FromBytes, IntoBytes};

use super::terminal::Window;
use super::termio::Termio;
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
            | TCSETA
            | TCSETAW
            | TCSETAF
            | TCFLSH
            | TCXONC
            | TIOCSPGRP
            | TCSBRK
            | TCSBRKP
    );
    if terminal.state().is_hung_up {
        return Err(if request == TIOCSPGRP { Errno::ENOTTY } else { Errno::EIO });
    }
    if changes {
        job::check(terminal, SIGTTOU)?;
    }
    match request {
        FIONREAD => {
            terminal.ask();
            put_typed(terminal, argument)
        }
        TIOCOUTQ => put_shown(terminal, argument),
        TCFLSH => flush(terminal, argument.value()),
        TCXONC => flow(terminal, argument.value()),
        TIOCSCTTY => job::claim(terminal, argument.value() == 1).map(|()| 0),
        TIOCNOTTY => job::renounce(terminal).map(|()| 0),
        TIOCGPGRP | TIOCGSID if !job::is_own(terminal) => Err(Errno::ENOTTY),
        TIOCSPGRP => {
            let group: i32 = get(argument)?;
            job::bring_to_front(terminal, group)?;
            if let Some(attached) = &terminal.attached {
                attached.host.control_jobs(true);
            }
            Ok(0)
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
        FIONREAD => put_shown(terminal, argument),
        TIOCOUTQ => put_typed(terminal, argument),
        // What comes in here is what goes out there.
        TCFLSH => flush(terminal, OPPOSITE.get(argument.value()).copied().ok_or(Errno::EINVAL)?),
        TCXONC => Ok(0),
        TIOCGPTN => put(argument, &terminal.number()),
        TIOCSPTLCK => {
            let locks: u32 = get(argument)?;
            terminal.state().is_locked = locks != 0;
            Ok(0)
        }
        TIOCGPTLCK => {
            let is_locked = terminal.state().is_locked;
            put(argument, &u32::from(is_locked))
        }
        TIOCGPTPEER => {
            let flags = OpenFlags::from_bits_truncate(argument.value() as u32);
            devices::open_slave(terminal, flags)
        }
        _ => of_both(terminal, request, argument),
    }
}

fn of_both(terminal: &Arc<Terminal>, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
    match request {
        TCGETS => {
            let settings = terminal.state().settings;
            put(argument, &settings)
        }
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
        TCGETA => {
            let settings = terminal.state().settings;
            put(argument, &Termio::of(&settings))
        }
        TCSETA | TCSETAW | TCSETAF => {
            let given: Termio = get(argument)?;
            let settings = given.applied_to(&terminal.state().settings);
            terminal.set(settings, request == TCSETAF);
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
                job::signal_foreground(terminal, SIGWINCH);
            }
            Ok(0)
        }
        TIOCGPGRP => put(argument, &terminal.possession.foreground()),
        TIOCGSID => match terminal.possession.session() {
            0 => Err(Errno::ENOTTY),
            session => put(argument, &session),
        },
        // A break means nothing here.
        TCSBRK | TCSBRKP => Ok(0),
        TIOCGETD => put(argument, &0_u32),
        TIOCSETD if get::<u32>(argument)? == 0 => Ok(0),
        TIOCSETD => Err(Errno::EINVAL),
        _ => Err(Errno::ENOTTY),
    }
}

/// What follows a `struct termios` in `struct termios2`: both speeds.
const SPEED_BYTES: usize = 8;
const BAUD: u32 = 38400;

/// Queues of `tcflush`.
const INPUT: usize = 0;
const OUTPUT: usize = 1;
const BOTH: usize = 2;
/// What the master calls each of them.
const OPPOSITE: [usize; 3] = [OUTPUT, INPUT, BOTH];

fn flush(terminal: &Terminal, queue: usize) -> Result<usize> {
    if queue > BOTH {
        return Err(Errno::EINVAL);
    }
    if let Some(attached) = terminal.attached.as_ref().filter(|_| queue != OUTPUT) {
        attached.host.discard();
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

/// How many typed bytes wait to be read.
fn put_typed(terminal: &Terminal, argument: &mut dyn IoctlArgument) -> Result<usize> {
    let waiting = {
        let state = terminal.state();
        state.input.waiting(&state.settings) as u32
    };
    put(argument, &waiting)
}

/// How many bytes wait to be shown.
fn put_shown(terminal: &Terminal, argument: &mut dyn IoctlArgument) -> Result<usize> {
    let waiting = terminal.state().screen.len() as u32;
    put(argument, &waiting)
}

fn put(argument: &mut dyn IoctlArgument, value: &(impl IntoBytes + zerocopy::Immutable)) -> Result<usize> {
    argument.write(value.as_bytes()).map(|()| 0)
}

fn get<T: FromBytes + IntoBytes>(argument: &mut dyn IoctlArgument) -> Result<T> {
    let mut value = T::new_zeroed();
    argument.read(value.as_mut_bytes())?;
    Ok(value)
}
