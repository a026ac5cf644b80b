//! Options as cryptsetup takes them: called by its name, Keyway accepts and refuses the same command
//! lines, with the same exit code and the same words.

mod lines;
mod matrix;

use keyway_tests::run::Run;
use keyway_tests::scratch::Scratch;
use keyway_tests::{cryptsetup, need};
use lines::LINES;
use matrix::{ACTIONS, OPTIONS};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Command lines that end otherwise, and why.
const DIFFERENCES: &[(&str, &str)] = &[(
    "luksFormat DEV --device-size 1x",
    "refused for an option that does not belong to the action, before its value is looked at",
)];

/// Options that an installed cryptsetup of an older version takes with more actions.
const RESTRICTED_SINCE: &[&str] =
    &["integrity", "integrity-no-wipe", "key-description", "veracrypt-query-pim"];

/// Command lines that older versions let pass.
const NEWER_RULES: &[&str] = &["--tries 0", "--key-size 8 --key-size 8", "--volume-key-file B"];

/// How a command line ends: its exit code, and the line after the usage text without the name of the
/// program.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    code: Option<i32>,
    line: String,
}

impl Ending {
    fn of(program: &Path, line: &str) -> Self {
        let outcome = Run::new(program, "--test-args").args(line).outcome();
        let errors = outcome.errors();
        let line = errors.trim_end().lines().next_back().unwrap_or_default();
        let line = line.rsplit_once("cryptsetup: ").map_or(line, |(_, message)| message);
        Self { code: outcome.code, line: line.to_owned() }
    }

    /// Whether it ends as cryptsetup does. What Keyway adds stands after cryptsetup's words.
    fn is_like(&self, code: i32, line: &str) -> bool {
        self.code == Some(code) && self.line.starts_with(line.trim_end_matches('.'))
    }
}

/// Keyway under cryptsetup's name.
fn called_as_cryptsetup(scratch: &Scratch) -> PathBuf {
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    link
}

/// Every action with every option, and cryptsetup's message for those that do not belong together.
fn matrix() -> impl Iterator<Item = (String, String)> {
    ACTIONS.iter().flat_map(|action| OPTIONS.iter().map(|(option, takers)| pair(action, option, takers)))
}

fn pair(action_line: &str, option: &str, takers: &str) -> (String, String) {
    let action = action_line.split(' ').next().unwrap_or_default();
    let name = option.split('=').next().unwrap_or_default();
    // What the option cannot be without.
    let needs = match (action, name) {
        (_, "--keyslot-cipher") => "--keyslot-key-size=512",
        (_, "--keyslot-key-size") => "--keyslot-cipher=V",
        ("open", "--tcrypt-hidden" | "--tcrypt-system" | "--tcrypt-backup") => "--type=tcrypt",
        ("open" | "tcryptDump", "--veracrypt" | "--disable-veracrypt") => "--type=tcrypt",
        ("open", "--shared" | "--skip" | "--offset") => "--type=plain",
        ("open", "--sector-size") => "--type=plain",
        ("open", "--iv-large-sectors") => "--type=plain --sector-size=4096",
        ("open", "--unbound") => "--test-passphrase",
        ("luksAddKey", "--unbound") => "--key-size=512",
        ("luksDump", "--unbound") | ("config", "--priority") => "--key-slot=1",
        ("luksFormat", "--integrity-inline" | "--integrity-no-wipe") => "--integrity=V",
        _ => "",
    };
    let is_taken = takers.is_empty() || takers.split(' ').any(|taker| taker == action);
    let is_not_allowed = match (is_taken, action, name) {
        (false, ..) => format!("Option {name} is not allowed with {action} action."),
        (true, "token", "--unbound") => "Option --unbound is valid only with token add action.".to_owned(),
        _ => String::new(),
    };
    let needs = if is_taken { needs } else { "" };
    (format!("{action_line} {option} {needs}").trim_end().to_owned(), is_not_allowed)
}

