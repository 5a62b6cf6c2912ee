// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux error numbers.
//!
//! The file layer reports errors as the numbers a Linux program sees, so that the system calls on top hand them
//! on unchanged and a 9P server's own number passes through as it is. [`Errno`] is that number with its name.

use core::fmt;

use hadal_hal::memory::fallible::OutOfMemory;
use hadal_sync::WaitError;

/// A Linux x86-64 error number, between 1 and 4095.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(u16);

/// The result of a file operation.
pub type Result<T> = core::result::Result<T, Errno>;

impl Errno {
    /// Takes a number from outside; zero and numbers above 4095 are no error numbers and become `EIO`.
    pub const fn from_raw(number: u32) -> Self {
        if number >= 1 && number <= 4095 { Self(number as u16) } else { Self::EIO }
    }

    /// The number itself, always positive.
    pub const fn raw(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Errno {}

impl From<WaitError> for Errno {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::TimedOut => Self::ETIMEDOUT,
            WaitError::Interrupted => Self::EINTR,
        }
    }
}

impl From<OutOfMemory> for Errno {
    fn from(_: OutOfMemory) -> Self {
        Self::ENOMEM
    }
}

macro_rules! errnos {
    ($($name:ident)*) => {
        impl Errno {
            $(
                #[doc = concat!("The error number `", stringify!($name), "`.")]
                pub const $name: Self = Self(linux_raw_sys::errno::$name as u16);
            )*

            /// The symbolic name, such as `ENOENT`; `None` for a number Linux does not use.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

errnos! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY
    EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK
    EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT
    EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT EBFONT ENOSTR ENODATA ETIME
    ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ
    EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK
    EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT
    EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS
    EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY
    EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED
    ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_linux() {
        assert_eq!(Errno::ENOENT.raw(), 2);
        assert_eq!(Errno::EAGAIN.raw(), 11);
        assert_eq!(Errno::ENOSYS.raw(), 38);
        assert_eq!(Errno::EHWPOISON.raw(), 133);
        assert_eq!(Errno::ELOOP.to_string(), "ELOOP");
        assert_eq!(Errno::from_raw(524).to_string(), "errno 524");
    }

    #[test]
    fn foreign_numbers_are_bounded() {
        assert_eq!(Errno::from_raw(0), Errno::EIO);
        assert_eq!(Errno::from_raw(4096), Errno::EIO);
        assert_eq!(Errno::from_raw(2), Errno::ENOENT);
    }
}
