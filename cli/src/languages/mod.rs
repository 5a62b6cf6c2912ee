// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs in the data-parallel languages: NESL, VCODE and NDPC.
//!
//! [`translate`] turns a source into VCODE or C++ by the compilers of `compilers/`, [`object`] makes an object file of that,
//! [`program`] links it with the language's run-time into a program for both places, as a source in C that includes
//! `hadal/hrt.h` becomes one. [`prompt`] is `hadal nesl`.

pub(crate) mod args;
pub(crate) mod object;
pub(crate) mod program;
pub(crate) mod prompt;
mod server;
pub(crate) mod translate;

use std::path::Path;

use crate::cc::runtimes::Runtime;

/// A language, by the ending of the source's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Nesl,
    Vcode,
    Ndpc,
}

impl Language {
    /// The language of a source, if it is one of these.
    pub(crate) fn of(source: &Path) -> Option<Self> {
        match source.extension()?.to_str()? {
            "nesl" => Some(Self::Nesl),
            "vcode" => Some(Self::Vcode),
            "ndpc" => Some(Self::Ndpc),
            _ => None,
        }
    }

    /// The run-time that its programs are linked with.
    pub(crate) fn runtime(self) -> Runtime {
        match self {
            Self::Nesl | Self::Vcode => Runtime::Vcode,
            Self::Ndpc => Runtime::Ndpc,
        }
    }

    /// Whether the arguments of a program are part of its source: `main` is applied to them.
    pub(crate) fn compiles_arguments(self) -> bool {
        self == Self::Nesl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_follow_the_ending() {
        assert_eq!(Language::of(Path::new("a/b.nesl")), Some(Language::Nesl));
        assert_eq!(Language::of(Path::new("b.vcode")), Some(Language::Vcode));
        assert_eq!(Language::of(Path::new("b.ndpc")), Some(Language::Ndpc));
        assert_eq!(Language::of(Path::new("nesl")), None);
        assert_eq!(Language::of(Path::new("b.c")), None);
    }
}
