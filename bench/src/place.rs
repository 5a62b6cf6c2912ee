// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where and how a benchmark runs. [`WAYS`] is the only list of that: table, page and file have what it says. A [`LineUp`]
//! is the ways of a kind of benchmark, and which of them are compared with which.

use serde::{Deserialize, Serialize};

/// A way to run a benchmark. Its name in files is that of the variant, in small letters with `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    Hadal,
    Rtk,
    RtkClang,
    PikNative,
    Pik,
    Ring3,
    Linux,
    LinuxLibgomp,
    LinuxLibomp,
    LinuxLibgompPassive,
    LinuxLibompPassive,
    Native,
    NativeHadal,
    NativeLibgomp,
    NativeLibomp,
    Nesl31,
}

/// What a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Hadal, as an image of `hadal cc`.
    Image,
    /// Hadal, as an unmodified program by `hadal run`.
    Pik,
    /// The same by `hadal run --ring 3`.
    Isolated,
    /// The Linux guest.
    Guest,
    /// The host.
    Host,
}

/// Whose OpenMP run-time a program of OpenMP gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// gcc's, with code of gcc.
    Libgomp,
    /// clang's, with code of clang.
    Libomp,
    /// Hadal's, with code of gcc.
    Hadal,
    /// Hadal's, with code of clang.
    HadalClang,
}

/// How threads of a program of OpenMP wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// As its run-time likes when no variable says anything.
    Default,
    /// With `OMP_WAIT_POLICY=passive`.
    Passive,
}

/// All about a place.
#[derive(Debug)]
pub(crate) struct Way {
    place: Place,
    pub(crate) title: &'static str,
    /// Beside the peer's name, over a column of ratios.
    pub(crate) short: &'static str,
    pub(crate) what: &'static str,
    pub(crate) system: System,
    /// Only programs of OpenMP look at it.
    pub(crate) runtime: Runtime,
    pub(crate) waiting: Waiting,
}

const fn way(place: Place, system: System, runtime: Runtime, [title, short, what]: [&'static str; 3]) -> Way {
    Way { place, title, short, what, system, runtime, waiting: Waiting::Default }
}

const fn passive(way: Way) -> Way {
    Way { waiting: Waiting::Passive, ..way }
}

use Place::{
    Hadal, Linux, LinuxLibgomp, LinuxLibgompPassive, LinuxLibomp, LinuxLibompPassive, Native, NativeHadal,
    NativeLibgomp, NativeLibomp, Nesl31, Pik, PikNative, Ring3, Rtk, RtkClang,
};

/// Every way, in the order of [`Place`].
const WAYS: [Way; 16] = [
    way(
        Hadal,
        System::Image,
        Runtime::Hadal,
        [
            "Hadal image",
            "image",
            "the program is linked with libhrt and runs in the kernel, as hadal cc makes it",
        ],
    ),
    way(
        Rtk,
        System::Image,
        Runtime::Hadal,
        ["RTK", "rtk", "an image of hadal cc -fopenmp, with Hadal's OpenMP run-time in the kernel"],
    ),
    way(
        RtkClang,
        System::Image,
        Runtime::HadalClang,
        [
            "RTK clang",
            "rtk clang",
            "the same, compiled by clang: for programs of NAS, whose time is that of their loops",
        ],
    ),
    way(
        PikNative,
        System::Pik,
        Runtime::Hadal,
        [
            "pik --omp=native",
            "pik native",
            "an unmodified dynamic program on Hadal, with Hadal's run-time in the place of libgomp",
        ],
    ),
    way(
        Pik,
        System::Pik,
        Runtime::Libgomp,
        [
            "Hadal pik",
            "pik",
            "the file that also runs in the Linux guest, unmodified, on Hadal (programs of OpenMP: with libgomp)",
        ],
    ),
    way(
        Ring3,
        System::Isolated,
        Runtime::Libgomp,
        ["Hadal ring 3", "ring 3", "the same file, isolated in ring 3 by hadal run --ring 3"],
    ),
    way(
        Linux,
        System::Guest,
        Runtime::Libgomp,
        ["Linux guest", "", "the same file in a guest of Debian's cloud kernel on the same QEMU line"],
    ),
    way(
        LinuxLibgomp,
        System::Guest,
        Runtime::Libgomp,
        ["Linux libgomp", "", "compiled by gcc, with gcc's run-time, in the Linux guest"],
    ),
    way(
        LinuxLibomp,
        System::Guest,
        Runtime::Libomp,
        ["Linux libomp", "", "compiled by clang, with clang's run-time, in the Linux guest"],
    ),
    passive(way(
        LinuxLibgompPassive,
        System::Guest,
        Runtime::Libgomp,
        ["Linux libgomp passive", "", "the same with gcc's run-time and OMP_WAIT_POLICY=passive"],
    )),
    passive(way(
        LinuxLibompPassive,
        System::Guest,
        Runtime::Libomp,
        ["Linux libomp passive", "", "the same with clang's run-time and OMP_WAIT_POLICY=passive"],
    )),
    way(
        Native,
        System::Host,
        Runtime::Libgomp,
        ["native", "native", "the same file on the host, without QEMU"],
    ),
    way(
        NativeHadal,
        System::Host,
        Runtime::Hadal,
        ["native Hadal", "hadal", "the file of native libgomp with Hadal's run-time by LD_LIBRARY_PATH"],
    ),
    way(
        NativeLibgomp,
        System::Host,
        Runtime::Libgomp,
        ["native libgomp", "", "compiled by gcc, with gcc's run-time, on the host, without QEMU"],
    ),
    way(
        NativeLibomp,
        System::Host,
        Runtime::Libomp,
        ["native libomp", "", "compiled by clang, with clang's run-time, on the host, without QEMU"],
    ),
    way(
        Nesl31,
        System::Host,
        Runtime::Libgomp,
        ["NESL 3.1", "", "the same VCODE in the serial interpreter of CMU's NESL 3.1 on the host (--nesl31)"],
    ),
];

impl Place {
    /// Every place, in the order of tables.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Self> {
        WAYS.iter().map(|way| way.place)
    }

    /// All about it.
    pub(crate) fn way(self) -> &'static Way {
        &WAYS[self as usize]
    }

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        self.way().title
    }

    /// Whether programs of NESL and NDPC run there as such. Elsewhere the same by hand runs beside them.
    pub(crate) fn runs_languages(self) -> bool {
        matches!(self, Hadal | Native | Nesl31)
    }

    pub(crate) fn system(self) -> System {
        self.way().system
    }
}

