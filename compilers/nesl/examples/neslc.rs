// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the VCODE of a NESL file: `neslc FILE [ARGUMENT...]`.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: neslc FILE [ARGUMENT...]");
        std::process::exit(2);
    };
    let text = match std::fs::read(&file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            eprintln!("neslc: {file}: {error}");
            std::process::exit(2);
        }
    };
    let mut session = hadal_nesl::Session::new();
    let loaded = session.load(&file, &text);
    let mut failed = false;
    for error in loaded.errors() {
        eprint!("{error}");
        failed = true;
    }
    let mut forms = loaded.forms();
    match session.main_call(&arguments.collect::<Vec<_>>()) {
        Some(hadal_nesl::Outcome::Value(form)) => forms.push(form),
        Some(hadal_nesl::Outcome::Error(error)) => {
            eprint!("{error}");
            failed = true;
        }
        _ => {}
    }
    match session.emit_vcode(&forms) {
        Ok(text) if !failed => print!("{text}"),
        Ok(_) => std::process::exit(1),
        Err(error) => {
            eprint!("{error}");
            std::process::exit(1);
        }
    }
}
