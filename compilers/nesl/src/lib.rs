// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles NESL 3.1 to VCODE by flattening.

#![forbid(unsafe_code)]
