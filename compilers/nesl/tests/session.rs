// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The driver's interface: definitions, messages, commands, and single expressions over earlier values.

use hadal_nesl::evaluate::Stop;
use hadal_nesl::{Outcome, Session};

fn values(session: &mut Session, text: &str) -> Vec<usize> {
    let loaded = session.load("prompt", text);
    assert_eq!(loaded.errors().collect::<Vec<_>>(), Vec::<&str>::new());
    loaded.forms()
}

#[test]
fn an_expression_takes_the_values_it_uses_from_slots() {
    let mut session = Session::new();
    let forms = values(&mut session, "a = [1, 2]; b = 3; a;");
    let request = session.compile_expression(forms[2]).expect("it compiles");
    assert_eq!((request.inputs, request.output), (vec![0], 2));
    assert!(
        request.text.contains("{hadal-form FORM_1 name it value [i type [int] at 1}"),
        "{}",
        request.text
    );
}

#[test]
fn a_function_brings_the_values_that_it_uses() {
    let mut session = Session::new();
    values(&mut session, "a = 1; b = 2; function g(x) = x + b;");
    let forms = values(&mut session, "g(5);");
    assert_eq!(session.compile_expression(forms[0]).expect("it compiles").inputs, vec![1]);
}

#[test]
fn forms_are_reported_one_by_one() {
    let mut session = Session::new();
    let loaded = session.load("prompt", "function twice(x) = x + x; 1 + t; twice(2);");
    assert!(
        matches!(&loaded.outcomes[0], Outcome::Defined { name, ty } if name == "twice" && ty.contains("number"))
    );
    assert!(matches!(&loaded.outcomes[1], Outcome::Error(text) if text.contains("prompt:1:")), "{loaded:?}");
    assert_eq!(loaded.outcomes[2], Outcome::Value(0));
}

#[test]
fn an_unfinished_text_is_incomplete() {
    assert!(Session::new().load("prompt", "let a = 1 in").incomplete);
}

#[test]
fn a_form_that_failed_is_forgotten() {
    let mut session = Session::new();
    values(&mut session, "a = 1;");
    let forms = values(&mut session, "a = \"text\";");
    session.forget(forms[0]);
    assert_eq!(session.type_of("a"), Ok("int".to_owned()));
}

#[test]
fn main_is_applied_to_the_arguments_of_the_command() {
    let mut session = Session::new();
    values(&mut session, "function main(n, s) = n + #s;");
    let outcome = session.main_call(&["3".to_owned(), "[1, 2]".to_owned()]);
    assert_eq!(outcome, Some(Outcome::Value(0)));
    assert!(matches!(session.main_call(&["t".to_owned()]), Some(Outcome::Error(_))));
    assert_eq!(Session::new().main_call(&[]), None);
}

#[test]
fn types_are_told_without_evaluation() {
    let mut session = Session::new();
    assert_eq!(session.type_of("{x, 1.5 : x in [1]}"), Ok("[(int, float)]".to_owned()));
    assert!(session.type_of("1 + 1.5").is_err());
    assert!(session.type_of("").is_err());
}

#[test]
fn every_command_has_an_answer() {
    let mut session = Session::new();
    let loaded = session.load(
        "prompt",
        "help; describe take; apropos scan; show status; show code take; set print_length 5; set verbose on;
         describe nothing_like_it; dump world; set trace take 1; exit;",
    );
    assert_eq!(loaded.outcomes.len(), 11);
    assert!(
        matches!(&loaded.outcomes[1], Outcome::Text(text) if text.starts_with("take : ([a], int) -> [a]"))
    );
    assert!(matches!(&loaded.outcomes[2], Outcome::Text(text) if text.contains("plus_scan")));
    assert!(matches!(&loaded.outcomes[4], Outcome::Text(text) if text.contains("function take")));
    assert_eq!(session.print_length(), 5);
    assert!(session.is_verbose());
    assert!(matches!(loaded.outcomes[7], Outcome::Error(_)));
    assert!(matches!(&loaded.outcomes[8], Outcome::Error(text) if text.contains("load")));
    assert_eq!(loaded.outcomes[10], Outcome::Exit);
}

