// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random well-typed programs: compiled code, on the VCODE machine that the environment variable `HADAL_VCODE` names,
//! gives what the naive evaluator gives. `HADAL_NESL_RANDOM` is the number of programs, `HADAL_NESL_SEED` the first seed.

use hadal_nesl::Session;
use hadal_nesl::evaluate::Stop;
use std::path::Path;
use std::process::Command;

/// Types of the generated expressions.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Ty {
    Int,
    Bool,
    Pair,
    Ints,
    Bools,
    Pairs,
    Nested,
}

const TYPES: [Ty; 7] = [Ty::Int, Ty::Bool, Ty::Pair, Ty::Ints, Ty::Bools, Ty::Pairs, Ty::Nested];

impl Ty {
    fn element(self) -> Option<Ty> {
        match self {
            Ty::Ints => Some(Ty::Int),
            Ty::Bools => Some(Ty::Bool),
            Ty::Pairs => Some(Ty::Pair),
            Ty::Nested => Some(Ty::Ints),
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Ty::Int => "int",
            Ty::Bool => "bool",
            Ty::Pair => "(int, bool)",
            Ty::Ints => "[int]",
            Ty::Bools => "[bool]",
            Ty::Pairs => "[(int, bool)]",
            Ty::Nested => "[[int]]",
        }
    }
}

