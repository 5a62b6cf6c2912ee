// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values on the command line: sizes, times, CPU counts, mounts, log levels. Each parser says what it expects.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use hadal_abi::machine::{MAX_CPUS, MIN_MEMORY_BYTES};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Why a value on the command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    /// Not a size.
    #[error("expected a size such as 512M, 1.5G or 4G (a number without a unit counts MiB)")]
    Size,
    /// Too little memory.
    #[error("the kernel needs at least {}", Bytes(MIN_MEMORY_BYTES))]
    MemoryTooSmall,
    /// Too much memory for an address.
    #[error("more than {} cannot be addressed", Bytes(MAX_MEMORY_BYTES))]
    MemoryTooLarge,
    /// Too small or too large for a buffer.
    #[error("expected a size from {} to {}", Bytes(*BUFFER_BYTES.start()), Bytes(*BUFFER_BYTES.end()))]
    Buffer,
    /// Not a count of CPUs.
    #[error("expected a number of CPUs from 1 to {MAX_CPUS}")]
    Cpus,
    /// Not a count of nodes.
    #[error("expected a number of NUMA nodes from 1 to {MAX_NODES}")]
    Nodes,
    /// Not a time.
    #[error("expected a time such as 10, 1.5s, 500ms or 2m")]
    Time,
    /// A time that a clock cannot be added to.
    #[error("expected at most a million hours")]
    LongTime,
    /// Not an environment setting.
    #[error("expected NAME=VALUE")]
    Env,
    /// Not a mount.
    #[error("expected HOST:GUEST or HOST:GUEST:rw, where GUEST is an absolute path")]
    Mount,
    /// Not a log level.
    #[error("expected LEVEL or MODULE=LEVEL, where LEVEL is off, error, warn, info, debug or trace")]
    Log,
}

/// Most memory a machine may have: what 46 physical address bits reach, less the devices' share.
const MAX_MEMORY_BYTES: u64 = 32 << 40;

/// Sizes of a buffer of the kernel: some thousand records at least, the largest block of memory at most.
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 64 * KIB..=KIB * MIB;

/// Most NUMA nodes QEMU builds.
const MAX_NODES: u32 = 128;

/// A number of bytes, printed in the largest unit that keeps it whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) u64);

impl Bytes {
    /// What [`parse_memory`] reads as the same whole number of MiB, for another command.
    pub(crate) fn to_memory_option(self) -> String {
        format!("{}M", self.0 / MIB)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        for (shift, unit) in units {
            if self.0 >= 1 << shift && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        // Not whole in any unit: one decimal of the largest that fits.
        for (shift, unit) in units {
            if self.0 >= 1 << shift {
                let tenths = u128::from(self.0) * 10 / (1 << shift);
                return write!(f, "{}.{} {unit}", tenths / 10, tenths % 10);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

fn parse_size(text: &str) -> Result<u64, ValueError> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "k" => KIB,
        "" | "m" => MIB,
        "g" => KIB * MIB,
        "t" => MIB * MIB,
        _ => return Err(ValueError::Size),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return Ok(whole.saturating_mul(scale));
    }
    // What a fraction of a unit leaves of a byte is nothing that anybody means.
    let number: f64 = number.parse().map_err(|_| ValueError::Size)?;
    Ok((number * scale as f64) as u64)
}

/// Memory of the machine, a whole number of MiB.
pub(crate) fn parse_memory(text: &str) -> Result<Bytes, ValueError> {
    let bytes = parse_size(text)?;
    match bytes {
        0..MIN_MEMORY_BYTES => Err(ValueError::MemoryTooSmall),
        MIN_MEMORY_BYTES..=MAX_MEMORY_BYTES => Ok(Bytes(bytes / MIB * MIB)),
        _ => Err(ValueError::MemoryTooLarge),
    }
}

/// A buffer of the kernel.
pub(crate) fn parse_buffer(text: &str) -> Result<Bytes, ValueError> {
    let bytes = parse_size(text)?;
    (BUFFER_BYTES.contains(&bytes)).then_some(Bytes(bytes)).ok_or(ValueError::Buffer)
}

/// Number of CPUs.
pub(crate) fn parse_cpus(text: &str) -> Result<u32, ValueError> {
    text.parse().ok().filter(|n| (1..=MAX_CPUS).contains(n)).ok_or(ValueError::Cpus)
}

/// Number of NUMA nodes.
pub(crate) fn parse_nodes(text: &str) -> Result<u32, ValueError> {
    text.parse().ok().filter(|n| (1..=MAX_NODES).contains(n)).ok_or(ValueError::Nodes)
}

/// Longest time that can be given: more does not fit every clock that it is added to.
const MAX_TIME: Duration = Duration::from_secs(1_000_000 * 3600);

/// A time limit.
pub(crate) fn parse_time(text: &str) -> Result<Duration, ValueError> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| ValueError::Time)?;
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(ValueError::Time),
    };
    let time = number * scale;
    if time > MAX_TIME.as_secs_f64() && time.is_finite() {
        return Err(ValueError::LongTime);
    }
    Duration::try_from_secs_f64(time).ok().filter(|d| !d.is_zero()).ok_or(ValueError::Time)
}

