//! Which options there are.

/// The option that names a policy which the volume must meet. It follows the naming convention for
/// options that other programs ignore.
pub const REQUIRE: &str = "x-keyway.require";

/// The option that names the string which the volume's seal must be bound to.
pub const SEAL_CONTEXT: &str = "x-keyway.seal-context";

/// The option that names a file with that string.
pub const SEAL_CONTEXT_FILE: &str = "x-keyway.seal-context-file";

/// The option that says when a volume that waits for its first boot gets another volume key.
pub const REKEY: &str = "x-keyway.rekey";

/// Whether the option demands something of the volume. So does every word of ours that does not exist:
/// what is mistyped may have been a demand, and nothing opens a volume that it is written for.
pub fn is_demand(option: &str) -> bool {
    is_ours(option) && option != REKEY
}

/// Whether a word was meant as one of ours, on the kernel's command line or in a table: `keyway.…`, `X-Keyway-…`,
/// `rd.keyway_…`.
pub(crate) fn is_ours(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let word = word.strip_prefix("rd.").unwrap_or(&word);
    let word = word.strip_prefix("x-").unwrap_or(word);
    word.strip_prefix("keyway").is_some_and(|rest| rest.starts_with(['.', '-', '_']))
}

/// Whether a demand is written anywhere in the text, also where no option can be.
pub(crate) fn writes_demand(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || ",=:;".contains(c));
    words.filter(|word| word.starts_with(['x', 'X'])).any(is_demand)
}

/// Whether crypttab(5) or this program gives the option a meaning. Other programs' own options begin
/// with `x-`.
pub fn is_known(option: &str) -> bool {
    let ours = [REQUIRE, SEAL_CONTEXT, SEAL_CONTEXT_FILE, REKEY];
    if is_ours(option) {
        return ours.contains(&option);
    }
    option.starts_with("x-") || KNOWN.iter().any(|names| names.contains(&option))
}

/// Both manual pages' options, and those of the commands and the kernel's command line that stand
/// for them: of Debian's and systemd's, of Debian's alone, of systemd's alone, of Keyway's.
static KNOWN: [&[&str]; 4] = [
    &[
        "bitlk",
        "cipher",
        "discard",
        "hash",
        "header",
        "key-slot",
        "keyfile-offset",
        "keyfile-size",
        "luks",
        "no-read-workqueue",
        "no-write-workqueue",
        "noauto",
        "offset",
        "plain",
        "read-only",
        "readonly",
        "same-cpu-crypt",
        "sector-size",
        "size",
        "skip",
        "submit-from-crypt-cpus",
        "swap",
        "tcrypt",
        "tcrypt-hidden",
        "tcrypt-veracrypt",
        "tmp",
        "tries",
        "verify",
    ],
    &[
        "check",
        "checkargs",
        "fvault2",
        "initramfs",
        "keyscript",
        "keyslot",
        "loud",
        "lvm",
        "noearly",
        "quiet",
        "resumedev",
        "rootdev",
        "tcrypthidden",
        "tcryptsystem",
        "veracrypt",
    ],
    &[
        "_netdev",
        "fido2-cid",
        "fido2-device",
        "fido2-pin",
        "fido2-rp",
        "fido2-up",
        "fido2-uv",
        "fixate-volume-key",
        "headless",
        "keyfile-erase",
        "keyfile-timeout",
        "link-volume-key",
        "nofail",
        "password-cache",
        "password-echo",
        "pkcs11-uri",
        "tcrypt-keyfile",
        "tcrypt-system",
        "timeout",
        "token-timeout",
        "tpm2-device",
        "tpm2-measure-bank",
        "tpm2-measure-keyslot-nvpcr",
        "tpm2-measure-pcr",
        "tpm2-pcrlock",
        "tpm2-pcrs",
        "tpm2-pin",
        "tpm2-signature",
        "try-empty-password",
        "veracrypt-pim",
    ],
    &[
        "allow-vista",
        "allow-weak-cipher",
        "crypto",
        "loopaes",
        "perf-high_priority",
        "perf-no_read_workqueue",
        "perf-no_write_workqueue",
        "perf-same_cpu_crypt",
        "perf-submit_from_crypt_cpus",
    ],
];
