// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A prompt's requests on the VCODE machine that the environment variable `HADAL_VCODE` names: values stay in their
//! slots, and an error leaves the machine able to go on. Without the variable there is nothing to test.

use hadal_nesl::{Outcome, Session};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

struct Machine {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Machine {
    /// Sends a request; its output, and whether it went well.
    fn run(&mut self, session: &Session, form: usize) -> (String, bool) {
        let request = session.compile_expression(form).expect("it compiles");
        let slots: String = request.inputs.iter().map(|slot| format!("{slot} ")).collect();
        let head = format!("run {} {slots}> {}\n", request.text.len(), request.output);
        self.input.write_all(head.as_bytes()).expect("the machine reads");
        self.input.write_all(request.text.as_bytes()).expect("the machine reads");
        self.input.flush().expect("the machine reads");
        let mut answer = Vec::new();
        self.output.read_until(0x1E, &mut answer).expect("the machine answers");
        answer.pop();
        let mut status = [0; 2];
        self.output.read_exact(&mut status).expect("a status follows");
        (String::from_utf8_lossy(&answer).into_owned(), status[0] == b'0')
    }
}

#[test]
fn values_of_a_prompt_stay_on_the_machine() {
    let Some(machine) = std::env::var_os("HADAL_VCODE") else { return };
    let mut child = Command::new(&machine)
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("HADAL_VCODE names the run-time of runtimes/vcode, built for Linux");
    let mut machine = Machine {
        input: child.stdin.take().expect("its input is ours"),
        output: BufReader::new(child.stdout.take().expect("its output is ours")),
    };
    let mut session = Session::new();
    let mut answers = Vec::new();
    for text in [
        "a, b = [1, 2, 3], \"xyz\";",
        "function plus(n) = (x => x + n + #b);",
        "{x * 2 : x in a};",
        "it ++ a;",
        "1 / (#b - 3);",
        "g = plus(10);",
        "{g(x) : x in a};",
    ] {
        for outcome in session.load("prompt", text).outcomes {
            if let Outcome::Value(form) = outcome {
                let (answer, good) = machine.run(&session, form);
                if !good {
                    session.forget(form);
                }
                answers.push((answer, good));
            }
        }
    }
    drop(machine);
    child.wait().expect("the machine ends");
    let expected = [
        ("(a,b) = ([1, 2, 3], \"xyz\") : [int], [char]\n", true),
        ("it = [2, 4, 6] : [int]\n", true),
        ("it = [2, 4, 6, 1, 2, 3] : [int]\n", true),
        ("", false),
        ("g = fn : int -> int\n", true),
        ("it = [14, 15, 16] : [int]\n", true),
    ];
    let answers: Vec<(&str, bool)> = answers.iter().map(|(text, good)| (text.as_str(), *good)).collect();
    assert_eq!(answers, expected);
}
