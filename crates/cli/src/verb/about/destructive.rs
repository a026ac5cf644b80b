//! What each command can destroy, and what it checks first: one table for all commands.
//!
//! A command that deletes, overwrites, mounts, unmounts or replaces has one row for each way to do
//! so; a test here fails for a command without a row. `keyway effects` prints the table. Another
//! test reads that output, and tries each row's line on a mounted device and on the file behind it:
//! nothing may change.

/// The effect on something that another user or program may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Looks,
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
    /// Nothing needs to be checked.
    None,
    /// No other program uses it, or can claim it before the last write
    /// (`keyway_volume::device::storage::Exclusive`, `InUse`).
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

/// A way in which a command can destroy something.
pub(crate) struct Row {
    /// The command, with its verb.
    pub(crate) command: &'static str,
    /// The operand or option that names what is at risk; empty when nothing is.
    pub(crate) place: &'static str,
    pub(crate) effect: Effect,
    pub(crate) proof: Proof,
    /// Arguments that try the effect on TARGET, which is in use: they must be refused. VOLUME is a
    /// volume, BACKUP its header, KEY its key file, RAW an image, PLACE the directory where TARGET
    /// is mounted, EMPTY an empty directory, NEW an unused name. Empty if no line can try it
    /// safely; another test does so then.
    pub(crate) attempt: &'static str,
}

const fn looks(command: &'static str) -> Row {
    Row { command, place: "", effect: Effect::Looks, proof: Proof::None, attempt: "" }
}

const fn row(
    command: &'static str,
    place: &'static str,
    effect: Effect,
    proof: Proof,
    attempt: &'static str,
) -> Row {
    Row { command, place, effect, proof, attempt }
}

use Effect::{Deletes, Edits, Mounts, Overwrites, Replaces, Unmounts};
use Proof::{Claim, EmptyDirectory, FirstProcess, Header, Mapping, NewName, Session};

/// All rows, in the order of `keyway --help`.
#[rustfmt::skip]
pub(crate) static ROWS: &[Row] = &[
    looks("inspect"),
    row("read", "--output DEVICE", Overwrites, Claim, "read VOLUME -d KEY -o TARGET"),
    row("read", "--output FILE", Replaces, NewName, "read VOLUME -d KEY --force -o TARGET"),
    row("write", "VOLUME", Overwrites, Claim, "write --type plain -c aes-xts-plain64 -s 512 -d KEY TARGET RAW"),
    looks("compare"),
    row("mount", "VOLUME", Mounts, Claim, "mount --type plain -c aes-xts-plain64 -s 512 -d KEY TARGET EMPTY"),
    row("mount", "DIR", Mounts, EmptyDirectory, "mount -d KEY VOLUME TARGET"),
    row("umount", "PLACE, a session's", Unmounts, Session, "umount --wait 0 PLACE"),
    row("umount", "PLACE, a file system in a session's file", Unmounts, Session, ""),
    row("build", "OUT", Overwrites, Claim, "build -q -d KEY RAW TARGET"),
    row("build", "OUT", Replaces, NewName, "build -q --force -d KEY RAW TARGET"),
    row("copy", "DESTINATION", Overwrites, Claim, "copy -q -d KEY --new-keyfile KEY VOLUME TARGET"),
    row("copy", "DESTINATION", Replaces, NewName, "copy -q --force -d KEY --new-keyfile KEY VOLUME TARGET"),
    row("copy", "--to raw DESTINATION", Overwrites, Claim, "copy -q --to raw -d KEY VOLUME TARGET"),
    row("copy", "--to raw DESTINATION", Replaces, NewName, "copy -q --to raw --force -d KEY VOLUME TARGET"),
    row("seal", "DEVICE", Edits, Header, "seal -d KEY TARGET"),
    row("serve", "VOLUME...", Mounts, Claim, "serve --type plain -c aes-xts-plain64 -s 512 -d KEY --socket NEW TARGET"),
    row("serve", "--socket PATH", Replaces, NewName, "serve -d KEY --socket TARGET VOLUME"),
    row("list", "dead sessions", Deletes, Session, ""),
    row("unlock", "VOLUME", Mounts, Claim, ""),
    row("unlock", "VOLUME, marked", Overwrites, Claim, ""),
    row("unlock --init", "/", Deletes, FirstProcess, ""),
    looks("ciphers"),
    row("bench", "--save FILE", Replaces, NewName, ""),
    row("bench disk", "TARGET", Overwrites, Claim, "bench disk -q --time 1 TARGET"),
    looks("xray"),
    row("passport", "--apply", Edits, Header, "passport --apply -q -d KEY --target grub-2.12 --within 4s TARGET"),
    row("boot initramfs", "--output FILE", Replaces, NewName, ""),
    row("boot fit", "--output FILE", Replaces, NewName, ""),
    row("boot script", "--output FILE", Replaces, NewName, "boot script RAW -o TARGET"),
    row("boot uki", "--output FILE", Replaces, NewName, ""),
    looks("boot check"),
    row("luksFormat", "DEVICE", Overwrites, Claim, "luksFormat -q --type luks1 TARGET KEY"),
    row("luksFormat", "--header FILE", Overwrites, Claim, "luksFormat -q --type luks1 --header TARGET RAW KEY"),
    row("open", "DEVICE", Mounts, Claim, "open --type plain -c aes-xts-plain64 -s 512 -d KEY --backend nbd TARGET keyway-attempt"),
    row("close", "NAME", Unmounts, Mapping, "close TARGET"),
    row("close", "NAME", Unmounts, Session, "close PLACE"),
    looks("status"),
    row("resize", "NAME", Mounts, Mapping, "resize --size 8 TARGET"),
    row("refresh", "NAME", Mounts, Mapping, "refresh -d KEY TARGET"),
    row("luksSuspend", "NAME", Mounts, Mapping, "luksSuspend TARGET"),
    row("luksResume", "NAME", Mounts, Mapping, "luksResume -d KEY TARGET"),
    row("luksDump", "DEVICE, a damaged copy of its header", Edits, Header, "luksDump TARGET"),
    row("luksAddKey", "DEVICE", Edits, Header, "luksAddKey -q -d KEY TARGET KEY"),
    row("luksChangeKey", "DEVICE", Edits, Header, "luksChangeKey -q -d KEY TARGET KEY"),
    row("luksRemoveKey", "DEVICE", Edits, Header, "luksRemoveKey -q TARGET KEY"),
    row("luksKillSlot", "DEVICE", Edits, Header, "luksKillSlot -q TARGET 0"),
    row("luksConvertKey", "DEVICE", Edits, Header, "luksConvertKey -q -d KEY TARGET"),
    row("erase", "DEVICE", Edits, Header, "erase -q TARGET"),
    row("luksUUID", "--uuid, DEVICE", Edits, Header, "luksUUID -q --uuid 6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1 TARGET"),
    looks("isLuks"),
    row("luksHeaderBackup", "--header-backup-file FILE", Replaces, NewName, "luksHeaderBackup VOLUME --header-backup-file TARGET"),
    row("luksHeaderRestore", "DEVICE", Overwrites, Claim, "luksHeaderRestore -q TARGET --header-backup-file BACKUP"),
    row("config", "DEVICE", Edits, Header, "config -q --label label TARGET"),
    row("token", "DEVICE", Edits, Header, "token remove -q --token-id 0 TARGET"),
    row("reencrypt", "DEVICE", Overwrites, Claim, "reencrypt -q -d KEY TARGET"),
    row("reencrypt", "--encrypt DEVICE", Overwrites, Claim, "reencrypt -q -d KEY --encrypt --reduce-device-size 32M TARGET"),
    row("reencrypt", "--header-backup-file FILE", Replaces, NewName, "reencrypt -q -d KEY --header-backup-file TARGET VOLUME"),
    row("reencrypt", "the header backup that it made", Deletes, Header, ""),
    row("convert", "DEVICE", Overwrites, Claim, "convert -q --type luks2 TARGET"),
    row("repair", "DEVICE", Edits, Header, "repair -q TARGET"),
    row("repair", "DEVICE, over a file system", Overwrites, Claim, ""),
    looks("benchmark"),
    looks("tcryptDump"),
    looks("bitlkDump"),
    looks("fvault2Dump"),
    row("man", "--output DIR, pages of its own names", Replaces, NewName, "man --output TARGET"),
    looks("completions"),
    looks("effects"),
];

