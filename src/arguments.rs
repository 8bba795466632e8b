//! The words of the command line, with the command in its place: `edison trace.pcap` is short for `edison run trace.pcap`.

use clap::Command;
use runtime::exit::Failure;
use runtime::quantity::is_address;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Commands of the lab, which is a program of its own, and how each is called there.
const OF_LAB: [(&str, &str); 2] =
    [("bench", "edison-lab bench NAME"), ("study", "edison-lab study --out DIR")];

/// The command that a source or an option stands for.
const DEFAULT_COMMAND: &str = "run";

/// Puts the usual command where none is named. `arguments` begin with the program's name.
pub(crate) fn with_command(
    mut arguments: Vec<OsString>,
    command: &Command,
) -> Result<Vec<OsString>, Failure> {
    let Some(first) = arguments.get(1) else { return Ok(arguments) };
    // `edison help bench` asks for the same.
    let asked = if first == "help" { arguments.get(2).unwrap_or(first) } else { first };
    if let Some((name, call)) = OF_LAB.iter().find(|(name, _)| asked == name) {
        return Err(lab_command_failure(name, call));
    }
    let names: Vec<_> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
    match what_is(first, &names) {
        LeadingWord::Command => {}
        LeadingWord::OfUsual => arguments.insert(1, DEFAULT_COMMAND.into()),
        LeadingWord::Unknown => return Err(unknown(&first.to_string_lossy(), &names)),
    }
    attach_address(&mut arguments);
    Ok(arguments)
}

/// Makes the address behind `--web` its value. Any other word there is a source or a filter.
fn attach_address(arguments: &mut Vec<OsString>) {
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let Some(at) = arguments[..end].iter().position(|word| word == "--web") else { return };
    let address = arguments.get(at + 1).and_then(|word| word.to_str()).filter(|word| is_address(word));
    if let Some(address) = address {
        arguments[at] = format!("--web={address}").into();
        arguments.remove(at + 1);
    }
}

/// The kind of the first word of a command line.
#[derive(Debug, PartialEq, Eq)]
enum LeadingWord {
    /// A command, or an option of the program itself.
    Command,
    /// A source, or an option, of the usual command.
    OfUsual,
    Unknown,
}

fn what_is(word: &OsStr, commands: &[&str]) -> LeadingWord {
    let of_program = ["-h", "--help", "-V", "--version"];
    let text = word.to_string_lossy();
    if of_program.contains(&&*text) || commands.contains(&&*text) {
        return LeadingWord::Command;
    }
    let looks_like_path = text.contains(['/', '.']);
    if text.starts_with('-') || looks_like_path || Path::new(word).exists() {
        return LeadingWord::OfUsual;
    }
    LeadingWord::Unknown
}

fn lab_command_failure(name: &str, call: &str) -> Failure {
    Failure::usage(format!(
        "'{name}' is a command of edison-lab: `{call}`; `cd lab && cargo build --release` builds that program, and the Debian package \
         edison-lab installs it"
    ))
}

fn unknown(word: &str, names: &[&str]) -> Failure {
    let hint = match notation::nearest(word, names.iter().copied()) {
        Some(nearest) => format!("did you mean `edison {nearest}`?"),
        None => format!("commands are {}", names.join(", ")),
    };
    Failure::usage(format!("'{word}' is no command and no capture file; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_is_taken_for_one() {
        let of = |line: &str| {
            let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            attach_address(&mut words);
            words.join(OsStr::new(" ")).into_string().expect("text")
        };
        assert_eq!(of("edison run --web 127.0.0.1:90 a.pcap"), "edison run --web=127.0.0.1:90 a.pcap");
        assert_eq!(of("edison run --web localhost:90"), "edison run --web=localhost:90");
        for same in
            ["edison run a.pcap --web", "edison run --web tcp port 80", "edison run -- --web [::1]:90"]
        {
            assert_eq!(of(same), same);
        }
    }

    #[test]
    fn commands_of_the_lab_are_found_there() {
        for line in ["edison bench", "edison help bench", "edison help study"] {
            let words = line.split(' ').map(OsString::from).collect();
            let failure = with_command(words, &Command::new("edison")).expect_err(line);
            assert!(format!("{failure:?}").contains("edison-lab"), "{failure:?}");
        }
        assert!(
            with_command(vec!["edison".into(), "help".into(), "run".into()], &Command::new("edison")).is_ok()
        );
    }

    #[test]
    fn the_first_word_tells_what_is_meant() {
        let of = |word: &str| what_is(OsStr::new(word), &["run", "query"]);
        for word in ["run", "query", "-h", "--help", "-V", "--version"] {
            assert_eq!(of(word), LeadingWord::Command, "{word}");
        }
        for word in ["-", "-i", "--tpo", "missing.pcap", "./query", "Cargo.toml", "src"] {
            assert_eq!(of(word), LeadingWord::OfUsual, "{word}");
        }
        assert_eq!(of("rnu"), LeadingWord::Unknown);
    }
}
