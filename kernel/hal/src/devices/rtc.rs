// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The CMOS real-time clock: the date and time of day at boot, in UTC.
//!
//! [`read_unix_seconds`] is what the clock needs; [`CmosDate`] is the pure part: decoding and calendar.

use crate::cpu;
use crate::cpu::port::{in8, out8};

const INDEX: u16 = 0x70;
const DATA: u16 = 0x71;
/// Bit 7 of the index port keeps non-maskable interrupts off while set; it stays clear.
const REGISTER_SECONDS: u8 = 0x00;
const REGISTER_MINUTES: u8 = 0x02;
const REGISTER_HOURS: u8 = 0x04;
const REGISTER_DAY: u8 = 0x07;
const REGISTER_MONTH: u8 = 0x08;
const REGISTER_YEAR: u8 = 0x09;
const REGISTER_STATUS_A: u8 = 0x0a;
const REGISTER_STATUS_B: u8 = 0x0b;
const REGISTER_CENTURY: u8 = 0x32;

const UPDATE_IN_PROGRESS: u8 = 1 << 7;
const MODE_24_HOURS: u8 = 1 << 1;
const MODE_BINARY: u8 = 1 << 2;
const HOURS_PM: u8 = 1 << 7;

/// An update takes 2 ms at most and a port access about 1 us.
const UPDATE_POLLS: u32 = 20_000;
/// Two equal readings in a row come within a few tries unless there is no clock.
const READ_TRIES: u32 = 8;

/// Seconds since 1970-01-01 00:00 UTC by the CMOS clock; `None` when there is none or it holds no valid date.
pub fn read_unix_seconds() -> Option<i64> {
    let mut before = read_registers()?;
    for _ in 0..READ_TRIES {
        let again = read_registers()?;
        if again == before {
            return CmosDate::decode(&again)?.to_unix_seconds();
        }
        before = again;
    }
    None
}

/// The registers as the chip holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawDate {
    /// Seconds, minutes, hours, day of the month, month, year within the century.
    pub fields: [u8; 6],
    /// Century; meaningless on machines without that register.
    pub century: u8,
    /// Status register B: the format of the others.
    pub status_b: u8,
}

fn read_register(register: u8) -> u8 {
    out8(INDEX, register);
    in8(DATA)
}

fn read_registers() -> Option<RawDate> {
    // All registers are read well within the 244 us that the flag leaves before an update.
    let idle = (0..UPDATE_POLLS).any(|_| {
        let idle = read_register(REGISTER_STATUS_A) & UPDATE_IN_PROGRESS == 0;
        if !idle {
            cpu::relax();
        }
        idle
    });
    let fields =
        [REGISTER_SECONDS, REGISTER_MINUTES, REGISTER_HOURS, REGISTER_DAY, REGISTER_MONTH, REGISTER_YEAR];
    idle.then(|| RawDate {
        fields: fields.map(read_register),
        century: read_register(REGISTER_CENTURY),
        status_b: read_register(REGISTER_STATUS_B),
    })
}

/// A date and time of day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmosDate {
    /// Full year, such as 2026.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59, 60 in a leap second.
    pub second: u8,
}

impl CmosDate {
    /// Decodes the registers; `None` when a field is not a number of its kind.
    pub fn decode(raw: &RawDate) -> Option<Self> {
        let number = |value: u8| {
            if raw.status_b & MODE_BINARY != 0 {
                return Some(value);
            }
            let (tens, units) = (value >> 4, value & 0xf);
            (tens <= 9 && units <= 9).then_some(tens * 10 + units)
        };
        let [second, minute, hour, day, month, year] = raw.fields;
        let hour = if raw.status_b & MODE_24_HOURS != 0 {
            number(hour)?
        } else {
            // Twelve comes before one.
            let in_half = number(hour & !HOURS_PM).filter(|hour| (1..=12).contains(hour))? % 12;
            in_half + if hour & HOURS_PM != 0 { 12 } else { 0 }
        };
        let year = u16::from(number(year)?);
        let year = match number(raw.century) {
            Some(century @ 19..=22) => u16::from(century) * 100 + year,
            // No such register: two digits mean 1970 to 2069.
            _ if year < 70 => 2000 + year,
            _ => 1900 + year,
        };
        let (second, minute) = (number(second)?, number(minute)?);
        Some(Self { year, month: number(month)?, day: number(day)?, hour, minute, second })
    }