/// The table, one row per line, with cells separated by tabs: command, place, effect, proof,
/// attempt.
pub(crate) fn text() -> String {
    let rows = ROWS.iter().map(|row| {
        let Row { command, place, effect, proof, attempt } = row;
        format!("{command}\t{place}\t{effect:?}\t{proof:?}\t{attempt}\n")
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    fn rows_of(command: &str) -> impl Iterator<Item = &'static Row> {
        ROWS.iter().filter(move |row| row.command.split(' ').next() == Some(command))
    }

    #[test]
    fn every_command_has_a_row_and_every_row_a_command() {
        for command in COMMANDS.all {
            assert!(rows_of(command.name).next().is_some(), "{} has no row in destructive.rs", command.name);
        }
        let known = |row: &Row| {
            COMMANDS.all.iter().any(|command| row.command.split(' ').next() == Some(command.name))
        };
        let left_out = |row: &Row| COMMANDS.left_out.iter().any(|name| row.command.starts_with(name));
        for row in ROWS {
            assert!(known(row) || left_out(row), "{} is no command", row.command);
        }
    }

    #[cfg(feature = "desk")]
    #[test]
    fn every_verb_of_boot_has_a_row() {
        let boot = COMMANDS.all.iter().find(|command| command.name == "boot").unwrap();
        for verb in boot.verbs() {
            let name = format!("boot {}", verb.name);
            assert!(ROWS.iter().any(|row| row.command == name), "{name} has no row in destructive.rs");
        }
    }

    #[test]
    fn who_destroys_proves_that_it_may() {
        for row in ROWS {
            let harmless = row.effect == Effect::Looks;
            assert_eq!(row.proof == Proof::None, harmless, "{} {}", row.command, row.place);
            assert_eq!(row.place.is_empty(), harmless, "{}", row.command);
            let command = row.command.split(' ').next().unwrap_or_default();
            if !row.attempt.is_empty() {
                assert!(row.attempt.starts_with(command), "{}", row.attempt);
                assert!(["TARGET", "PLACE"].iter().any(|it| row.attempt.contains(it)), "{}", row.attempt);
            }
            let elsewhere = ["unlock", "repair"].contains(&row.command);
            if matches!((row.effect, row.proof), (Overwrites, _) | (_, Claim)) && !elsewhere {
                assert!(!row.attempt.is_empty(), "{} {} is tried by nothing", row.command, row.place);
            }
        }
    }

    #[test]
    fn the_table_is_printed_whole() {
        assert_eq!(text().lines().count(), ROWS.len());
        assert!(text().starts_with("inspect\t\tLooks\tNone\t\n"));
        assert!(text().contains("\nseal\tDEVICE\tEdits\tHeader\tseal -d KEY TARGET\n"));
    }
}
