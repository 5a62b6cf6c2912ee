// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signal numbers and their names (signal(7), x86-64).

use linux_raw_sys::general;

/// Number of signals; they count from 1.
pub const COUNT: u8 = 64;
/// First signal that queues (glibc and musl keep the first two or three for themselves).
pub const FIRST_REALTIME: u8 = 32;

macro_rules! signals {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            pub const $name: u8 = general::$name as u8;
        )*

        /// The name of a standard signal.
        pub const fn name(signo: u8) -> Option<&'static str> {
            match signo {
                $($name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

signals! {
    SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE SIGALRM SIGTERM
    SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO
    SIGPWR SIGSYS
}

/// Whether several of the same signal queue up.
pub const fn is_realtime(signo: u8) -> bool {
    signo >= FIRST_REALTIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_x86_64() {
        assert_eq!((SIGHUP, SIGBUS, SIGSEGV, SIGCHLD, SIGSYS), (1, 7, 11, 17, 31));
        assert_eq!(name(11), Some("SIGSEGV"));
        assert_eq!(name(0), None);
        assert!((1..FIRST_REALTIME).all(|signo| name(signo).is_some()));
        assert_eq!(name(FIRST_REALTIME), None);
    }
}
