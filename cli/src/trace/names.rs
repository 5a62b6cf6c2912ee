// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names for the numbers in a recording: interrupts, system calls, errors, signals, exceptions, kernel functions.

use std::collections::BTreeMap;

use hadal_abi::symbols::SymbolTable;
use hadal_abi::trace::Head;
use syscalls::{Errno, Sysno};

use super::json::Value;

/// Signals 1 to 31 (signal(7)).
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// Names of this recording.
pub(crate) struct Names<'a> {
    vectors: BTreeMap<u64, String>,
    symbols: Option<SymbolTable<'a>>,
}

impl<'a> Names<'a> {
    /// Names with the vectors of a recording and the functions of its kernel.
    pub(crate) fn new(head: Option<&Head>, symbols: Option<SymbolTable<'a>>) -> Self {
        let vectors = head.map_or(&[][..], |head| &head.vectors);
        Self {
            vectors: vectors.iter().map(|(vector, name)| ((*vector).into(), name.clone())).collect(),
            symbols,
        }
    }

    /// An interrupt.
    pub(crate) fn vector(&self, vector: u64) -> String {
        self.vectors.get(&vector).cloned().unwrap_or_else(|| format!("interrupt line (vector {vector:#x})"))
    }

    /// The kernel function at an address.
    pub(crate) fn function(&self, address: u64) -> String {
        match self.symbols.and_then(|symbols| symbols.find(address)) {
            Some((name, _)) => short(&format!("{:#}", rustc_demangle::demangle(name))),
            None => format!("{address:#x}"),
        }
    }
}

/// The last two parts of a path: module and function.
fn short(path: &str) -> String {
    let mut parts = path.rsplit("::");
    let (last, module) = (parts.next().unwrap_or(path), parts.next());
    module.map_or_else(|| last.to_owned(), |module| format!("{module}::{last}"))
}

/// A system call.
pub(crate) fn call(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("call {number}"), |call| call.name().to_owned())
}

/// What a system call returned: a number, an error by name, or an address.
pub(crate) fn result(result: u64) -> Value {
    const LAST_ERROR: i64 = -4095;
    let signed = result as i64;
    match i32::try_from(-signed) {
        Ok(error) if (LAST_ERROR..0).contains(&signed) => {
            let name = Errno::new(error).name().map_or_else(|| error.to_string(), str::to_owned);
            Value::Text(format!("-{name}"))
        }
        _ if result < 1 << 32 => Value::from(result),
        _ => super::json::address(result),
    }
}

/// A signal.
pub(crate) fn signal(number: u64) -> String {
    let index = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
    SIGNALS.get(index).map_or_else(|| format!("signal {number}"), |name| format!("SIG{name}"))
}

/// An exception, and for page faults what was tried (Intel SDM vol. 3, 4.7).
pub(crate) fn fault(vector: u32, error: u32) -> (&'static str, &'static str) {
    let name = match vector {
        0 => "divide error",
        1 => "debug exception",
        3 => "breakpoint",
        6 => "invalid opcode",
        12 => "stack fault",
        13 => "general protection fault",
        14 => "page fault",
        16 | 19 => "floating-point exception",
        17 => "alignment check",
        _ => "exception",
    };
    let access = match error {
        _ if vector != 14 => "",
        error if error & 1 << 4 != 0 => "execute",
        error if error & 1 << 1 != 0 => "write",
        _ => "read",
    };
    (name, access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_their_names() {
        assert_eq!((call(1), call(10_000)), ("write".into(), "call 10000".into()));
        assert_eq!(result(-11_i64 as u64), Value::Text("-EAGAIN".into()));
        assert_eq!(result(7), Value::Number(7));
        assert_eq!(result(0x7fff_0000_0000), Value::Text("0x7fff00000000".into()));
        assert_eq!((signal(11), signal(40)), ("SIGSEGV".into(), "signal 40".into()));
        assert_eq!((fault(14, 6), fault(0, 0)), (("page fault", "write"), ("divide error", "")));
        assert_eq!(short("hadal_kernel::control::receive"), "control::receive");
        assert_eq!(short("main"), "main");
    }
}
