// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Partial sums of the harmonic series.

#pragma once

double harmonic(int terms);
