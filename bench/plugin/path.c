// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A QEMU plugin that counts the instructions of one CPU and writes how many were executed before certain
// addresses were reached first: one line `ADDRESS COUNT` for each. A waiting CPU executes nothing, so time
// spent in HLT, which the clock of `-icount` jumps over, is not in these numbers.
//
//   -plugin path.so,out=FILE,at=ADDRESS[,at=ADDRESS...]
//
// QEMU's header for plugins is not packaged everywhere; what is used of it is declared here and has been the
// same since QEMU 4.2. PLUGIN_API is the version of the interface that QEMU is to take this for.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*translation_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*execution_callback)(unsigned cpu, void *data);

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translation_callback callback);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
                                                   execution_callback callback, int flags, void *data);

EXPORT int qemu_plugin_version = PLUGIN_API;

enum { MAX_MARKS = 16, NO_REGISTERS = 0 };

struct mark {
    uint64_t address;
    bool reached;
};

static struct mark marks[MAX_MARKS];
static size_t mark_count;
static uint64_t executed;
static FILE *out;

static void on_instruction(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    executed++;
}

static void on_mark(unsigned cpu, void *data) {
    (void)cpu;
    struct mark *mark = data;
    if (!mark->reached) {
        mark->reached = true;
        fprintf(out, "%#llx %llu\n", (unsigned long long)mark->address, (unsigned long long)executed);
        fflush(out); // the machine is killed at the end
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);
        for (size_t m = 0; m < mark_count; m++) {
            if (marks[m].address == address) {
                qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_mark, NO_REGISTERS, &marks[m]);
            }
        }
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_instruction, NO_REGISTERS, NULL);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "out=", 4) == 0 && out == NULL) {
            out = fopen(argv[i] + 4, "w");
        } else if (strncmp(argv[i], "at=", 3) == 0 && mark_count < MAX_MARKS) {
            marks[mark_count++].address = strtoull(argv[i] + 3, NULL, 0);
        } else {
            fprintf(stderr, "path.so: %s: unknown or one too many\n", argv[i]);
            return 1;
        }
    }
    if (out == NULL) {
        fprintf(stderr, "path.so: out=FILE is missing or cannot be written\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
