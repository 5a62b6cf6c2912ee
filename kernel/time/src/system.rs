// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one clock of the running system: joins the pure modules with the hardware.
//!
//! The order of sources is in [`init`]; the reference that it measured against is kept for [`refine`].

use hadal_hal::cpu::tsc;
use hadal_hal::devices::hpet::Hpet;
use hadal_hal::devices::pit::{self, Pit};
use hadal_hal::devices::rtc;
use hadal_hal::sync::SpinLock;
use spin::Once;

use crate::NS_PER_SECOND;
use crate::calibrate::{self, Counter, Measurement, Sample, measure, remeasure};
use crate::clock::{Clock, State};
use crate::frequency::{Registers, Stated, stated};
use crate::line::{Line, Rate};

pub(crate) static CLOCK: Clock = Clock::new();
static CALIBRATION: SpinLock<Option<Baseline>> = SpinLock::new(None);

/// Assumed when nothing tells: what QEMU's instruction counting has.
const FALLBACK_HZ: u64 = NS_PER_SECOND;
/// A change of rate takes effect this much later. Until then old and new clock agree, so this is how long the
/// CPU that publishes the change may be held up half-way without another one seeing time run backwards.
const BEND_DELAY_NS: u64 = 10_000_000;

/// Where the frequency comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// CPUID leaf 0x40000010 of the hypervisor: exact.
    HypervisorLeaf,
    /// CPUID leaf 0x15: exact.
    CrystalLeaf,
    /// Measured against the high precision event timer.
    Hpet,
    /// Measured against the interval timer.
    Pit,
    /// CPUID leaf 0x16, because there was nothing to measure against.
    NominalLeaf,
    /// Nothing at all told: a guess.
    Guess,
}

/// What the clock runs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// Frequency of the time-stamp counter.
    pub hz: u64,
    /// Where it comes from.
    pub source: Source,
}

/// A correction of the frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refinement {
    /// Frequency until now.
    pub old_hz: u64,
    /// Frequency from now on.
    pub new_hz: u64,
}

/// What later corrections start from.
struct Baseline {
    hz: u64,
    measured: Option<(Reference, Measurement)>,
}

#[derive(Clone, Copy)]
enum Reference {
    Hpet(Hpet),
    Pit(Pit),
}

impl Counter for Reference {
    fn bits(&self) -> u32 {
        match self {
            // Only the low half is read: one access instead of three, and half a minute until it wraps is
            // plenty.
            Self::Hpet(_) => 32,
            Self::Pit(_) => 16,
        }
    }

    fn period_fs(&self) -> u64 {
        match self {
            Self::Hpet(hpet) => hpet.period_fs().into(),
            Self::Pit(_) => 1_000_000_000_000_000 / u64::from(pit::HZ),
        }
    }

    fn read(&self) -> u64 {
        match self {
            Self::Hpet(hpet) => hpet.read_low().into(),
            Self::Pit(pit) => pit.read().into(),
        }
    }
}

static HPET: Once<Hpet> = Once::new();

/// The machine's HPET, which counts since [`init`].
pub fn hpet() -> Option<Hpet> {
    HPET.get().copied()
}

/// A search for the frequency of the time-stamp counter that has begun.
pub struct Search {
    statement: Option<Stated>,
    /// The best timer there is, if it is needed, and its first reading.
    started: Option<(Reference, Sample)>,
}

/// Begins to look for the frequency of the time-stamp counter: the longer ago that is when [`init`] ends the search, the less
/// [`init`] waits. Called once, by the boot CPU.
pub fn begin(hpet: Option<Hpet>) -> Search {
    if let Some(hpet) = hpet {
        HPET.call_once(|| hpet);
    }
    let statement = stated(|leaf| {
        let found = raw_cpuid::native_cpuid::cpuid_count(leaf, 0);
        Registers { eax: found.eax, ebx: found.ebx, ecx: found.ecx, edx: found.edx }
    });
    let is_exact = exact(statement).is_some();
    let reference = hpet.filter(|_| !is_exact).map(Reference::Hpet);
    Search {
        statement,
        started: reference.map(|reference| (reference, calibrate::begin(&reference, tsc::read))),
    }
}

/// What CPUID states exactly.
fn exact(statement: Option<Stated>) -> Option<Calibration> {
    match statement {
        Some(Stated::Hypervisor(hz)) => Some(Calibration { hz, source: Source::HypervisorLeaf }),
        Some(Stated::Crystal(hz)) => Some(Calibration { hz, source: Source::CrystalLeaf }),
        _ => None,
    }
}

/// Ends the search for the frequency of the time-stamp counter and starts the clock at zero. Called once, by the boot CPU.
///
/// What CPUID states exactly is believed; otherwise the counter is measured against the best timer there is, with a wait of
/// at most half a millisecond.
pub fn init(search: Search) -> Calibration {
    let Search { statement, started } = search;
    let exact = exact(statement);
    let measured = match exact {
        Some(_) => None,
        None => started.and_then(|(reference, first)| try_reference(reference, first)).or_else(|| {
            let reference = Reference::Pit(Pit::start()?);
            try_reference(reference, calibrate::begin(&reference, tsc::read))
        }),
    };
    let calibration = match (exact, measured, statement) {
        (Some(exact), ..) => exact,
        (None, Some((Reference::Hpet(_), found)), _) => Calibration { hz: found.hz, source: Source::Hpet },
        (None, Some((Reference::Pit(_), found)), _) => Calibration { hz: found.hz, source: Source::Pit },
        (None, None, Some(Stated::Nominal(hz))) => Calibration { hz, source: Source::NominalLeaf },
        (None, None, _) => Calibration { hz: FALLBACK_HZ, source: Source::Guess },
    };
    *CALIBRATION.lock() = Some(Baseline { hz: calibration.hz, measured });
    CLOCK.update(|state| State { line: Line::starting(tsc::read(), Rate::from_hz(calibration.hz)), ..state });
    calibration
}