/// The generator of a program.
struct Generator {
    state: u64,
    variables: Vec<(String, Ty)>,
    functions: Vec<(String, Vec<Ty>, Ty)>,
    names: usize,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).expect("31 bits fit") % n
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn program(&mut self) -> String {
        let mut text = String::new();
        for index in 0..4 {
            let result = TYPES[self.below(TYPES.len())];
            let params: Vec<Ty> = (0..=self.below(3)).map(|_| TYPES[self.below(TYPES.len())]).collect();
            let name = format!("g{index}");
            let names: Vec<String> = params.iter().map(|_| self.name()).collect();
            self.variables = names.iter().cloned().zip(params.iter().copied()).collect();
            let (head, signature) = if self.below(3) == 0 {
                // A function that calls itself a few times, with a parameter that counts down.
                let base = self.expr(result, 2);
                self.functions.push((name.clone(), [vec![Ty::Int], params.clone()].concat(), result));
                let counted = self.variables.clone();
                let mut calls = Vec::new();
                for _ in 0..=self.below(2) {
                    let args: Vec<String> = params.iter().map(|ty| self.expr(*ty, 1)).collect();
                    calls.push(format!("{name}(n - 1, {})", args.join(", ")));
                }
                self.functions.pop();
                self.variables = counted;
                let bound: Vec<String> = calls.iter().map(|_| self.name()).collect();
                self.variables.extend(bound.iter().map(|name| (name.clone(), result)));
                let after = self.expr(result, 2);
                let lets: Vec<String> =
                    bound.iter().zip(&calls).map(|(name, call)| format!("{name} = {call}")).collect();
                let body = format!("if n <= 0 then {base} else let {} in {after}", lets.join("; "));
                (
                    format!("function {name}(n, {}) = {body};\n", names.join(", ")),
                    [vec![Ty::Int], params].concat(),
                )
            } else {
                let body = self.expr(result, 4);
                (format!("function {name}({}) = {body};\n", names.join(", ")), params)
            };
            text.push_str(&head);
            self.functions.push((name, signature, result));
        }
        self.variables.clear();
        for _ in 0..5 {
            let ty = TYPES[self.below(TYPES.len())];
            let form = self.expr(ty, 4);
            let name = self.name();
            text.push_str(&format!("{name} = {form};\n"));
            self.variables.push((name, ty));
        }
        text
    }

    /// A variable or a constant.
    fn leaf(&mut self, ty: Ty) -> String {
        let known: Vec<String> =
            self.variables.iter().filter(|(_, own)| *own == ty).map(|(name, _)| name.clone()).collect();
        if !known.is_empty() && self.below(4) > 0 {
            return known[self.below(known.len())].clone();
        }
        match ty {
            Ty::Int => (self.below(12)).to_string(),
            Ty::Bool => if self.below(2) == 0 { "t" } else { "f" }.to_owned(),
            Ty::Pair => format!("({}, {})", self.leaf(Ty::Int), self.leaf(Ty::Bool)),
            _ => {
                let element = ty.element().expect("a sequence");
                let number = self.below(4);
                if number == 0 {
                    return format!("([] {})", element.text());
                }
                let all: Vec<String> = (0..number).map(|_| self.leaf(element)).collect();
                format!("[{}]", all.join(", "))
            }
        }
    }

    fn expr(&mut self, ty: Ty, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        let d = depth - 1;
        match self.below(8) {
            0 => return self.leaf(ty),
            1 => {
                let (c, a, b) = (self.expr(Ty::Bool, d), self.expr(ty, d), self.expr(ty, d));
                return format!("(if {c} then {a} else {b})");
            }
            2 => {
                let own = TYPES[self.below(TYPES.len())];
                let value = self.expr(own, d);
                let name = self.name();
                self.variables.push((name.clone(), own));
                let body = self.expr(ty, d);
                self.variables.pop();
                return format!("(let {name} = {value} in {body})");
            }
            3 => {
                let fitting: Vec<(String, Vec<Ty>, Ty)> =
                    self.functions.iter().filter(|(_, _, result)| *result == ty).cloned().collect();
                if !fitting.is_empty() {
                    let (name, params, _) = fitting[self.below(fitting.len())].clone();
                    let args: Vec<String> = params.iter().map(|ty| self.expr(*ty, d)).collect();
                    // The first argument may count a recursion: it is kept small.
                    let args: Vec<String> = args
                        .into_iter()
                        .zip(&params)
                        .enumerate()
                        .map(
                            |(i, (arg, ty))| {
                                if i == 0 && *ty == Ty::Int { format!("mod({arg}, 4)") } else { arg }
                            },
                        )
                        .collect();
                    return format!("{name}({})", args.join(", "));
                }
            }
            _ => {}
        }
        match ty {
            Ty::Int => self.int(d),
            Ty::Bool => self.truth(d),
            Ty::Pair => {
                let (a, b) = (self.expr(Ty::Int, d), self.expr(Ty::Bool, d));
                format!("({a}, {b})")
            }
            _ => self.sequence(ty, d),
        }
    }

    fn int(&mut self, d: usize) -> String {
        let a = self.expr(Ty::Int, d);
        match self.below(9) {
            0 => format!("({a} + {})", self.expr(Ty::Int, d)),
            1 => format!("({a} - {})", self.expr(Ty::Int, d)),
            2 => format!("({a} * {})", self.expr(Ty::Int, d)),
            3 => format!("sum({})", self.expr(Ty::Ints, d)),
            4 => format!("#{}", self.expr(Ty::Nested, d)),
            5 => format!("max({a}, {})", self.expr(Ty::Int, d)),
            6 => {
                let (s, name) = (self.expr(Ty::Ints, d), self.name());
                format!("(let {name} = {s} in if #{name} > 0 then {name}[mod({a}, #{name})] else {a})")
            }
            7 => format!("count({})", self.expr(Ty::Bools, d)),
            // Out of bounds now and then: both sides must then stop with an error.
            _ => format!("({a} / {})", self.expr(Ty::Int, d)),
        }
    }

    fn truth(&mut self, d: usize) -> String {
        match self.below(6) {
            0 => format!("({} < {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
            1 => format!("({} == {})", self.expr(Ty::Int, d), self.expr(Ty::Int, d)),
            2 => format!("({} and {})", self.expr(Ty::Bool, d), self.expr(Ty::Bool, d)),
            3 => format!("not({})", self.expr(Ty::Bool, d)),
            4 => format!("any({})", self.expr(Ty::Bools, d)),
            _ => format!("eql({}, {})", self.expr(Ty::Nested, d), self.expr(Ty::Nested, d)),
        }
    }

    fn sequence(&mut self, ty: Ty, d: usize) -> String {
        let element = ty.element().expect("a sequence");
        match self.below(10) {
            0 => format!("({} ++ {})", self.expr(ty, d), self.expr(ty, d)),
            9 => {
                let (a, b, name, each) = (self.expr(ty, d), self.expr(ty, d), self.name(), self.name());
                self.variables.push((each.clone(), ty));
                let body = self.expr(ty, d.min(1));
                self.variables.pop();
                let middle = self.expr(ty, d.min(1));
                format!(
                    "(let {name} = {{{body} : {each} in [{a}, {b}]}} in {name}[1] ++ {middle} ++ {name}[0])"
                )
            }
            1 => format!("reverse({})", self.expr(ty, d)),
            2 => {
                let (s, k, name) = (self.expr(ty, d), self.expr(Ty::Int, d), self.name());
                format!("(let {name} = {s} in take({name}, mod({k}, #{name} + 1)))")
            }
            3 => format!("dist({}, mod({}, 4))", self.expr(element, d), self.expr(Ty::Int, d)),
            4 if ty == Ty::Ints => {
                let inner = self.expr(Ty::Ints, d);
                let function = ["plus_scan", "sort", "rank"][self.below(3)];
                format!("{function}({inner})")
            }
            5 if ty == Ty::Ints => format!("flatten({})", self.expr(Ty::Nested, d)),
            5 if ty == Ty::Nested => {
                let function = ["bottop", "vpair"][self.below(2)];
                let inner = self.expr(Ty::Ints, d);
                if function == "bottop" {
                    format!("bottop({inner})")
                } else {
                    format!("vpair({inner}, {inner})")
                }
            }
            6 => {
                let (s, i, v) = (self.expr(ty, d), self.expr(Ty::Ints, d), self.expr(element, d));
                let (name, at) = (self.name(), self.name());
                format!(
                    "(let {name} = {s} in {name} <- {{mod({at}, #{name}), {v} : {at} in {i} | #{name} > 0}})"
                )
            }
            7 => {
                let elements: Vec<String> = (0..=self.below(3)).map(|_| self.expr(element, d)).collect();
                format!("[{}]", elements.join(", "))
            }
            _ => self.apply_to_each(element, d),
        }
    }

    fn apply_to_each(&mut self, element: Ty, d: usize) -> String {
        let own = [Ty::Ints, Ty::Nested, Ty::Pairs, Ty::Bools][self.below(4)];
        let inner = own.element().expect("a sequence");
        let (s, name) = (self.expr(own, d), self.name());
        self.variables.push((name.clone(), inner));
        let second = self.name();
        let two = self.below(3) == 0;
        let sources = if two {
            self.variables.push((second.clone(), Ty::Int));
            let whole = self.name();
            let text = format!("{name} in {whole}; {second} in index(#{whole})");
            (format!("let {whole} = {s} in "), text)
        } else {
            (String::new(), format!("{name} in {s}"))
        };
        let body = self.expr(element, d);
        let filter =
            if self.below(3) == 0 { format!(" | {}", self.expr(Ty::Bool, d)) } else { String::new() };
        if two {
            self.variables.pop();
        }
        self.variables.pop();
        format!("({}{{{body} : {}{filter}}})", sources.0, sources.1)
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What both sides agree on: which of several errors comes first depends on the order of evaluation, that there is one does
/// not. Recursion without an end is one, too: what is behind another element's error is computed before it in compiled code.
fn outcome(answers: &str) -> String {
    let is_error = ["\nRUNTIME ERROR", "(endless recursion?)"].iter().any(|text| answers.contains(text));
    if is_error { "error".to_owned() } else { answers.to_owned() }
}

#[test]
fn compiled_random_programs_agree_with_the_naive_evaluator() {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(|| {
        let machine = std::env::var_os("HADAL_VCODE");
        let library = Session::new();
        let first = number("HADAL_NESL_SEED", 1);
        let (mut answered, mut failed, mut too_long) = (0, 0, 0);
        for seed in first..first + number("HADAL_NESL_RANDOM", 40) {
            let state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut generator = Generator { state, variables: Vec::new(), functions: Vec::new(), names: 0 };
            let program = generator.program();
            let mut session = library.clone();
            let loaded = session.load("random.nesl", &program);
            let errors: Vec<&str> = loaded.errors().collect();
            assert!(
                errors.is_empty(),
                "seed {seed}: the generator is wrong:\n{}\n{program}",
                errors.join("\n")
            );
            let forms = loaded.forms();
            let evaluation = session.evaluate(&forms, 300_000).expect("all functions are known");
            match evaluation.stop {
                Some(Stop::TooLong) => {
                    too_long += 1;
                    continue;
                }
                Some(_) => failed += 1,
                None => answered += 1,
            }
            let text = session.compile_program(&forms).expect("it compiles");
            if let Some(machine) = &machine {
                let file = std::env::temp_dir().join(format!("hadal-random-{}.vcode", std::process::id()));
                std::fs::write(&file, &text).expect("a temporary file can be written");
                let output = Command::new("timeout")
                    .arg("20")
                    .arg(Path::new(machine))
                    .arg(&file)
                    .output()
                    .expect("HADAL_VCODE names the run-time of runtimes/vcode, built for Linux");
                let got = format!(
                    "{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
                assert_eq!(
                    outcome(&got),
                    outcome(&evaluation.answers),
                    "seed {seed} ({}):\n{program}",
                    file.display()
                );
            }
        }
        println!("{answered} with answers, {failed} with errors, {too_long} too long");
        assert!(answered > 0, "no program came to its end");
    });
    if let Err(panic) = thread.expect("a thread can be started").join() {
        std::panic::resume_unwind(panic);
    }
}
