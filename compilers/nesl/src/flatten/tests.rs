// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The VCODE of small programs: what is written and, above all, what is not.

use crate::Session;

/// The text of the VCODE function whose name starts with `name`, for a program that calls it.
fn function(program: &str, name: &str) -> String {
    let text = vcode(program);
    let start = text.find(&format!("FUNC {name}")).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    let end = text[start..].find("RET").expect("a function ends") + start;
    text[start..end].to_owned()
}

fn vcode(program: &str) -> String {
    let mut session = Session::new();
    let loaded = session.load("test.nesl", program);
    assert_eq!(loaded.errors().collect::<Vec<_>>(), Vec::<&str>::new());
    session.compile_program(&loaded.forms()).expect("it compiles")
}

fn count(text: &str, word: &str) -> usize {
    text.lines().filter(|line| line.trim().starts_with(word)).count()
}

#[test]
fn scale_is_one_dist_and_one_multiplication() {
    let text = function("s = [1,2]; k = 3; {x * k : x in s};", "FORM_3");
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
    assert_eq!(lines, ["COPY 1 2", "DIST INT", "* INT"]);
}

#[test]
fn the_sum_of_each_is_one_segmented_reduction() {
    let text = function("vv = [[1,2],[3]]; {sum(v) : v in vv};", "FORM_2");
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
    assert_eq!(lines, ["CPOP 1 1", "+_REDUCE INT"]);
}

#[test]
fn the_length_of_each_drops_the_elements() {
    let text = function("vv = [[1,2],[3]]; {#v : v in vv};", "FORM_2");
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
    assert_eq!(lines, ["POP 1 0", "LENGTHS"]);
}

#[test]
fn indexing_a_free_variable_is_one_gather_without_replication() {
    let text = function("v = [1,2,3]; is = [0,2]; {v[i] : i in is};", "FORM_3");
    assert_eq!(count(&text, "BPERMUTE"), 1);
    // Only the length is replicated, for the check.
    assert_eq!(count(&text, "DIST"), 2);
    assert_eq!(count(&text, "INDEX"), 0);
}

#[test]
fn what_is_the_same_for_all_is_computed_once() {
    let text = function("v = [1,2,3]; s = [4,5]; {sum(v) + x : x in s};", "FORM_3");
    assert!(text.find("+_REDUCE").expect("the sum") < text.find("DIST").expect("its replication"));
    assert_eq!(count(&text, "DIST"), 1);
}

#[test]
fn a_branch_packs_only_what_it_reads() {
    let program = "a = [1,2]; b = [3,4]; c = [5,6];
        {if x > 1 then #dist(0, y) else #dist(0, z) + z : x in a; y in b; z in c};";
    let text = vcode(program);
    // Two packs of positions, one of y, one of z; what is computed from them is not packed, x neither.
    assert_eq!(count(&text, "PACK"), 4);
}

#[test]
fn scalar_branches_are_selected() {
    let text = function("s = [1,2]; {if x > 1 then x else 0 - x : x in s};", "FORM_2");
    assert_eq!((count(&text, "SELECT"), count(&text, "IF"), count(&text, "PACK")), (1, 0, 0));
}

#[test]
fn the_filter_comes_before_the_body() {
    let text = function("s = [1,2]; {x * x : x in s | x > 1};", "FORM_2");
    assert!(text.find("PACK").expect("the filter") < text.find("* INT").expect("the body"));
    assert_eq!(count(&text, "PACK"), 1);
}

#[test]
fn what_two_packed_variables_give_is_packed_instead_of_both() {
    let text = function("a = [1,2]; b = [0,3]; {x * y : x in a; y in b | x > y};", "FORM_3");
    assert_eq!(count(&text, "PACK"), 1);
    assert!(text.find("* INT").expect("the body") < text.find("PACK").expect("the filter"));
}

#[test]
fn a_lifted_recursive_function_begins_with_the_test_for_no_instance() {
    let program = "function fact(n) = if n == 0 then 1 else n * fact(n - 1); {fact(n) : n in [1, 2]};";
    let text = function(program, "FACT");
    let lines: Vec<&str> = text.lines().skip(1).take(5).map(str::trim).collect();
    assert_eq!(lines, ["COPY 1 0", "LENGTHS", "CONST INT 0", "= INT", "IF"]);
}

#[test]
fn a_table_passed_down_a_recursion_is_not_replicated() {
    let program = "function walk(table, i) = if i < 0 then 0 else 1 + walk(table, table[i]);
        table = [-1, 0, 1]; {walk(table, i) : i in [0, 1, 2]};";
    let walk = function(program, "WALK");
    // One gather from the one table; a replicated table would be read segment by segment.
    assert_eq!((count(&walk, "EXTRACT"), count(&walk, "+_SCAN")), (0, 0), "{walk}");
    assert!(count(&walk, "BPERMUTE") >= 1, "{walk}");
}

#[test]
fn checks_name_function_and_position_and_can_be_off() {
    let program = "function get(s, i) = s[i];\ns = [1];\nget(s, 0);";
    assert!(vcode(program).contains("in get, test.nesl:1:22"));
    let off = vcode(&format!("set arg_check off; {program}"));
    assert!(!off.contains("RUNTIME ERROR"));
}

#[test]
fn appends_of_appends_move_each_part_once() {
    let text = function("a = [1]; b = [2]; c = [3]; a ++ b ++ c;", "FORM_4");
    assert_eq!((count(&text, "DPERMUTE"), count(&text, "INDEX")), (3, 3));
}

#[test]
fn constants_known_to_be_right_are_not_checked() {
    let text = function("s = [1,2,3]; {x / 2 : x in s};", "FORM_2");
    assert_eq!(count(&text, "IF"), 0);
}

#[test]
fn output_stays_within_the_operations_of_the_cmu_compiler() {
    let text = vcode("a = [3,1,2]; sort(a) ++ reverse(a); {x : x in a | x > 1}; [a, a][1];");
    for word in ["PAIR", "UNPAIR", "FPERMUTE", "BFPERMUTE", "DFPERMUTE", "CONST SEGDES"] {
        assert_eq!(count(&text, word), 0, "{word}");
    }
    assert!(text.find("FUNC MAIN1_1").expect("the entry") < text.find("FUNC FORM_1").expect("a form"));
}

#[test]
fn a_branch_that_needs_a_sequence_packed_reads_the_packed_one() {
    let program = "function count(v, i, sums) =
          if i == #v then sums else let k = v[i] in count(v, i + 1, rep(sums, sums[k] + 1, k));
        {count(v, 0, dist(0, 3)) : v in [[0, 1], [2, 2, 1]]};";
    let text = vcode(program);
    assert!(count(&text, "EXTRACT INT") >= 4, "{text}");
}

#[test]
fn elements_of_one_sequence_are_appended_together() {
    let program = "a = [1]; b = [2]; let r = {v ++ v : v in [a, b]} in r[0] ++ r[1];";
    // Two gathers for the starts of the literal's parts, two for the lengths of r[0] and r[1], none for elements.
    assert_eq!(count(&function(program, "FORM_3"), "BPERMUTE"), 4);
}
