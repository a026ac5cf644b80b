//! Words that users of other programs type as commands, and what they find here.

/// What to use for a word that is no command, as the end of a sentence.
pub(super) fn hint(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let (_, name, does) = HABITS.iter().find(|(words, ..)| words.contains(&word.as_str()))?;
    Some(format!("\"{name}\" {does}."))
}

/// Words in lower case, the command or option, and what it does.
static HABITS: &[(&[&str], &str, &str)] = &[
    (&["version"], "--version", "shows the version"),
    (&["usage"], "--help", "lists the commands"),
    (&["ls", "lsblk", "ps", "losetup", "dmsetup", "mounts"], "list", "shows what is open, and where"),
    (&["info", "show", "probe", "blkid", "file", "stat"], "inspect", "shows what a volume is"),
    (&["dump", "dumpheader"], "luksDump", "shows a header, \"inspect\" a volume at a glance"),
    (
        &["keys", "slots", "keyslots", "list-keys", "listkeys", "list-slots", "list-keyslots"],
        "inspect",
        "lists keyslots",
    ),
    (
        &["format", "mkfs", "new", "init", "encrypt", "make"],
        "luksFormat",
        "makes a volume, \"build\" one of an image",
    ),
    (&["unmount", "eject"], "umount", "unmounts a volume that \"mount\" shows"),
    (&["map", "attach", "decrypt"], "open", "opens a volume, \"read\" prints its content"),
    (&["unmap", "detach", "lock", "disconnect", "stop"], "close", "closes an open volume"),
    (&["add", "addkey", "add-key", "add-passphrase", "enroll", "newkey"], "luksAddKey", "adds a passphrase"),
    (
        &["passwd", "password", "passphrase", "changekey", "change-key", "chpasswd"],
        "luksChangeKey",
        "changes a passphrase",
    ),
    (
        &[
            "removekey",
            "remove-key",
            "rmkey",
            "rm-key",
            "delkey",
            "del-key",
            "deletekey",
            "delete-key",
            "luksdeletekey",
            "luksrmkey",
        ],
        "luksRemoveKey",
        "removes a passphrase, \"luksKillSlot\" a keyslot by its number",
    ),
    // cryptsetup's own name for it, before 1.2.
    (&["luksdelkey"], "luksKillSlot", "removes a keyslot by its number, \"luksRemoveKey\" by its passphrase"),
    (&["reload"], "refresh", "reloads an open volume with other flags"),
    (&["killslot", "kill-slot", "wipe-slot"], "luksKillSlot", "removes a keyslot"),
    (&["wipe", "shred", "destroy", "nuke", "wipefs"], "erase", "removes all keyslots"),
    (&["backup", "save-header"], "luksHeaderBackup", "saves the header"),
    (&["restore", "load-header"], "luksHeaderRestore", "writes a saved header back"),
    (&["suspend", "pause", "freeze"], "luksSuspend", "suspends an open volume"),
    (&["resume", "continue", "thaw"], "luksResume", "resumes a suspended volume"),
    (&["uuid"], "luksUUID", "shows or changes the UUID"),
    (&["label", "rename", "tune", "set"], "config", "sets labels and priorities"),
    (&["cat", "dd", "extract"], "read", "prints or saves a volume's content"),
    (&["cp", "clone", "rekey"], "copy", "copies a volume, reencrypted or to raw"),
    (&["export", "nbd", "server", "share"], "serve", "serves volumes over NBD"),
    (&["diff", "cmp", "verify"], "compare", "compares a volume with an image"),
    (&["fsck", "fix"], "repair", "repairs a header"),
    (&["grow", "shrink", "extend"], "resize", "resizes an open volume"),
    (&["algorithms", "cipher", "cyphers"], "ciphers", "lists ciphers"),
    (&["speed", "perf", "speedtest"], "bench", "measures ciphers and disks"),
    (
        &["initramfs", "initrd", "mkinitcpio", "dracut", "grub"],
        "boot",
        "makes initramfs images and checks loaders",
    ),
    (&["completion", "complete"], "completions", "prints the completions of a shell"),
    (&["manual", "manpage", "docs"], "man", "shows the manual"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn habits_are_no_commands_and_name_what_exists() {
        let is_command = |name: &str| {
            COMMANDS.all.iter().any(|command| command.answers_to(name)) || COMMANDS.left_out.contains(&name)
        };
        let mut seen = Vec::new();
        for (words, name, does) in HABITS {
            assert!(name.starts_with("--") || is_command(name), "{name}");
            for named in does.split('"').skip(1).step_by(2) {
                assert!(is_command(named), "{named}");
            }
            for word in *words {
                assert!(!is_command(word), "{word} is a command");
                assert_eq!(*word, word.to_lowercase());
                assert!(!seen.contains(word), "{word} twice");
                seen.push(word);
            }
        }
    }
}
