//! What a command puts at risk, and what it proves first: rows beside its options. `docs/EFFECTS.md`
//! shows them all; a test takes each row's attempt from there, and tries it on a mounted device and on
//! the file behind it: nothing may change.

use std::fmt;

/// A way in which a command can change something that another user or program may need.
#[derive(Debug)]
pub(crate) struct Risk {
    /// The verb of the command, if it has several.
    pub(crate) verb: &'static str,
    /// The operand or option that names what is at risk.
    pub(crate) place: &'static str,
    pub(crate) effect: Effect,
    pub(crate) proof: Proof,
    /// Arguments that try the effect on TARGET, which is in use: they must be refused. VOLUME is a
    /// volume, BACKUP its header, KEY its key file, RAW an image, PLACE the directory where TARGET
    /// is mounted, EMPTY an empty directory, NEW an unused name. Empty if no line can try it
    /// safely; another test does so then.
    #[cfg_attr(not(test), allow(dead_code, reason = "for the test that writes docs/EFFECTS.md"))]
    pub(crate) attempt: &'static str,
}

/// A risk of a command.
pub(crate) const fn risk(place: &'static str, effect: Effect, proof: Proof, attempt: &'static str) -> Risk {
    risk_of("", place, effect, proof, attempt)
}

/// A risk of one verb of a command.
pub(crate) const fn risk_of(
    verb: &'static str,
    place: &'static str,
    effect: Effect,
    proof: Proof,
    attempt: &'static str,
) -> Risk {
    Risk { verb, place, effect, proof, attempt }
}

/// What happens to what is at risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A LUKS header is changed.
    Edits,
    /// A file, a device or an export, or data in it, is overwritten.
    Overwrites,
    /// A file appears, or replaces another.
    Replaces,
    /// It is mounted, mapped or served, or a mapping gets another table.
    Mounts,
    /// It is taken away from the programs that use it.
    Unmounts,
    /// Files are deleted.
    Deletes,
}

/// What is checked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// No other program uses it, or can claim it before the last write
    /// (`keyway::storage::Exclusive`, `InUse`).
    Claim,
    /// The LUKS header to be changed exists and is still the one that was read, under its lock
    /// (`Luks::lock_for`).
    Header,
    /// There is no file of that name; or it is to be replaced (--force), and is not in use
    /// (`Creation`).
    NewName,
    /// It is an empty directory that belongs to this user (`fuse::check`).
    EmptyDirectory,
    /// The mapping was made by Keyway or cryptsetup.
    Mapping,
    /// The session is this user's, and its lock says whether it is alive.
    Session,
    /// This is the first process, on a ramdisk, and the root file system to continue with is
    /// mounted.
    FirstProcess,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, place, effect, proof, .. } = self;
        if !verb.is_empty() {
            write!(f, "{verb}: ")?;
        }
        write!(f, "{place}: {}, if {}.", effect.in_words(), proof.in_words())
    }
}

impl Effect {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Edits => "its header is changed",
            Self::Overwrites => "overwritten",
            Self::Replaces => "written, or replaced",
            Self::Mounts => "mounted, mapped or served",
            Self::Unmounts => "taken away from the programs that use it",
            Self::Deletes => "deleted",
        }
    }
}

impl Proof {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Claim => "no other program uses it, or can claim it before the last write",
            Self::Header => "it has a header, which is still the one that was read, under its lock",
            Self::NewName => "no file has that name, or --force was given and nobody uses the file",
            Self::EmptyDirectory => "it is an empty directory of yours",
            Self::Mapping => "Keyway or cryptsetup made the mapping",
            Self::Session => "the session is yours",
            Self::FirstProcess => "this is the first process, on a ramdisk, and the next root is mounted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;
    use crate::verb::COMMANDS;
    use std::fmt::Write as _;
    use std::path::Path;

    fn all() -> impl Iterator<Item = (&'static Command, &'static Risk)> {
        COMMANDS.all.iter().flat_map(|command| command.risks.iter().map(move |risk| (*command, risk)))
    }

    #[test]
    fn each_risk_is_tried_or_named_here() {
        for (command, Risk { verb, place, effect, proof, attempt }) in all() {
            assert!(!place.is_empty(), "{}", command.name);
            if !attempt.is_empty() {
                assert!(attempt.split(' ').next() == Some(command.name), "{attempt}");
                assert!(["TARGET", "PLACE"].iter().any(|it| attempt.contains(it)), "{attempt}");
            }
            // Tried in machines, and by the tests of `repair`.
            let elsewhere = ["unlock", "repair"].contains(&command.name);
            if matches!((effect, proof), (Effect::Overwrites, _) | (_, Proof::Claim)) && !elsewhere {
                assert!(!attempt.is_empty(), "{} {verb} {place} is tried by nothing", command.name);
            }
        }
    }

    #[cfg(feature = "tools")]
    #[test]
    fn risks_of_verbs_are_of_verbs_that_there_are() {
        for (command, risk) in all().filter(|(_, risk)| !risk.verb.is_empty()) {
            assert!(command.verbs().iter().any(|verb| verb.name == risk.verb), "{} {risk:?}", command.name);
        }
    }

    /// docs/EFFECTS.md has the rows as they are here; `KEYWAY_RENEW=1` writes them.
    #[cfg(feature = "tools")]
    #[test]
    fn the_page_has_every_row() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/EFFECTS.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let start = page.find(HEAD).expect("the table's head");
        let table = table();
        let renewed = format!("{}{table}", &page[..start]);
        if std::env::var_os("KEYWAY_RENEW").is_some() {
            std::fs::write(&path, renewed).unwrap();
            return;
        }
        assert!(
            page == renewed,
            "docs/EFFECTS.md is old: KEYWAY_RENEW=1 cargo test --release -p keyway-cli risk renews it"
        );
    }

    fn table() -> String {
        let mut text = format!("{HEAD}\n|---|---|---|---|---|\n");
        for (command, Risk { verb, place, effect, proof, attempt }) in all() {
            let space = if verb.is_empty() { "" } else { " " };
            let attempt = if attempt.is_empty() { String::new() } else { format!("`{attempt}`") };
            let _ = writeln!(
                text,
                "| {}{space}{verb} | {place} | {effect:?} | {proof:?} | {attempt} |",
                command.name
            );
        }
        let shown = COMMANDS.all.iter().filter(|command| command.risks.is_empty());
        let harmless: Vec<&str> = shown.map(|command| command.name).collect();
        text + "\nThese change nothing: " + &harmless.join(", ") + ".\n"
    }

    const HEAD: &str = "| Command | At risk | Effect | Proof | Tried by |";
}