/// Places whose figures are set against those of others.
#[derive(Debug)]
pub(crate) struct Contest {
    /// What the others are, over a column of ratios.
    pub(crate) against: &'static str,
    pub(crate) ours: &'static [Place],
    pub(crate) theirs: &'static [Place],
}

/// The places of a kind of benchmark.
#[derive(Debug)]
pub(crate) struct LineUp {
    /// In the order of tables.
    pub(crate) places: &'static [Place],
    /// The first is about guests on one QEMU line, a second one about the host.
    pub(crate) contests: &'static [Contest],
    /// What goals are about: the worst place of the first group with a figure.
    pub(crate) judged: &'static [&'static [Place]],
    /// Whose path lengths a baseline has.
    pub(crate) baseline: &'static [Place],
}

/// Programs of the kernel's own interfaces, and of what Linux programs use.
pub(crate) static STANDARD: LineUp = LineUp {
    places: &[Hadal, Pik, Ring3, Linux, Native],
    contests: &[Contest { against: "Linux", ours: &[Hadal, Pik, Ring3], theirs: &[Linux] }],
    judged: &[&[Hadal], &[Pik]],
    baseline: &[Hadal, Pik, Ring3],
};

/// The ways that programs of OpenMP have in the Linux guest.
const GUESTS: &[Place] = &[LinuxLibgomp, LinuxLibomp, LinuxLibgompPassive, LinuxLibompPassive];

/// Programs of OpenMP.
pub(crate) static OPENMP: LineUp = LineUp {
    places: &[
        Rtk,
        RtkClang,
        PikNative,
        Pik,
        LinuxLibgomp,
        LinuxLibomp,
        LinuxLibgompPassive,
        LinuxLibompPassive,
        NativeHadal,
        NativeLibgomp,
        NativeLibomp,
    ],
    contests: &[
        Contest { against: "Linux", ours: &[Rtk, RtkClang, PikNative, Pik], theirs: GUESTS },
        Contest { against: "native", ours: &[NativeHadal], theirs: &[NativeLibgomp, NativeLibomp] },
    ],
    judged: &[&[Rtk, PikNative]],
    baseline: &[Rtk, PikNative],
};

/// Programs of NESL, VCODE and NDPC, beside the same in C with OpenMP.
pub(crate) static LANGUAGES: LineUp = LineUp {
    places: &[
        Hadal,
        LinuxLibgomp,
        LinuxLibomp,
        LinuxLibgompPassive,
        LinuxLibompPassive,
        Native,
        NativeLibgomp,
        NativeLibomp,
        Nesl31,
    ],
    contests: &[
        Contest { against: "Linux", ours: &[Hadal], theirs: GUESTS },
        Contest { against: "C", ours: &[Native], theirs: &[NativeLibgomp, NativeLibomp] },
    ],
    judged: &[&[Hadal]],
    baseline: &[Hadal],
};

/// Every line-up, in the order of tables.
pub(crate) static LINE_UPS: [&LineUp; 3] = [&STANDARD, &OPENMP, &LANGUAGES];

impl LineUp {
    /// The contest in which a place is one of ours.
    pub(crate) fn contest_of(&self, place: Place) -> Option<&'static Contest> {
        self.contests.iter().find(|contest| contest.ours.contains(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_listed_in_the_order_of_places() {
        for (index, place) in Place::all().enumerate() {
            assert_eq!(place as usize, index);
            let same_title = Place::all().filter(|other| other.title() == place.title());
            assert_eq!(same_title.count(), 1, "{}", place.title());
        }
    }

    #[test]
    fn line_ups_are_about_their_places() {
        for line_up in LINE_UPS {
            let has = |places: &[Place]| places.iter().all(|place| line_up.places.contains(place));
            assert!(line_up.judged.iter().all(|places| has(places)) && has(line_up.baseline));
            for contest in line_up.contests {
                assert!(has(contest.ours) && has(contest.theirs));
                assert!(contest.ours.iter().all(|place| !place.way().short.is_empty()));
            }
        }
    }

    #[test]
    fn keys_of_files_are_the_published_ones() {
        let keys = |line_up: &LineUp| {
            let key = |place| serde_json::to_value(place).unwrap().as_str().unwrap().to_owned();
            line_up.places.iter().map(key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&STANDARD), ["hadal", "pik", "ring3", "linux", "native"]);
        let openmp = keys(&OPENMP);
        for key in [
            "linux_libgomp",
            "linux_libomp",
            "pik",
            "pik_native",
            "rtk",
            "rtk_clang",
            "native_libgomp",
            "native_libomp",
            "native_hadal",
        ] {
            assert!(openmp.iter().any(|known| known == key), "{key}");
        }
        let languages = keys(&LANGUAGES);
        for key in
            ["hadal", "linux_libgomp", "linux_libomp", "native", "native_libgomp", "native_libomp", "nesl31"]
        {
            assert!(languages.iter().any(|known| known == key), "{key}");
        }
    }
}
