//! The directory in which lines are run: the files that they name, and volumes already open.

use super::files::Files;
use super::tables::{ANSWERED, ANSWERS, BEFORE, PLACEHOLDERS, Way};
use keyway_tests::peers::{CHEAP_ARGON2, program};
use keyway_tests::run::{Outcome, Run};
use keyway_tests::{Scratch, peer, programs};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

/// Runs lines, each block of them in a directory of its own.
pub(super) struct Place {
    files: Files,
    /// Holds `keyway` as the lines call it.
    programs: PathBuf,
}

/// New keyslots cost little, and measurements take a second, where the line does not say otherwise.
const PROGRAM: &str = r#"#!/bin/sh
case " $* " in
*" --help "* | *" --test-args "* | " man "*) ;;
*" --pbkdf-force-iterations "* | *" --iter-time "* | *" --iter-time-for "* | *" --to raw "* | *" --to veracrypt "*) ;;
*" luksFormat "* | *" build "* | *" copy "* | *" luksAddKey "* | *" luksChangeKey "*) set -- "$@" CHEAP ;;
*" bench diff "* | *" bench merge "* | *" --resume "*) ;;
*" bench kdf "*) set -- "$@" --time 1 --pbkdf-memory 64 ;;
*" bench "*) set -- "$@" --time 1 ;;
esac
exec 'REAL'/"${0##*/}" "$@" $KEYWAY_MORE
"#;

/// The script's own limit comes first: it ends what the lines have started, too.
const LIMIT: Duration = Duration::from_secs(600);

/// What the lines leave open is closed at their end (root is shown what others have open, too), and then the servers
/// behind it are stopped.
const PROLOGUE: &str = r#"set -e
started=
finish() {
    fusermount3 -u -z files 2>/dev/null || :
    for name in $(keyway list --json | jq -r '.volumes[].name'); do
        [ ! -d "$XDG_RUNTIME_DIR/keyway/$name" ] || keyway close "$name"
    done
    [ -z "$started" ] || kill $started
}
# A service is ended when it says that it serves.
serve() {
    "$@" <"$ORIGINALS/answers" >said &
    started=$!
    until grep -q ^Serving said; do kill -0 $started || exit 99; sleep 0.05; done
    kill $started
    wait $started || { echo "the service ended with $?" >&2; exit 99; }
    started=
}
trap finish EXIT
"#;

impl Place {
    pub(super) fn new() -> Self {
        let files = Files::new();
        let programs = files.path("programs");
        fs::create_dir(&programs).unwrap();
        let real = files.path("real");
        fs::create_dir(&real).unwrap();
        let script = PROGRAM.replace("CHEAP", CHEAP_ARGON2).replace("REAL", real.to_str().unwrap());
        for name in ["keyway", "cryptsetup"] {
            symlink(fs::canonicalize(program()).unwrap(), real.join(name)).unwrap();
            programs::script(programs.join(name), &script);
        }
        Self { files, programs }
    }

    /// Runs the lines one after the other. Those that cannot run are only parsed.
    pub(super) fn run(&self, lines: &[String]) -> Result<(), String> {
        let scratch = Scratch::new();
        fs::set_permissions(scratch.root(), Permissions::from_mode(0o700)).unwrap();
        let at = scratch.root().display().to_string();
        let lines: Vec<&String> = lines.iter().filter(|line| matches!(Way::of(line), Way::Run)).collect();
        let typed: Vec<String> = lines.iter().map(|line| resolved(line).replace("$PWD", &at)).collect();
        self.files.provide(&typed, &scratch);
        let before = BEFORE.iter().find(|(text, _)| typed[0].contains(text)).map_or("", |(_, before)| before);
        self.files.provide(&[before.to_owned()], &scratch);
        let mut script = PROLOGUE.to_owned();
        for line in before.lines().chain(typed.iter().map(String::as_str)) {
            script += &step(line);
        }
        let outcome = self.shell(&scratch, &script).outcome();
        done(&outcome)
    }

    /// Gives the line to the parser alone.
    pub(super) fn parse(&self, line: &str) -> Result<(), String> {
        let line = resolved(line);
        if !line.starts_with("keyway ") {
            return Ok(());
        }
        done(&self.shell(&Scratch::new(), &line).env("KEYWAY_MORE", "--test-args").outcome())
    }

    /// Asks for the help of the line's command: it has the line's options.
    pub(super) fn mentioned(&self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let help = self.shell(&Scratch::new(), &format!("keyway {} --help-all", words[1])).outcome();
        let options = words.iter().filter(|word| word.starts_with("--") && !word.contains('{'));
        let missing: Vec<_> = options.filter(|option| !help.text().contains(**option)).collect();
        if missing.is_empty() { done(&help) } else { Err(format!("{missing:?} are missing\n{help}")) }
    }

    fn shell(&self, scratch: &Scratch, script: &str) -> Run {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}:/usr/sbin:/sbin", self.programs.display());
        let run = peer("timeout", "--kill-after=1 300 sh -c")
            .limit(LIMIT)
            .arg(script)
            .directory(scratch.root())
            .env("PATH", path);
        let run = run.env("XDG_RUNTIME_DIR", scratch.root()).env("HOME", scratch.root());
        run.env("ORIGINALS", self.files.path(""))
    }
}

/// The line with files for its placeholders.
fn resolved(line: &str) -> String {
    PLACEHOLDERS.iter().fold(line.to_owned(), |line, (text, typed)| line.replace(text, typed))
}

/// The line in a script: it reads the passphrase as often as it asks.
fn step(line: &str) -> String {
    let shown = format!("echo '+ {}' >&2\n", line.replace('\'', "'\\''"));
    if let Some(service) = line.strip_suffix(" &") {
        return format!("{shown}{service} &\nstarted=$!\nuntil [ -S vm.sock ]; do sleep 0.05; done\n");
    }
    if !line.contains(' ') {
        return format!("{shown}{line}\n");
    }
    if line.starts_with("keyway serve ") && !line.ends_with(" --help") {
        return format!("{shown}serve {line}\n");
    }
    let answers = ANSWERED.iter().find(|(text, _)| line.contains(text)).map_or("answers", |(_, file)| file);
    let codes = ANSWERS.iter().filter(|(text, _)| line.contains(text));
    let codes = codes.fold("0".to_owned(), |codes, (_, code)| format!("{codes}|{code}"));
    format!("{shown}{{ {line}\n}} <\"$ORIGINALS/{answers}\" || case $? in {codes}) ;; *) exit 99 ;; esac\n")
}

fn done(outcome: &Outcome) -> Result<(), String> {
    if outcome.code == Some(0) { Ok(()) } else { Err(outcome.to_string()) }
}
