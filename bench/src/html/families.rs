// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Families: results that differ only in the number of CPUs, or in a number at the end of their names. The page shows
//! one of each and folds the others.

use crate::results::Entry;

/// What the members of a family differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Cpus,
    /// `thread.sequence_64` has 64.
    Number,
}

/// One or more results of one mode.
#[derive(Clone, Debug)]
pub(super) struct Family<'a> {
    pub(super) name: &'a str,
    pub(super) over: Over,
    /// Not empty; the greatest number is last.
    pub(super) members: Vec<&'a Entry>,
}

impl<'a> Family<'a> {
    /// The families of a mode's results, in their order.
    pub(super) fn all(entries: &[&'a Entry]) -> Vec<Self> {
        let mut families: Vec<Self> = Vec::new();
        for entry in entries {
            let (name, over) = split(&entry.name)
                .map_or((entry.name.as_str(), Over::Cpus), |(name, _)| (name, Over::Number));
            match families.iter_mut().find(|family| (family.name, family.over) == (name, over)) {
                Some(family) => family.members.push(entry),
                None => families.push(Self { name, over, members: vec![entry] }),
            }
        }
        for family in &mut families {
            let over = family.over;
            family.members.sort_by(|one, other| at(one, over).total_cmp(&at(other, over)));
        }
        families
    }

    /// The member with the greatest number.
    pub(super) fn shown(&self) -> &'a Entry {
        self.members[self.members.len() - 1]
    }

    /// Members with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (f64, &'a Entry)> {
        self.members.iter().map(|member| (at(member, self.over), *member))
    }
}

fn at(entry: &Entry, over: Over) -> f64 {
    match over {
        Over::Cpus => f64::from(entry.cpus),
        Over::Number => split(&entry.name).map_or(0.0, |(_, number)| number),
    }
}

/// A name and the number at its end.
fn split(name: &str) -> Option<(&str, f64)> {
    let (name, number) = name.rsplit_once('_')?;
    Some((name, f64::from(number.parse::<u32>().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Mode;
    use crate::results::tests::entry;

    #[test]
    fn results_that_differ_in_a_number_are_one_family() {
        let named = |name: &str, cpus| entry(name, Mode::Path, cpus, &[1.0], &[]);
        let entries = [
            named("a.b_64", 1),
            named("a.b", 8),
            named("a.b_2", 1),
            named("a.b", 1),
            named("a.create_join", 1),
        ];
        let families = Family::all(&entries.iter().collect::<Vec<_>>());
        let numbers: Vec<(&str, Over, Vec<f64>)> = families
            .iter()
            .map(|family| (family.name, family.over, family.numbered().map(|(number, _)| number).collect()))
            .collect();
        assert_eq!(
            numbers,
            [
                ("a.b", Over::Number, vec![2.0, 64.0]),
                ("a.b", Over::Cpus, vec![1.0, 8.0]),
                ("a.create_join", Over::Cpus, vec![1.0])
            ]
        );
        assert_eq!(families[0].shown().name, "a.b_64");
    }
}