/// `NAME=VALUE` for the program's environment.
pub(crate) fn parse_env(setting: OsString) -> Result<OsString, ValueError> {
    match setting.as_bytes().iter().position(|b| *b == b'=') {
        None | Some(0) => Err(ValueError::Env),
        Some(_) => Ok(setting),
    }
}

/// A host directory for the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountArg {
    /// Directory on the host.
    pub(crate) host: PathBuf,
    /// Where the guest sees it.
    pub(crate) guest: PathBuf,
    /// Whether the guest may write.
    pub(crate) writable: bool,
}

/// `HOST:GUEST[:rw]`.
pub(crate) fn parse_mount(text: OsString) -> Result<MountArg, ValueError> {
    let mut parts: Vec<&[u8]> = text.as_bytes().split(|b| *b == b':').collect();
    let writable = match parts.last() {
        Some(&b"rw") => true,
        Some(&b"ro") => false,
        _ => {
            parts.push(b"ro");
            false
        }
    };
    let [host, guest, _] = parts[..] else { return Err(ValueError::Mount) };
    if host.is_empty() || !guest.starts_with(b"/") {
        return Err(ValueError::Mount);
    }
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    Ok(MountArg { host: path(host), guest: path(guest), writable })
}

/// One or more `LEVEL` or `MODULE=LEVEL`, separated by commas; returned in lower case.
pub(crate) fn parse_log(text: &str) -> Result<String, ValueError> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let lower = text.to_ascii_lowercase();
    for directive in lower.split(',') {
        let (module, level) = directive.split_once('=').unwrap_or(("all", directive));
        let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
        if module.is_empty() || !module.bytes().all(is_name) || !LEVELS.contains(&level) {
            return Err(ValueError::Log);
        }
    }
    Ok(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(parse_memory("2G"), Ok(Bytes(2 << 30)));
        assert_eq!(parse_memory("512"), Ok(Bytes(512 << 20)));
        assert_eq!(parse_memory("512MiB"), Ok(Bytes(512 << 20)));
        assert_eq!(parse_memory("1.5G"), Ok(Bytes(1536 << 20)));
        assert_eq!(parse_memory("0.3T"), Ok(Bytes(314_572 << 20)));
        for memory in ["64", "1500M", "3G", "0.3T"].map(|text| parse_memory(text).expect("a size")) {
            assert_eq!(parse_memory(&memory.to_memory_option()), Ok(memory));
        }
        for large in ["99999999999999999999G", "99999999999999999999.5G", "9999999999999999999G"] {
            assert_eq!(parse_memory(large), Err(ValueError::MemoryTooLarge), "{large}");
        }
        assert_eq!(parse_memory("1M"), Err(ValueError::MemoryTooSmall));
        assert_eq!(parse_memory("9000T"), Err(ValueError::MemoryTooLarge));
        for wrong in ["", "G", "-1G", ".", "1.5.1G", "1,5G", "1e3", "12X"] {
            assert_eq!(parse_memory(wrong), Err(ValueError::Size), "{wrong}");
        }
    }

    #[test]
    fn sizes_print_in_a_readable_unit() {
        assert_eq!(Bytes(2 << 30).to_string(), "2 GiB");
        assert_eq!(Bytes((3 << 30) / 2).to_string(), "1536 MiB");
        assert_eq!(Bytes(5_000_000).to_string(), "4.7 MiB");
        assert_eq!(Bytes(12).to_string(), "12 bytes");
    }

    #[test]
    fn cpu_counts_are_bounded() {
        assert_eq!(parse_cpus("255"), Ok(255));
        for wrong in ["0", "256", "-1", "two"] {
            assert_eq!(parse_cpus(wrong), Err(ValueError::Cpus), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "0", "-1", "1y", "nan", "inf"] {
            assert_eq!(parse_time(wrong), Err(ValueError::Time), "{wrong}");
        }
        assert_eq!(parse_time("1000000h"), Ok(MAX_TIME));
        for long in ["1000001h", "18446744073709549568", "99999999999999999999999"] {
            assert_eq!(parse_time(long), Err(ValueError::LongTime), "{long}");
        }
    }

    #[test]
    fn mounts_are_read_only_unless_said() {
        let mount = |text: &str| parse_mount(OsString::from(text));
        let dir = |writable| MountArg { host: "data".into(), guest: "/mnt".into(), writable };
        assert_eq!(mount("data:/mnt"), Ok(dir(false)));
        assert_eq!(mount("data:/mnt:rw"), Ok(dir(true)));
        for wrong in ["data", "data:mnt", ":/mnt", "a:/b:/c:rw"] {
            assert_eq!(mount(wrong), Err(ValueError::Mount), "{wrong}");
        }
    }

    #[test]
    fn log_directives_are_checked() {
        assert_eq!(parse_log("Info,mem=debug"), Ok("info,mem=debug".to_owned()));
        for wrong in ["", "loud", "mem=", "=info", "a b=info"] {
            assert_eq!(parse_log(wrong), Err(ValueError::Log), "{wrong}");
        }
    }
}
