// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `hadal ps` prints.

use super::peers::Peer;
use super::words;
use crate::values::Bytes;

/// The runs as a table with a title line.
pub(super) fn table(peers: &[Peer]) -> String {
    const TITLES: [&str; 7] = ["PID", "ELAPSED", "CPUS", "MEMORY", "ACCEL", "CPU TIME", "COMMAND"];
    let mut rows = vec![TITLES.map(str::to_owned)];
    rows.extend(peers.iter().map(|peer| match &peer.info {
        Some(info) => [
            peer.pid.to_string(),
            clock(info.elapsed_ms),
            info.cpus.to_string(),
            Bytes(info.memory_bytes).to_string(),
            words::word(&info.accel),
            info.cpu_time_ms.map_or_else(|| "?".to_owned(), clock),
            words::command(&info.command),
        ],
        None => {
            let unknown = || "?".to_owned();
            let silent = "(does not answer: suspended?)".to_owned();
            [peer.pid.to_string(), unknown(), unknown(), unknown(), unknown(), unknown(), silent]
        }
    }));
    let mut widths = [0; TITLES.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; TITLES.len()]| {
        let (command, cells) = row.split_last().expect("a row has columns");
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  "));
        format!("{}{command}\n", cells.collect::<String>())
    };
    rows.iter().map(line).collect()
}

/// A time as `ps` writes it: minutes and seconds, before them hours and days if there are any.
fn clock(ms: u64) -> String {
    let seconds = ms / 1000;
    let (days, hours, minutes, seconds) =
        (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes:02}:{seconds:02}"),
        (0, _) => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::protocol::Info;
    use super::*;

    /// A run that answers.
    pub(in crate::live) fn peer(pid: u32, name: &str, command: &[&str]) -> Peer {
        let info = Info {
            name: name.into(),
            command: command.iter().map(|&word| word.to_owned()).collect(),
            cpus: 4,
            memory_bytes: 2 << 30,
            accel: "TCG".into(),
            elapsed_ms: 192_000,
            cpu_time_ms: Some(12_300),
        };
        Peer { pid, info: Some(info) }
    }

    #[test]
    fn runs_are_rows() {
        let peers = [peer(7, "heat", &["./heat", "500"]), Peer { pid: 123_456, info: None }];
        assert_eq!(
            table(&peers),
            "   PID  ELAPSED  CPUS  MEMORY  ACCEL  CPU TIME  COMMAND\n     \
             7    03:12     4   2 GiB    TCG     00:12  ./heat 500\n\
             123456        ?     ?       ?      ?         ?  (does not answer: suspended?)\n"
        );
    }

    #[test]
    fn a_row_is_one_line_whatever_the_program_is_called() {
        let odd = peer(1, "a\nb", &["./a\nb", "\u{1b}[2J", "x\r"]);
        let text = table(&[odd]);
        assert_eq!(text.lines().count(), 2);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[test]
    fn times_are_as_short_as_possible() {
        let times = [0, 61_999, 3_600_000, 90_061_000].map(clock);
        assert_eq!(times, ["00:00", "01:01", "01:00:00", "1-01:01:01"]);
    }
}
