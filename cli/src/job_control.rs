// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this process is to a shell's job control: its process group, and whether there is a shell that could continue it after a
//! stop (POSIX, orphaned process group).
//!
//! `/proc` says it, not system calls: those give 0 for a group or session whose leader is outside of the PID name space (of a
//! container), which rustix's `Pid` cannot hold.

use std::fs;

/// A process's place, each an ID or 0 for what is outside of this name space.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    parent: i32,
    group: i32,
    session: i32,
}

/// The process group of this process: 0 if its leader is outside of this name space; `None` without `/proc`.
pub(crate) fn own_group() -> Option<i32> {
    place("self").map(|place| place.group)
}

/// Whether nobody could continue this process: no ancestor is in another process group of this session.
pub(crate) fn is_orphaned() -> bool {
    place("self").is_none_or(|own| is_orphaned_in(own, |id| place(&id.to_string())))
}

fn is_orphaned_in(own: Place, place: impl Fn(i32) -> Option<Place>) -> bool {
    let mut ancestor = own.parent;
    while let Some(at) = (ancestor != 0).then(|| place(ancestor)).flatten() {
        if at.session != own.session {
            return true;
        }
        if at.group != own.group {
            return false;
        }
        ancestor = at.parent;
    }
    true
}

fn place(id: &str) -> Option<Place> {
    place_in(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// The place in the text of `/proc/PID/stat`: it follows the command's name, which can have blanks and brackets, and the state.
fn place_in(stat: &str) -> Option<Place> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut numbers = rest.split(' ').skip(1).map_while(|word| word.parse().ok());
    Some(Place { parent: numbers.next()?, group: numbers.next()?, session: numbers.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(parent: i32, group: i32, session: i32) -> Option<Place> {
        Some(Place { parent, group, session })
    }

    #[test]
    fn the_place_follows_the_name() {
        assert_eq!(place_in("7 (sh) S 42 7 3 34816 7"), at(42, 7, 3));
        assert_eq!(place_in("7 (a) b) (c) R 1 2 0 -1"), at(1, 2, 0));
        assert_eq!((place_in(""), place_in("7 (sh) S 42 7")), (None, None));
    }

    #[test]
    fn a_shell_of_the_session_can_continue() {
        let run = Place { parent: 20, group: 30, session: 10 };
        let shell = |id| if id == 20 { at(1, 10, 10) } else { at(0, 1, 1) };
        assert!(!is_orphaned_in(run, shell));
        let same_group = |id| if id == 20 { at(1, 30, 10) } else { at(0, 1, 1) };
        assert!(is_orphaned_in(run, same_group));
        let other_session = |_| at(1, 1, 1);
        assert!(is_orphaned_in(run, other_session));
    }

    #[test]
    fn what_is_outside_of_the_name_space_has_no_shell() {
        let first = Place { parent: 0, group: 0, session: 0 };
        assert!(is_orphaned_in(first, |_| unreachable!("there is no process 0")));
        assert!(is_orphaned_in(Place { parent: 1, group: 0, session: 0 }, |_| at(0, 0, 0)));
        assert!(is_orphaned_in(Place { parent: 9, group: 9, session: 9 }, |_| None));
    }
}