#[test]
fn a_file_that_loads_itself_is_an_error() {
    let file = std::env::temp_dir().join(format!("hadal-nesl-loop-{}.nesl", std::process::id()));
    std::fs::write(&file, format!("load \"{}\";", file.display())).expect("a temporary file can be written");
    let loaded =
        Session::new().load("prompt", &format!("load \"{}\"; load \"/no/such/file\";", file.display()));
    std::fs::remove_file(&file).expect("the temporary file is there");
    let errors: Vec<&str> = loaded.errors().collect();
    assert!(errors[0].contains("over and over"), "{errors:?}");
    assert!(errors[1].contains("there is no such file"), "{errors:?}");
}

#[test]
fn functions_that_cannot_be_told_are_refused() {
    let mut session = Session::new();
    let loaded = session.load("prompt", "function pick(c) = if c then sin else cos; pick(t)(1.0);");
    let forms = loaded.forms();
    let error = session.compile_program(&forms).expect_err("the function depends on a value");
    assert!(error.contains("cannot be told"), "{error}");
}

#[test]
fn files_inside_an_apply_to_each_are_refused() {
    let mut session = Session::new();
    let forms = values(&mut session, "{read_string_from_file(n) : n in [\"a\", \"b\"]};");
    let error = session.compile_program(&forms).expect_err("files are for serial code");
    assert!(error.contains("{* ... }"), "{error}");
}

#[test]
fn too_many_bindings_are_an_error() {
    let bindings: Vec<String> = (0..20_000).map(|i| format!("a{i} = {i}")).collect();
    let mut session = Session::new();
    let forms = values(&mut session, &format!("let {} in a1;", bindings.join("; ")));
    let error = session.compile_program(&forms).expect_err("that is too much");
    assert!(error.contains("too many bindings"), "{error}");
}

#[test]
fn the_coverage_table_has_every_name_and_its_tests_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table =
        std::fs::read_to_string(root.join("../../docs/coverage/nesl.md")).expect("the table can be read");
    let names = Session::new().apropos("");
    for line in names.lines() {
        let name = line.split(' ').next().expect("a name");
        if !name.starts_with('_') {
            assert!(table.contains(&format!("| `{name}` |")), "{name} is not in docs/coverage/nesl.md");
        }
    }
    for line in table.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 3) {
        let test = line.trim_end_matches(" |").rsplit(" | ").next().expect("the last column");
        assert!(root.join(format!("tests/programs/{test}.nesl")).is_file(), "{test} is not there: {line}");
    }
}

#[test]
fn a_slot_is_unused_when_nothing_means_its_value() {
    let mut session = Session::new();
    values(&mut session, "a = 1; function g(x) = x + a; 5;");
    assert_eq!(session.unused_slots(), Vec::<usize>::new());
    values(&mut session, "6; a = 2;");
    // The first `it` is gone; the first `a` is still meant by g.
    assert_eq!(session.unused_slots(), vec![1]);
    assert_eq!(session.unused_slots(), Vec::<usize>::new());
}

#[test]
fn dump_vcode_writes_a_program() {
    let file = std::env::temp_dir().join(format!("hadal-nesl-dump-{}.vcode", std::process::id()));
    let mut session = Session::new();
    let loaded = session.load("prompt", &format!("a = [1, 2]; dump vcode \"{}\" sum(a); a;", file.display()));
    assert!(
        matches!(&loaded.outcomes[1], Outcome::Text(text) if text.starts_with("VCODE is in")),
        "{loaded:?}"
    );
    let text = std::fs::read_to_string(&file).expect("the file is written");
    std::fs::remove_file(&file).expect("the file is there");
    assert!(text.contains("FUNC MAIN1_1") && text.contains("+_REDUCE INT"), "{text}");
    assert!(matches!(loaded.outcomes[2], Outcome::Value(_)));
}

#[test]
fn a_file_name_is_one_word_of_its_comment() {
    let mut session = Session::new();
    let forms = session.load("my own}file.nesl", "1;").forms();
    let text = session.compile_program(&forms).expect("it compiles");
    assert!(text.contains("{hadal-source FORM_1 top-level my_own_file.nesl 1}"), "{text}");
}

#[test]
fn the_naive_evaluator_gives_up_before_memory_runs_out() {
    let programs = [
        "function grow(s) = grow(s ++ s); grow([1]);",
        "sum(flatten(dist(index(90000), 90000)));",
        "#dist(0, 2000000000);",
        "{reverse(s) : s in dist(index(90000), 90000)};",
    ];
    for program in programs {
        let mut session = Session::new();
        let forms = session.load("grow.nesl", program).forms();
        let evaluation = session.evaluate(&forms, 300_000).expect("all functions are known");
        assert!(matches!(evaluation.stop, Some(Stop::TooLong)), "{program}");
    }
}
