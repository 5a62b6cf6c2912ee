// SPDX-License-Identifier: Apache-2.0 OR MIT
// The rows of the table of operations.
#include "../core/text.h"
#include "elementwise.h"
#include "routines.h"

namespace hadal::vcode {

#define INT_FLOAT(X, name)                                                                                   \
    X(name, Int)                                                                                             \
    X(name, Float)
#define INT_BOOL(X, name)                                                                                    \
    X(name, Int)                                                                                             \
    X(name, Bool)
#define DATA(X, name)                                                                                        \
    X(name, Int)                                                                                             \
    X(name, Bool)                                                                                            \
    X(name, Float)
#define ANY(X, name)                                                                                         \
    DATA(X, name)                                                                                            \
    X(name, Segdes)                                                                                          \
    X(name, Char)

const Operation operations[] = {
#define ROW(name, type, form, routine) {name, Suffix::type, Form::form, routine, nullptr, FAST_NONE},
#define X(id, name, type, ...)                                                                               \
    {name, Suffix::type, Form::Plain, routine_elementwise, &elementwise_table[FAST_##id], FAST_##id},
    VCODE_BINARY(X) VCODE_UNARY(X) VCODE_SELECT(X)
#undef X
#define X(name, type) ROW(name "_SCAN", type, Plain, scan_routine(name "_SCAN", Suffix::type))
        INT_FLOAT(X, "+") INT_FLOAT(X, "*") INT_FLOAT(X, "MAX") INT_FLOAT(X, "MIN") INT_BOOL(
            X, "AND") INT_BOOL(X, "OR") INT_BOOL(X, "XOR")
#undef X
#define X(name, type) ROW(name "_REDUCE", type, Plain, reduce_routine(name "_REDUCE", Suffix::type))
            INT_FLOAT(X, "+") INT_FLOAT(X, "*") INT_FLOAT(X, "MAX") INT_FLOAT(X, "MIN") INT_BOOL(
                X, "AND") INT_BOOL(X, "OR") INT_BOOL(X, "XOR")
#undef X
#define X(name, type) ROW(name, type, Plain, scatter_routine(name, Suffix::type))
                DATA(X, "PERMUTE") DATA(X, "DPERMUTE") DATA(X, "FPERMUTE") DATA(X, "DFPERMUTE") DATA(
                    X, "REPLACE")
#undef X
#define X(name, type) ROW(name, type, Plain, gather_routine(Suffix::type, false))
                    DATA(X, "BPERMUTE")
#undef X
#define X(name, type) ROW(name, type, Plain, gather_routine(Suffix::type, true))
                        DATA(X, "BFPERMUTE")
#undef X
#define X(name, type) ROW(name, type, Plain, extract_routine(Suffix::type))
                            DATA(X, "EXTRACT")
#undef X
#define X(name, type) ROW(name, type, Plain, pack_routine(Suffix::type))
                                DATA(X, "PACK")
#undef X
#define X(name, type) ROW(name, type, Plain, rank_routine(Suffix::type, false))
                                    INT_FLOAT(X, "RANK_UP")
#undef X
#define X(name, type) ROW(name, type, Plain, rank_routine(Suffix::type, true))
                                        INT_FLOAT(X, "RANK_DOWN")
#undef X
#define X(name, type) ROW(name, type, Plain, dist_routine(Suffix::type))
                                            DATA(X, "DIST")
#undef X
#define X(name, type) ROW(name, type, Plain, length_routine(Suffix::type))
                                                DATA(X, "LENGTH")
#undef X
#define X(name, type) ROW(name, type, Plain, read_routine(Suffix::type, false))
                                                    ANY(X, "READ")
#undef X
#define X(name, type) ROW(name, type, Plain, write_routine(Suffix::type, false))
                                                        ANY(X, "WRITE")
#undef X
#define X(name, type) ROW(name, type, Plain, read_routine(Suffix::type, true))
                                                            ANY(X, "FREAD")
#undef X
#define X(name, type) ROW(name, type, Plain, write_routine(Suffix::type, true))
                                                                ANY(X, "FWRITE")
#undef X
                                                                    ROW("RAND", None, Plain, routine_rand) ROW(
                                                                        "SRAND", Int, Plain,
                                                                        routine_srand) ROW("INDEX",
                                                                                           None, Plain, routine_index)
                                                                        ROW("MAKE_SEGDES", None, Plain, routine_make_segdes) ROW(
                                                                            "LENGTHS", None, Plain,
                                                                            routine_lengths) ROW("FOPE"
                                                                                                 "N",
                                                                                                 None, Plain, routine_fopen)
                                                                            ROW("FCLOSE", None, Plain, routine_fclose) ROW(
                                                                                "FREAD_CHAR", None,
                                                                                Plain, routine_fread_char) ROW("SPAW"
                                                                                                               "N",
                                                                                                               None,
                                                                                                               Plain, routine_spawn)
                                                                                ROW("START_TIMER", None, Plain, routine_start_timer) ROW(
                                                                                    "STOP_TIMER", None,
                                                                                    Plain, routine_stop_timer) ROW("PAIR",
                                                                                                                   None,
                                                                                                                   Plain, routine_pair)
                                                                                    ROW("UNPAIR", None, Plain, routine_unpair) ROW(
                                                                                        "COPY",
                                                                                        None, Copy,
                                                                                        nullptr) ROW("POP",
                                                                                                     None,
                                                                                                     Pop, nullptr)
                                                                                        ROW("CPOP", None, Cpop, nullptr) ROW(
                                                                                            "CAL"
                                                                                            "L",
                                                                                            None, Call,
                                                                                            nullptr) ROW("EXI"
                                                                                                         "T",
                                                                                                         None,
                                                                                                         Exit,
                                                                                                         nullptr)
                                                                                            ROW("IF", None, If, nullptr) ROW(
                                                                                                "ELSE",
                                                                                                None, Else,
                                                                                                nullptr) ROW("ENDIF",
                                                                                                             None,
                                                                                                             Endif,
                                                                                                             nullptr)
                                                                                                ROW("CONS"
                                                                                                    "T",
                                                                                                    None,
                                                                                                    Const,
                                                                                                    nullptr)
                                                                                                    ROW("RET",
                                                                                                        None,
                                                                                                        Ret,
                                                                                                        nullptr)
                                                                                                        ROW("FUNC",
                                                                                                            None,
                                                                                                            Func,
                                                                                                            nullptr)
#undef ROW
};

const uint32_t operation_count = sizeof operations / sizeof *operations;

uint32_t operation_find(std::string_view name) {
    static Names names;
    if (names.find("RET") == Names::NONE) {
        for (uint32_t row = operation_count; row-- > 0;) {
            names.put(operations[row].name, row);
        }
    }
    return names.find(name);
}

const char *suffix_name(Suffix suffix) {
    static const char *const names[] = {"", "INT", "BOOL", "FLOAT", "SEGDES", "CHAR"};
    return names[static_cast<uint8_t>(suffix)];
}

} // namespace hadal::vcode