#[test]
fn option_cases_end_as_cryptsetups() {
    let scratch = Scratch::new();
    let program = called_as_cryptsetup(&scratch);
    let lines = LINES.iter().map(|(line, message)| ((*line).to_owned(), (*message).to_owned()));
    let cases: Vec<(String, String)> = lines.chain(matrix()).collect();
    let others = in_four_parts(&cases, |(line, message)| {
        let ending = Ending::of(&program, line);
        let is_equal = ending.is_like(i32::from(!message.is_empty()), message);
        (!is_equal).then(|| (line.clone(), format!("{ending:?}")))
    });
    println!("option cases equal to cryptsetup's: {} of {}", cases.len() - others.len(), cases.len());
    for (line, why) in DIFFERENCES {
        println!("  another ending: {line} ({why})");
    }
    let expected: Vec<&str> = DIFFERENCES.iter().map(|(line, _)| *line).collect();
    let found: Vec<&str> = others.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(found, expected, "{others:#?}");
}

/// The table, and Keyway with it, beside an installed cryptsetup, for the options that it has.
#[test]
fn an_installed_cryptsetup_ends_like_the_table() {
    need!("cryptsetup");
    let installed = keyway_tests::skip::find("cryptsetup").unwrap();
    let help = cryptsetup("--help").ok().text();
    let is_known = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        !word.starts_with("--") || help.split([' ', '=', '\n']).any(|known| known == name)
    };
    let is_restricted = |line: &str| {
        line.split(' ').any(|word| {
            let name = word.trim_start_matches("--").split('=').next().unwrap_or_default();
            word.starts_with("--") && RESTRICTED_SINCE.contains(&name)
        })
    };
    let lines = LINES.iter().map(|(line, message)| ((*line).to_owned(), (*message).to_owned()));
    // Every tenth of the matrix is enough to notice a table that has been misread.
    let cases = lines.chain(matrix().step_by(10));
    let cases: Vec<(String, String)> =
        cases.filter(|(line, _)| line.split(' ').all(is_known) && !is_restricted(line)).collect();
    let others = in_four_parts(&cases, |(line, message)| {
        let theirs = Ending::of(&installed, line);
        let is_equal = theirs.is_like(i32::from(!message.is_empty()), message);
        (!is_equal).then(|| format!("{line}: {theirs:?}, not {message}"))
    });
    say(&format!("option cases compared with the installed cryptsetup: {}", cases.len()));
    assert!(cases.len() > 300, "{}", cases.len());
    let newer: Vec<_> =
        others.iter().filter(|line| !NEWER_RULES.iter().any(|rule| line.contains(rule))).collect();
    assert!(newer.is_empty(), "{newer:#?}");
}

/// Prints a line that the test harness does not capture, for those who run `./dev test cli`.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// What `check` says of each case, four cases at a time, in the order of the cases.
fn in_four_parts<C: Sync, T: Send>(cases: &[C], check: impl Fn(&C) -> Option<T> + Sync) -> Vec<T> {
    let check = &check;
    std::thread::scope(|scope| {
        let parts: Vec<_> = cases
            .chunks(cases.len().div_ceil(4).max(1))
            .map(|part| scope.spawn(move || part.iter().filter_map(check).collect::<Vec<T>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// Options that are parsed for what is not built: the command says so by name, changes nothing, and
/// says what works instead.
#[test]
fn what_is_not_built_is_refused_by_name_and_says_what_works() {
    let scratch = Scratch::new();
    let program = called_as_cryptsetup(&scratch);
    let file = scratch.path("DEV");
    std::fs::write(&file, vec![0; 4096]).unwrap();
    for (line, words) in [
        ("luksFormat -q DEV --integrity hmac-sha256", ["--integrity", "without it"]),
        ("luksFormat -q DEV --hw-opal", ["--hw-opal", "encryption by software works"]),
        ("luksFormat -q DEV --hw-opal-only", ["--hw-opal-only", "encryption by software works"]),
        ("erase -q DEV --hw-opal-factory-reset", ["--hw-opal-factory-reset", "nothing was changed"]),
        ("open DEV n --type verity", ["type verity", "veritysetup opens them"]),
        ("open DEV n --type integrity", ["type integrity", "integritysetup opens them"]),
    ] {
        let outcome = Run::new(&program, line).directory(parent(&file)).fails(1);
        for word in words {
            assert!(outcome.errors().contains(word), "{word}\n{outcome}");
        }
        assert_eq!(outcome.errors().lines().count(), 1, "{outcome}");
        assert_eq!(std::fs::read(&file).unwrap(), vec![0; 4096], "{line}");
    }
}

fn parent(file: &Path) -> &Path {
    file.parent().unwrap()
}
