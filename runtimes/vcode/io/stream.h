// SPDX-License-Identifier: Apache-2.0 OR MIT
// Streams of a program by their numbers, and how values are written and read as text.
#ifndef HADAL_VCODE_STREAM_H
#define HADAL_VCODE_STREAM_H

#include "../ops/operands.h"

namespace hadal::vcode {

inline constexpr Int NULL_STREAM = -1;

// The stream of a number; NULL if it has none, or is the null stream.
FILE *stream_of(Machine &machine, Int number);

// Writes the value as text; false if the stream did not take it. CHAR: as characters.
bool write_value(FILE *stream, const Cell &cell, bool characters);

// Reads a value of this type. NULL: `cell` has it; else why not. `memory` is set if there was none.
const char *read_value(FILE *stream, Suffix suffix, Cell &cell, bool &memory);

// Pushes an INT vector with the codes of a text.
bool push_text(Machine &machine, const char *text, size_t bytes);
// Pushes the text of an error and F, or the empty text and T.
bool push_status(Machine &machine, const char *error);

} // namespace hadal::vcode

#endif
