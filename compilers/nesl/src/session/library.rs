// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The library's source texts.

/// Name and text of each file, in the order in which they are read.
pub(super) const FILES: &[(&str, &str)] = &[
    ("library/primitives.nesl", include_str!("../../library/primitives.nesl")),
    ("library/scalars.nesl", include_str!("../../library/scalars.nesl")),
    ("library/sequences.nesl", include_str!("../../library/sequences.nesl")),
    ("library/strings.nesl", include_str!("../../library/strings.nesl")),
    ("library/sets.nesl", include_str!("../../library/sets.nesl")),
    ("library/input_output.nesl", include_str!("../../library/input_output.nesl")),
    ("library/compatibility.nesl", include_str!("../../library/compatibility.nesl")),
    ("library/hash_table.nesl", include_str!("../../library/hash_table.nesl")),
];
