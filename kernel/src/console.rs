// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel log: serial line, and the display if the boot loader left one.
//!
//! One line per record: seconds since boot, CPU, level, module, text. Which records are shown is a comma-separated list of
//! `LEVEL` and `MODULE=LEVEL` (the command's `--log`), where a module is the crate's name without `hadal_`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use hadal_hal::boot::{BootInfo, Display};
use hadal_hal::devices::serial::{COM1, Serial};
use hadal_hal::display::framebuffer::{self, Framebuffer};
use hadal_hal::display::vga::VgaText;
use hadal_hal::sync::{Rank, SpinLock};
use log::{Level, LevelFilter, Log, Metadata, Record};

/// Where text goes. The displays keep what they show, so they are statics and never on a stack.
struct Screen {
    serial: Serial,
    has_serial: bool,
    text: VgaText,
    has_text: bool,
    pixels: Framebuffer,
    has_pixels: bool,
}

static SCREEN: SpinLock<Screen> = SpinLock::ranked(
    Rank::Last,
    Screen {
        serial: Serial::new(COM1),
        has_serial: false,
        text: VgaText::new(),
        has_text: false,
        pixels: Framebuffer::new(),
        has_pixels: false,
    },
);

impl Screen {
    fn write(&mut self, text: &[u8]) {
        if self.has_serial {
            self.serial.write(text);
        }
        if self.has_text {
            self.text.write(text);
        }
        if self.has_pixels {
            self.pixels.write(text);
        }
    }
}

/// Levels by module, and the level of all others.
struct Filter {
    general: LevelFilter,
    modules: Vec<(String, LevelFilter)>,
}

static FILTER: SpinLock<Filter> =
    SpinLock::ranked(Rank::Last, Filter { general: LevelFilter::Info, modules: Vec::new() });

struct Logger;

impl Logger {
    fn module<'a>(metadata: &Metadata<'a>) -> &'a str {
        let crate_name = metadata.target().split("::").next().unwrap_or("");
        crate_name.strip_prefix("hadal_").unwrap_or(crate_name)
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let filter = FILTER.lock();
        let module = Self::module(metadata);
        let level = filter
            .modules
            .iter()
            .find(|(name, _)| name == module)
            .map_or(filter.general, |&(_, level)| level);
        metadata.level() <= level
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let us = hadal_time::now_ns() / 1000;
        let level = match record.level() {
            Level::Error => "error",
            Level::Warn => "warn ",
            Level::Info => "info ",
            Level::Debug => "debug",
            Level::Trace => "trace",
        };
        let mut line = Line(SCREEN.lock());
        let _ = writeln!(
            line,
            "[{:5}.{:06}] cpu{} {level} {}: {}",
            us / 1_000_000,
            us % 1_000_000,
            hadal_hal::cpu::current_id(),
            Self::module(record.metadata()),
            record.args()
        );
    }

    fn flush(&self) {}
}

/// A line in progress: the lock is held, so lines of several CPUs do not mix.
struct Line<'a>(hadal_hal::sync::SpinLockGuard<'a, Screen>);

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Opens the serial line and starts logging; the display comes with [`attach_display`].
pub(crate) fn init(_info: &BootInfo) {
    let mut screen = SCREEN.lock();
    screen.has_serial = screen.serial.init();
    drop(screen);
    if log::set_logger(&Logger).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
}

/// Shows the log on the display, too: for machines that have one. Device memory must be mappable.
pub(crate) fn attach_display(info: &BootInfo) {
    let mut screen = SCREEN.lock();
    match info.display {
        Some(Display::Text) => {
            screen.text.attach();
            screen.has_text = true;
        }
        Some(Display::Pixels(mode)) => {
            let channel = |position| framebuffer::Channel { position, size: 8 };
            screen.has_pixels = screen.pixels.attach(framebuffer::FramebufferInfo {
                pa: mode.pa,
                pitch: mode.pitch,
                width: mode.width,
                height: mode.height,
                bits_per_pixel: mode.bits_per_pixel,
                red: channel(mode.rgb_positions[0]),
                green: channel(mode.rgb_positions[1]),
                blue: channel(mode.rgb_positions[2]),
            });
        }
        None => {}
    }
}

/// Sets the filter. Parts that make no sense are ignored; the error is a sentence about the last of them.
pub(crate) fn set_filter(text: &str) -> Result<(), String> {
    let mut filter = Filter { general: LevelFilter::Info, modules: Vec::new() };
    let mut wrong = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (module, level) =
            part.split_once('=').map_or((None, part), |(module, level)| (Some(module), level));
        match (level.parse(), module) {
            (Ok(level), None) => filter.general = level,
            (Ok(level), Some(module)) => filter.modules.push((module.to_string(), level)),
            (Err(_), _) => wrong.push(part),
        }
    }
    *FILTER.lock() = filter;
    wrong.last().map_or(Ok(()), |part| {
        Err(format!(
            "log filter '{part}' is not LEVEL or MODULE=LEVEL with off, error, warn, info, debug, trace"
        ))
    })
}

/// Whether there is a serial line.
pub(crate) fn has_serial() -> bool {
    SCREEN.lock().has_serial
}

/// The next byte that came in by the serial line.
pub(crate) fn read_byte() -> Option<u8> {
    SCREEN.lock().serial.read_byte()
}

/// Writes program output to the console: for machines without a control channel.
pub(crate) fn write(text: &[u8]) {
    SCREEN.lock().write(text);
}

/// Writes past every lock: for the panic path.
pub(crate) fn write_unlocked(text: &str) {
    match SCREEN.try_lock() {
        Some(mut screen) => screen.write(text.as_bytes()),
        None => hadal_hal::devices::serial::raw_write(text.as_bytes()),
    }
}
