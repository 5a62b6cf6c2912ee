// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files as system calls see them: what several calls of `syscall/file` have in common, and calls of other folders with them.
//!
//! From a call's arguments to files: [`at`] (paths and directory descriptors), [`opening`], [`anonymous`] (files without a path),
//! [`working_directory`]; what may be done with them: [`access_check`], [`permissions`], [`size_limit`], [`file_locks`]; moving
//! bytes: [`segments`] (program memory for it), [`transfer`], [`copying`] (between two files), [`mapped`] (what mappings see of
//! it); waiting for several: [`polling`], [`fd_sets`]; structures of programs: [`stat_layout`], [`directory_entries`],
//! [`file_times`], [`link_text`], [`extended_attributes`].

pub(crate) mod access_check;
pub(crate) mod anonymous;
pub(crate) mod at;
pub(crate) mod copying;
pub(crate) mod directory_entries;
pub(crate) mod extended_attributes;
pub(crate) mod fd_sets;
pub(crate) mod file_locks;
pub(crate) mod file_times;
pub(crate) mod link_text;
pub(crate) mod mapped;
pub(crate) mod opening;
pub(crate) mod permissions;
pub(crate) mod polling;
pub(crate) mod segments;
pub(crate) mod size_limit;
pub(crate) mod stat_layout;
pub(crate) mod transfer;
pub(crate) mod working_directory;