fn try_reference(reference: Reference, first: Sample) -> Option<(Reference, Measurement)> {
    measure(&reference, tsc::read, first).map(|found| (reference, found))
}

/// Measures the frequency again over all the time since [`init`] and lets the clock go on at the better rate,
/// without a jump. To be called about 100 ms and about 1 s after [`init`]; `None` when nothing changed,
/// because the frequency was exact from the start or the new measurement is not to be trusted.
pub fn refine() -> Option<Refinement> {
    let mut calibration = CALIBRATION.lock();
    let baseline = calibration.as_mut()?;
    let (reference, boot) = baseline.measured?;
    let new_hz = remeasure(&reference, tsc::read, &Measurement { hz: baseline.hz, ..boot })?;
    let old_hz = baseline.hz;
    let bend_delay_ticks = new_hz / (NS_PER_SECOND / BEND_DELAY_NS);
    let mut bent = false;
    CLOCK.update(|state| {
        let now = tsc::read();
        // The bend before this one still lies ahead, and only one can be remembered.
        if now < state.line.origin_tsc {
            return state;
        }
        bent = true;
        State { line: state.line.bent(now + bend_delay_ticks, Rate::from_hz(new_hz)), ..state }
    });
    if !bent {
        return None;
    }
    baseline.hz = new_hz;
    Some(Refinement { old_hz, new_hz })
}

/// Frequency of the time-stamp counter as known now; 0 before [`init`].
pub fn tsc_hz() -> u64 {
    CALIBRATION.lock().as_ref().map_or(0, |baseline| baseline.hz)
}

/// The value of the time-stamp counter at which [`now_ns`] reaches `deadline_ns`, for timers that compare
/// with it.
pub fn tsc_at(deadline_ns: u64) -> u64 {
    CLOCK.state().line.tsc_at(deadline_ns)
}

/// Monotonic nanoseconds at which the time-stamp counter had a value.
pub fn ns_at(tsc: u64) -> u64 {
    #[cfg(feature = "sim")]
    if hadal_hal::sim::clock_ns().is_some() {
        return tsc;
    }
    CLOCK.state().line.ns_at(tsc)
}

/// Nanoseconds that so many ticks of the time-stamp counter take, at the frequency known now.
pub fn duration_ns(ticks: u64) -> u64 {
    #[cfg(feature = "sim")]
    if hadal_hal::sim::clock_ns().is_some() {
        return ticks;
    }
    CLOCK.state().line.rate.duration_ns(ticks)
}

/// Monotonic nanoseconds since [`init`]; 0 before.
#[cfg(target_os = "none")]
pub fn now_ns() -> u64 {
    CLOCK.read(|state| state.line.ns_at(tsc::read()))
}

/// Nanoseconds since 1970-01-01 00:00 UTC; counted from there on at boot until the time is set.
#[cfg(target_os = "none")]
pub fn realtime_ns() -> i64 {
    CLOCK.read(|state| state.line.ns_at(tsc::read()).cast_signed().wrapping_add(state.realtime_offset_ns))
}

/// Starts [`now_ns`] at zero again, with the wall clock at `unix_ns`: for machines whose time is to begin with the program.
/// Timers that are pending come later by what had passed.
pub fn start_over(unix_ns: i64) {
    CLOCK.update(|state| State {
        line: Line::starting(tsc::read(), state.line.rate),
        realtime_offset_ns: unix_ns,
    });
}

/// Sets the wall clock: `unix_ns` nanoseconds since 1970-01-01 00:00 UTC are now.
pub fn set_realtime(unix_ns: i64) {
    CLOCK.update(|state| {
        let now_ns = state.line.ns_at(tsc::read()).cast_signed();
        State { realtime_offset_ns: unix_ns.wrapping_sub(now_ns), ..state }
    });
}

/// Sets the wall clock from the CMOS clock, to its precision of a second; false when there is none.
pub fn set_realtime_from_rtc() -> bool {
    let Some(seconds) = rtc::read_unix_seconds() else { return false };
    set_realtime(seconds.saturating_mul(NS_PER_SECOND.cast_signed()));
    true
}

#[cfg(not(target_os = "none"))]
pub use host::{now_ns, realtime_ns};

/// The host's clocks, for unit tests of the crates above.
#[cfg(not(target_os = "none"))]
mod host {
    use std::sync::OnceLock;
    use std::time::{Instant, SystemTime};

    static START: OnceLock<Instant> = OnceLock::new();

    /// Monotonic nanoseconds since the first call.
    pub fn now_ns() -> u64 {
        #[cfg(feature = "sim")]
        if let Some(ns) = hadal_hal::sim::clock_ns() {
            return ns;
        }
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    pub fn realtime_ns() -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos() as i64)
    }
}