    /// Seconds since 1970-01-01 00:00 UTC; `None` when there is no such date.
    pub fn to_unix_seconds(&self) -> Option<i64> {
        let valid = (1970..10_000).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_in(self.year, self.month)).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second <= 60;
        if !valid {
            return None;
        }
        let year = i64::from(self.year);
        let leap_days = |year: i64| year / 4 - year / 100 + year / 400;
        let days_before_year = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
        let days_before_month: i64 = (1..self.month).map(|month| i64::from(days_in(self.year, month))).sum();
        let days = days_before_year + days_before_month + i64::from(self.day) - 1;
        let seconds = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        Some(days * 86_400 + seconds)
    }
}

fn days_in(year: u16, month: u8) -> u8 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Option<i64> {
        CmosDate { year, month, day, hour, minute, second }.to_unix_seconds()
    }

    #[test]
    fn calendar() {
        assert_eq!(seconds(1970, 1, 1, 0, 0, 0), Some(0));
        assert_eq!(seconds(2000, 2, 29, 12, 0, 0), Some(951_825_600));
        assert_eq!(seconds(2026, 11, 21, 13, 14, 15), Some(1_795_266_855));
        assert_eq!(seconds(2038, 1, 19, 3, 14, 8), Some(1 << 31));
        assert_eq!(seconds(2100, 3, 1, 0, 0, 0), Some(4_107_542_400));
        assert_eq!(seconds(2100, 2, 29, 0, 0, 0), None);
        assert_eq!(seconds(2026, 13, 1, 0, 0, 0), None);
        assert_eq!(seconds(2026, 4, 31, 0, 0, 0), None);
        assert_eq!(seconds(2026, 4, 0, 0, 0, 0), None);
        assert_eq!(seconds(2026, 4, 1, 24, 0, 0), None);
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = 0;
        for year in 1970..2200 {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    assert_eq!(seconds(year, month, day, 0, 0, 0), Some(expected));
                    expected += 86_400;
                }
            }
        }
    }

    #[test]
    fn decimal_digits_and_24_hours() {
        let fields = [0x59, 0x08, 0x23, 0x21, 0x11, 0x26];
        let raw = RawDate { fields, century: 0x20, status_b: MODE_24_HOURS };
        let date = CmosDate { year: 2026, month: 11, day: 21, hour: 23, minute: 8, second: 59 };
        assert_eq!(CmosDate::decode(&raw), Some(date));
        assert_eq!(CmosDate::decode(&RawDate { century: 0xff, ..raw }), Some(date));
        assert_eq!(CmosDate::decode(&RawDate { fields: [0x5a, 0, 0, 1, 1, 0], ..raw }), None);
    }

    #[test]
    fn binary_and_12_hours() {
        let at = |hour| RawDate { fields: [1, 2, hour, 3, 4, 99], century: 0, status_b: MODE_BINARY };
        let hour_of = |hour| CmosDate::decode(&at(hour)).map(|date| date.hour);
        assert_eq!(hour_of(12), Some(0));
        assert_eq!(hour_of(1), Some(1));
        assert_eq!(hour_of(12 | HOURS_PM), Some(12));
        assert_eq!(hour_of(11 | HOURS_PM), Some(23));
        assert_eq!(hour_of(0), None);
        assert_eq!(CmosDate::decode(&at(1)).map(|date| date.year), Some(1999));
    }
}
