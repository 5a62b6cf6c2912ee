// SPDX-License-Identifier: Apache-2.0 OR MIT
// What our compiler tells the run-time in comments that other interpreters skip.
#ifndef HADAL_VCODE_COMMENTS_H
#define HADAL_VCODE_COMMENTS_H

#include "lexer.h"
#include "program.h"

namespace hadal::vcode {

class LoadComments final : public Comments {
  public:
    explicit LoadComments(Program &program) : program(program) {}
    void comment(std::string_view text) override;
    bool failed() const { return problem != nullptr; }
    const char *error_text() const { return problem; }
    uint32_t error_line() const { return 1; }

  private:
    void form(std::string_view rest);
    void source(std::string_view rest);
    void fail(const char *text) { problem = text; }

    Program &program;
    const char *problem = nullptr;
};

// Whether this is the code of a value, as forms have it.
bool value_code_valid(std::string_view code);

} // namespace hadal::vcode

#endif
