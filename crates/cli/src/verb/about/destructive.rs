//! What each command can destroy, and what it proves before it does: the one table of all of them.
//!
//! Whatever deletes, overwrites, mounts, unmounts or replaces has a row a way to do so; a command
//! without a row fails a test here. `keyway effects` prints the table. Another test reads that, and
//! tries each row's line on a device that is mounted and on the file behind it: nothing may change.

/// What is done to something that somebody may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Looks,
    /// A LUKS header is changed.
    Edits,
    /// A file, a device or an export, or data in it, is written over.
    Overwrites,
    /// A file appears, or takes the place of another.
    Replaces,
    /// It is mounted, mapped or served, or a mapping gets another table.
    Mounts,
    /// It is taken away from whoever uses it.
    Unmounts,
    /// Files go.
    Deletes,
}

/// What is proven first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing is to be proven.
    None,
    /// Nobody else uses it, nor gets it before the last write
    /// (`keyway_volume::storage::Exclusive`, `InUse`).
    Claim,
    /// The LUKS header that is changed is there, and the one that was
    /// read, under its lock (`Luks::lock_for_edit`).
    Header,
    /// There is no file of that name; or it is to be replaced
    /// (--force), and nobody uses it (`Creation`).
    NewName,
    /// It is an empty directory of this user's (`fuse::check`).
    EmptyDirectory,
    /// The mapping is Keyway's or cryptsetup's.
    Mapping,
    /// The session is this user's, and its lock says whether it lives.
    Session,
    /// This is the first process, on a ramdisk, with the root that it goes on with mounted.
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
    /// Arguments that try it on TARGET, which is in use: they must be refused. VOLUME is a
    /// volume, BACKUP its header, KEY its key file, RAW an image, PLACE the directory where
    /// TARGET is mounted, EMPTY one with nothing in it, NEW a name that nothing has. Empty where
    /// no line can try it safely; another test does then.
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
    row("convert", "DEVICE", Overwrites, Claim, "convert -q --type luks2 TARGET"),
    row("repair", "DEVICE", Edits, Header, "repair -q TARGET"),
    row("repair", "DEVICE, over a file system", Overwrites, Claim, ""),
    looks("benchmark"),
    looks("reencrypt"),
    looks("tcryptDump"),
    looks("bitlkDump"),
    looks("fvault2Dump"),
    row("man", "DIR, pages of its own names", Replaces, NewName, "man TARGET"),
    looks("completions"),
    looks("effects"),
];

/// The table, a row a line, its cells apart by tabs: command, place, effect, proof, attempt.
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
    fn a01_every_command_has_a_row_and_every_row_a_command() {
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
    fn a01_every_verb_of_boot_has_a_row() {
        for verb in crate::verb::BOOT_VERBS {
            let name = format!("boot {verb}");
            assert!(ROWS.iter().any(|row| row.command == name), "{name} has no row in destructive.rs");
        }
    }

    #[test]
    fn a01_who_destroys_proves_that_it_may() {
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
    fn a01_the_table_is_printed_whole() {
        assert_eq!(text().lines().count(), ROWS.len());
        assert!(text().starts_with("inspect\t\tLooks\tNone\t\n"));
        assert!(text().contains("\nseal\tDEVICE\tEdits\tHeader\tseal -d KEY TARGET\n"));
    }
}
