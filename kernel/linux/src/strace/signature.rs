// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the arguments and the result of a system call are. Each call's file says so itself, with [`signature!`].

use super::flags::{Choice, FlagSet};

/// A kind of argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    /// A C `int`, and so a descriptor or an identifier.
    Int,
    /// A signed word.
    Word,
    /// An unsigned word: a length or a count.
    Size,
    /// A word of bits without names.
    Hex,
    /// Permission bits.
    Octal,
    /// An address.
    Address,
    /// A directory's descriptor or `AT_FDCWD`.
    Directory,
    /// A string.
    Path,
    /// Data for the kernel; its length is the argument with this index.
    Input(usize),
    /// Data from the kernel; its length is the result.
    Output,
    /// Named bits.
    Flags(&'static FlagSet),
    /// One of several names.
    Choice(Choice),
    /// A signal's number.
    Signal,
    /// A `struct timespec` for the kernel.
    Time,
    /// An address of a socket for the kernel; its length is the argument with this index.
    SocketAddress(usize),
    /// Two descriptors from the kernel.
    Pair,
    /// `struct clone_args`.
    CloneArgs,
}

impl Arg {
    /// Whether it can be shown only after the call.
    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::Output | Self::Pair)
    }
}

/// What a call returns when it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returned {
    /// A number.
    Number,
    /// An address.
    Address,
    /// Nothing: the call does not come back to its caller, or what it leaves in RAX is not its result.
    Nothing,
}

/// The words of a call's arguments.
pub(crate) type Words = [usize; 6];

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Args {
    /// The same in every call.
    Fixed(&'static [Arg]),
    /// How many there are and what they mean depends on some of them.
    Dependent(fn(&Words) -> &'static [Arg]),
}

/// A call's arguments and result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) args: Args,
    pub(crate) returned: Returned,
}

impl Signature {
    /// Of a call that Hadal does not have.
    pub(super) const UNKNOWN: Self = Self { args: Args::Fixed(&[Arg::Hex; 6]), returned: Returned::Number };

    /// The arguments of the call that has these words.
    pub(super) fn args(&self, words: &Words) -> &'static [Arg] {
        match self.args {
            Args::Fixed(args) => args,
            Args::Dependent(of) => of(words),
        }
    }
}

/// Declares `SIGNATURE`, which the table of calls takes from each call's file. In the macro's arguments the variants of
/// [`Arg`] and [`Returned`] and the module [`flags`](super::flags) need no path:
/// - `signature!(Int, Output, Size)`: these arguments, and a number as the result
/// - `signature!(Address => Address)`: another kind of result
/// - `signature!(|words| match words[1] { ... })`: arguments that depend on the [`Words`], as a `&'static [Arg]`
macro_rules! signature {
    (|$words:ident| $args:expr) => {
        $crate::strace::signature!(@declare $crate::strace::Args::Dependent(|$words| {
            #[allow(unused_imports, reason = "each call has some of them")]
            use $crate::strace::{Arg::*, flags};
            $args
        }), Number);
    };
    ($($arg:expr),* $(=> $returned:ident)?) => {
        $crate::strace::signature!(@declare {
            #[allow(unused_imports, reason = "each call has some of them")]
            use $crate::strace::{Arg::*, flags};
            $crate::strace::Args::Fixed(&[$($arg),*])
        }, $($returned)? Number);
    };
    (@declare $args:expr, $returned:ident $($default:ident)?) => {
        /// Arguments and result, for the trace of calls.
        pub(super) const SIGNATURE: $crate::strace::Signature =
            $crate::strace::Signature { args: $args, returned: $crate::strace::Returned::$returned };
    };
}
pub(crate) use signature;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall;

    #[test]
    fn lengths_are_arguments() {
        for entry in syscall::entries() {
            let args = entry.signature.args(&[0; 6]);
            for arg in args {
                if let Arg::Input(len) = arg {
                    assert!(matches!(args.get(*len), Some(Arg::Size)), "{}: {args:?}", entry.name);
                }
            }
        }
    }

    #[test]
    fn names_are_linux_names() {
        for entry in syscall::entries() {
            assert_eq!(syscalls::Sysno::new(entry.number).map(|call| call.name()), Some(entry.name));
        }
    }
}
