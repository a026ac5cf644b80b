//! What the command takes, and what its page says.

use super::{Asked, unused};
use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Command, Example, Group, Offers, Operand, Topic, groups, shared};

/// `keyway reencrypt`.
pub(crate) static COMMAND: Command = Command {
    name: "reencrypt",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Volumes),
    operands: &[
        Operand { name: "DEVICE", required: false, help: "The volume.", offers: Offers::Files },
        Operand {
            name: "NAME",
            required: false,
            help: "With --encrypt: open it under this name.",
            offers: Offers::Nothing,
        },
    ],
    about: "Change the volume key or the cipher in place.",
    man: "Gives a volume a new volume key and, with --cipher, --sector-size or --new-key-size, another encryption, \
          without a second disk. Passphrases stay: each is asked for, unless --key-slot names the only one to keep, or a token \
          leads to it (--token-id, --token-type, --token-only). \
          A volume that is open (keyway open, mount; as root, a mapping of the kernel's, too) stays in use meanwhile: \
          --active-name names it, or its device does; a request to the part that is being written waits a \
          moment. Otherwise the volume must not be in \
          use.\n\nIt may be stopped at any moment, by Ctrl-C or by a power failure: the same \
          command goes on from there, and so does cryptsetup. What is being written at that moment is protected by \
          --resilience: checksum (a hash of each sector as it was, next to no cost), journal (a copy), or none. A smaller \
          --device-size on the way gives up all data behind it, after a question.\n\n\
          Before it begins, the header is backed up to a file LUKS-UUID-before-reencrypt.header of the current directory \
          (--header-backup-file names another). luksHeaderRestore takes it until data has changed; later it opens only \
          what has not been reencrypted yet, and in the end nothing. It has the old volume key: when the reencryption is \
          complete, the file is removed, unless --keep-header-backup is given. What goes on finds it by its \
          name.\n\n--estimate changes nothing: it says how long it would take, what would be read and written, what a crash \
          could cost with this --resilience, and whether the header backup fits. Samples of the device are read, and the \
          ciphers run on this CPU; writing is not tried on your data, so its speed is a share of reading's, and the time \
          an interval.\n\n\
          --encrypt turns what is on the device into a volume. Either the header is on another device (--header), or \
          the last 32 MiB of the device are free and --reduce-device-size 32M moves the data back to make room: \
          shrink the file system first. With a NAME behind the device, the volume is opened under it as soon as the \
          encryption has begun, as open does, and all the rest is done in use; with --init-only, too, \
          that is left to --resume-only --active-name NAME. Where something is under way already a NAME is refused.\n\n--decrypt turns a volume into plaintext. --header names the file that \
          holds the header meanwhile: with a file that does not exist, the header is moved there and the data moves \
          to the start of the device. Only where the header is elsewhere already can the volume stay in use from the start; \
          where data moves, --init-only begins, and --resume-only goes on in use.\n\nLUKS1 has no room for any of this: while a LUKS1 volume changes, its state and \
          both its headers are in files LUKS-UUID.* of the current directory, from where the same command goes on. \
          --key-size and --volume-key-file are of the new volume key there, and --decrypt needs no --header \
          (--decrypt --uuid UUID goes on). --encrypt --type luks1 makes a LUKS1 volume.",
    options: &[
        &[
            &shared::ENCRYPT,
            &shared::DECRYPT,
            &shared::NEW,
            &shared::INIT_ONLY,
            &shared::RESUME_ONLY,
            &shared::ACTIVE_NAME,
            &shared::HEADER,
            &shared::RESILIENCE,
            &shared::RESILIENCE_HASH,
            &shared::HOTZONE_SIZE,
            &shared::REDUCE_DEVICE_SIZE,
            &shared::DEVICE_SIZE,
            &shared::LIMIT_RATE,
            &shared::HEADER_BACKUP_FILE,
            &shared::KEEP_HEADER_BACKUP,
            &shared::NO_HEADER_BACKUP,
            &shared::ESTIMATE,
            &shared::JSON,
            &shared::IF_MARKED,
            &unused::SKIP_UNUSED,
            &unused::DISCARD_UNUSED,
            &shared::KEEP_KEY,
            &shared::NEW_KEY_SIZE,
            &shared::KEY_SLOT,
            &shared::VOLUME_KEY_FILE,
            &shared::VOLUME_KEY_KEYRING,
            &shared::WEAK_CIPHER,
            &shared::KEY_DESCRIPTION,
            &shared::NEW_VOLUME_KEY_FILE,
            &shared::NEW_VOLUME_KEY_KEYRING,
            &shared::FORCE_OFFLINE_REENCRYPT,
            &shared::FORCE_NO_KEYSLOTS,
            &shared::BLOCK_SIZE,
            &shared::USE_DIRECTIO,
            &shared::USE_FSYNC,
            &shared::WRITE_LOG,
            &shared::WITHOUT_FLUSH,
            &shared::DISABLE_BLKID,
            &shared::USE_RANDOM,
            &shared::USE_URANDOM,
        ],
        groups::KEY_INPUT,
        groups::TOKENS,
        groups::KDF,
        groups::KEYSLOT,
        groups::NEW_VOLUME,
        groups::LIMITS,
        groups::PROGRESS,
        &[&shared::TRIES, &shared::DISABLE_LOCKS],
    ],
    rules: &[
        Rule::line(
            |a| a.given(&shared::ACTIVE_NAME) && a.kind() == Some("luks1"),
            "Option --active-name can be set only for LUKS2 device.",
        ),
        Rule::excludes(&shared::ACTIVE_NAME, &[&shared::FORCE_OFFLINE_REENCRYPT]),
        Rule::excludes(&shared::NEW_VOLUME_KEY_FILE, &[&shared::KEEP_KEY]),
        Rule::excludes(&shared::NEW_VOLUME_KEY_KEYRING, &[&shared::KEEP_KEY]),
        Rule::excludes(
            &shared::NO_HEADER_BACKUP,
            &[&shared::KEEP_HEADER_BACKUP, &shared::HEADER_BACKUP_FILE],
        ),
        // A mark asks for another volume key, and for nothing else.
        Rule::excludes(
            &shared::IF_MARKED,
            &[&shared::ENCRYPT, &shared::NEW, &shared::DECRYPT, &shared::KEEP_KEY, &shared::ESTIMATE],
        ),
        Rule::needs(&unused::DISCARD_UNUSED, &unused::SKIP_UNUSED),
        Rule::excludes(&unused::SKIP_UNUSED, &[&shared::INIT_ONLY]).saying(
            "Option --skip-unused cannot be combined with --init-only: give it to the command that goes on.",
        ),
    ],
    examples: &[
        Example {
            line: "keyway reencrypt disk.img",
            does: "A new volume key. If it is stopped, the same line goes on.",
        },
        Example {
            line: "keyway reencrypt --active-name home",
            does: "The same while the volume is open as home, and in use.",
        },
        Example {
            line: "keyway reencrypt --encrypt --reduce-device-size 32M disk.img",
            does: "Encrypt what is on it; the last 32 MiB must be free.",
        },
        Example {
            line: "keyway reencrypt --estimate disk.img",
            does: "How long it would take; nothing is changed.",
        },
    ],
    risks: &[
        risk("DEVICE", Effect::Overwrites, Proof::Claim, "reencrypt -q -d KEY TARGET"),
        risk(
            "--encrypt DEVICE",
            Effect::Overwrites,
            Proof::Claim,
            "reencrypt -q -d KEY --encrypt --reduce-device-size 32M TARGET",
        ),
        risk(
            "--header-backup-file FILE",
            Effect::Replaces,
            Proof::NewName,
            "reencrypt -q -d KEY --header-backup-file TARGET VOLUME",
        ),
        risk("the header backup that it made", Effect::Deletes, Proof::Header, ""),
    ],
    run: args::run::<Asked>,
};
