// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translates NDPC to C++ with fork and join.

#![forbid(unsafe_code)]
