// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long the rest of a run will take: each turn as long as its like took the last time, in this run or an earlier one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Durations of turns, by what identifies a turn among all that were ever measured.
#[derive(Debug, Default)]
pub(crate) struct Forecast {
    file: PathBuf,
    seconds: BTreeMap<String, f64>,
}

impl Forecast {
    /// What earlier runs took; nothing where there were none.
    pub(crate) fn load(cache: &Path) -> Self {
        let file = cache.join("turn-seconds.json");
        let text = fs::read_to_string(&file).unwrap_or_default();
        Self { seconds: serde_json::from_str(&text).unwrap_or_default(), file }
    }

    /// Remembers how long a turn took.
    pub(crate) fn learn(&mut self, turn: String, duration: Duration) {
        self.seconds.insert(turn, duration.as_secs_f64());
        if let Ok(text) = serde_json::to_string(&self.seconds) {
            // Lost estimates do no harm, and two runs at once may each lose the other's.
            let _ = fs::write(&self.file, text);
        }
    }

    /// What these turns will take. One that is not known takes as long as the known ones among them on average; nothing is
    /// said if none is, since turns of other runs may be shorter by thousands.
    pub(crate) fn left(&self, turns: impl Iterator<Item = String>) -> Option<Duration> {
        let (mut known, mut seconds, mut unknown) = (0u32, 0.0, 0u32);
        for turn in turns {
            match self.seconds.get(&turn) {
                Some(of_turn) => (known, seconds) = (known + 1, seconds + of_turn),
                None => unknown += 1,
            }
        }
        let average = match (known, unknown) {
            (_, 0) => 0.0,
            (0, _) => return None,
            (known, _) => seconds / f64::from(known),
        };
        Duration::try_from_secs_f64(seconds + average * f64::from(unknown)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_take_as_long_as_before_and_unknown_ones_the_average() {
        let dir = tempfile::tempdir().unwrap();
        let left = |forecast: &Forecast, turns: &[&str]| {
            forecast.left(turns.iter().map(|turn| (*turn).to_owned())).map(|left| left.as_secs())
        };
        let mut forecast = Forecast::load(dir.path());
        assert_eq!(left(&forecast, &["a"]), None);
        forecast.learn("a".into(), Duration::from_secs(4));
        forecast.learn("b".into(), Duration::from_secs(1));
        forecast.learn("a".into(), Duration::from_secs(3));
        let again = Forecast::load(dir.path());
        assert_eq!(left(&again, &[]), Some(0));
        assert_eq!(left(&again, &["a", "b"]), Some(4));
        assert_eq!(left(&again, &["a", "new", "new"]), Some(9));
        assert_eq!(left(&again, &["new"]), None);
    }
}
