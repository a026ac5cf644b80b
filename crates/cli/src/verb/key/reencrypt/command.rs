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
    man: "Gives a volume a new volume key and, with --cipher, --sector-size or --new-key-size, another \
          encryption, without a second disk. Passphrases stay: each is asked for, unless --key-slot names the \
          only one to keep, or a token leads to it (--token-id, --token-type, --token-only). A volume that is \
          open (keyway open, mount; as root, a mapping of the kernel's, too) stays in use meanwhile: \
          --active-name names it, or its device does; a request to the part that is being written waits a \
          moment. Otherwise the volume must not be in use.\n\nIt may be stopped at any moment, by Ctrl-C or \
          by a power failure: the same command resumes it, and so does cryptsetup. --resilience protects the \
          part being written at that moment: checksum (a hash of each old sector, at almost no cost), journal \
          (a copy), or none. A smaller --device-size when resuming gives up all data beyond it, after a \
          question.\n\nBefore it begins, the header is backed up to a file LUKS-UUID-before-reencrypt.header \
          of the current directory (--header-backup-file names another). luksHeaderRestore accepts it until \
          data has changed; later it opens only the part not reencrypted yet, and finally nothing. It has the \
          old volume key: when the reencryption is complete, the file is removed, unless --keep-header-backup \
          is given. A command that resumes finds it by its name.\n\n--estimate changes nothing: it says how \
          long it would take, what would be read and written, what a crash could cost with this --resilience, \
          and whether the header backup fits. Samples of the device are read, and the ciphers run on this \
          CPU; writing is not tried on your data but estimated from reading, so the time is a \
          range.\n\n--encrypt turns the content of the device into a volume. Either the header is on another \
          device (--header), or the last 32 MiB of the device are free and --reduce-device-size 32M moves the \
          data back to make room: shrink the file system first. With a NAME after the device, the volume is \
          opened under it, as open does, as soon as the encryption has begun, and can be used during the \
          rest; with --init-only as well, the rest is left to --resume-only --active-name NAME. If a \
          reencryption is already under way, a NAME is refused.\n\n--decrypt turns a volume into plaintext. \
          --header names the file that holds the header meanwhile: with a file that does not exist, the \
          header is moved there and the data moves to the start of the device. The volume can stay in use \
          from the start only if its header is already elsewhere; if data moves, --init-only begins while \
          nobody uses it, and --resume-only continues in use.\n\nA LUKS1 header has no room for the state: \
          while a LUKS1 volume changes, state and both headers are in files LUKS-UUID.* in the current \
          directory, and the same command resumes there. For LUKS1, --key-size and --volume-key-file describe \
          the new volume key, and --decrypt needs no --header (--decrypt --uuid UUID resumes). --encrypt \
          --type luks1 makes a LUKS1 volume.",
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
            "Option --skip-unused cannot be combined with --init-only: give it to the command that resumes.",
        ),
    ],
    examples: &[
        Example {
            line: "keyway reencrypt disk.img",
            does: "A new volume key. If it is stopped, the same line resumes.",
        },
        Example {
            line: "keyway reencrypt --active-name home",
            does: "The same while the volume is open as home, and in use.",
        },
        Example {
            line: "keyway reencrypt --encrypt --reduce-device-size 32M disk.img",
            does: "Encrypt its content; the last 32 MiB must be free.",
        },
        Example { line: "keyway reencrypt --estimate disk.img", does: shared::examples::ESTIMATES },
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
