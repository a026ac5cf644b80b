//! `/etc/crypttab` and tables in the same format (Debian's `/cryptroot/crypttab`,
//! `/keyway/unlock.conf`): volumes to open, under names chosen by the machine's administrator.
//!
//! ```text
//! NAME  DEVICE  [KEY-FILE|none|-  [OPTION[=VALUE],…]]
//! ```
//! Fields are separated by spaces or tabs; within them a space is written as `\040`, a tab as
//! `\011`, a backslash as `\134`. Lines that are empty, start with # or lack a device are ignored.
//! Names and paths are bytes, as everywhere in Unix; options are text. Source: crypttab(5) of
//! Debian's cryptsetup and of systemd.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// A line of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the mapping.
    pub name: OsString,
    /// A path, or `UUID=`, `LABEL=` and the like.
    pub device: OsString,
    /// `None` if the passphrase is to be asked for.
    pub key_file: Option<OsString>,
    /// Options with their values; flags have empty values.
    pub options: Vec<(String, String)>,
}

impl Entry {
    /// The value of an option: "3" for "tries=3", "" for a flag.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The options that make a demand of the volume. Demands accumulate: one that is made in one place
    /// cannot be withdrawn in another.
    pub fn demands(&self) -> impl Iterator<Item = &(String, String)> {
        self.options.iter().filter(|(name, _)| is_demand(name))
    }

    /// Adds the demands that `other` makes and this entry does not make yet.
    pub fn demand_as(&mut self, other: &Self) {
        let new: Vec<_> = other.demands().filter(|demand| !self.options.contains(demand)).cloned().collect();
        self.options.extend(new);
    }

    /// What is to become of the volume if it waits for its first boot; an error is the word that means
    /// nothing.
    pub fn rekey(&self) -> Result<Rekey, &str> {
        match self.option(REKEY) {
            None | Some("" | "yes" | "before") => Ok(Rekey::Before),
            Some("after") => Ok(Rekey::After),
            Some("no") => Ok(Rekey::No),
            Some(other) => Err(other),
        }
    }

    /// Whether it gets a random key each time it is opened: a swap or a /tmp, which the system makes that starts.
    pub fn is_made_anew(&self) -> bool {
        self.key_file.as_deref().is_some_and(|file| RANDOM.iter().any(|random| file == *random))
    }

    /// The entry as a line of a table, without the newline.
    pub fn line(&self) -> Vec<u8> {
        let key_file = self.key_file.as_deref().unwrap_or("none".as_ref());
        let mut line = [&*self.name, &*self.device, key_file].map(escaped).join(&b' ');
        if !self.options.is_empty() {
            line.push(b' ');
            line.extend(escaped(list_of(&self.options).as_ref()));
        }
        line
    }
}

/// The line for display; bytes that are not UTF-8 are replaced.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.line()))
    }
}

/// The option that names a policy which the volume must meet. It follows the naming convention for
/// options that other programs ignore.
pub const REQUIRE: &str = "x-keyway.require";

/// The option that names the string which the volume's seal must be bound to.
pub const SEAL_CONTEXT: &str = "x-keyway.seal-context";

/// The option that says when a volume that waits for its first boot gets another volume key.
pub const REKEY: &str = "x-keyway.rekey";

/// When a marked volume gets another volume key. The mark asks for it; this only says when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rekey {
    /// Before the volume is mapped and mounted.
    Before,
    /// While it is in use: the system does it.
    After,
    /// Not this time; the mark stays.
    No,
}

/// Whether the option demands something of the volume. So does every word of ours that does not exist:
/// what is mistyped may have been a demand, and nothing opens a volume that it is written for.
pub fn is_demand(option: &str) -> bool {
    option.starts_with(OURS) && option != REKEY
}

/// How the names of our own options begin.
const OURS: &str = "x-keyway.";

/// A time as systemd.time(7) writes it: `90`, `90s`, `1min 30s`, `500ms`; 0 and `infinity` are for ever. `None` if it is
/// none.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "infinity" {
        return Some(Duration::ZERO);
    }
    let (mut whole, mut rest) = (Duration::ZERO, text.trim());
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after.trim_start().find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.trim_start().split_at(letters.unwrap_or(after.trim_start().len()));
        let millis = match unit {
            "ms" | "msec" => 1,
            "" | "s" | "sec" | "second" | "seconds" => 1000,
            "m" | "min" | "minute" | "minutes" => 60_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000,
            "d" | "day" | "days" => 86_400_000,
            _ => return None,
        };
        let time = number.parse::<u64>().ok()?.checked_mul(millis)?;
        whole = whole.checked_add(Duration::from_millis(time))?;
        rest = after.trim_start();
    }
    (!text.trim().is_empty()).then_some(whole)
}

/// The entries of a table.
pub fn parse(text: &[u8]) -> Vec<Entry> {
    text.split(|&byte| byte == b'\n').filter_map(entry).take(MOST_ENTRIES).collect()
}

/// Parses a comma-separated list of options. In a value, `\,` is a comma and `\\` a backslash (systemd's
/// crypttab(5): `cipher=xchacha12\,aes-adiantum-plain64`).
pub fn options_of(list: &str) -> Vec<(String, String)> {
    let options = split(list).into_iter().map(|option| {
        let (name, value) = option.split_once('=').unwrap_or((&option, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    });
    options.filter(|(name, _)| !name.is_empty()).take(MOST_OPTIONS).collect()
}

fn split(list: &str) -> Vec<String> {
    let (mut parts, mut part, mut letters) = (Vec::new(), String::new(), list.chars().peekable());
    while let Some(c) = letters.next() {
        match c {
            ',' => parts.push(std::mem::take(&mut part)),
            '\\' => part.push(letters.next_if(|next| [',', '\\'].contains(next)).unwrap_or(c)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts
}

/// Formats options as a comma-separated list.
pub fn list_of(options: &[(String, String)]) -> String {
    let option = |(name, value): &(String, String)| match value.is_empty() {
        true => in_list(name),
        false => format!("{}={}", in_list(name), in_list(value)),
    };
    options.iter().map(option).collect::<Vec<_>>().join(",")
}

fn in_list(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

/// Whether crypttab(5) or this program gives the option a meaning. Other programs' own options begin
/// with `x-`.
pub fn is_known(option: &str) -> bool {
    let ours = [REQUIRE, SEAL_CONTEXT, REKEY];
    if option.starts_with(OURS) {
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
        "loopaes",
        "perf-high_priority",
        "perf-no_read_workqueue",
        "perf-no_write_workqueue",
        "perf-same_cpu_crypt",
        "perf-submit_from_crypt_cpus",
        "weak-cipher-is-fine",
    ],
];

fn entry(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let name = fields.next().filter(|name| !name.starts_with(b"#")).map(plain)?;
    let mut fields = fields.map(plain);
    let device = fields.next()?;
    let key_file = fields.next().filter(|file| file != "none" && file != "-");
    let options = options_of(&fields.next().unwrap_or_default().to_string_lossy());
    Some(Entry { name, device, key_file, options })
}

/// A field as written in a table.
fn escaped(field: &OsStr) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    for &byte in field.as_bytes() {
        let comment = byte == b'#' && text.is_empty();
        match comment || byte == b'\\' || byte.is_ascii_whitespace() {
            true => text.extend(format!("\\{byte:03o}").bytes()),
            false => text.push(byte),
        }
    }
    text
}

/// The content of a field: decodes `\040` and other octal escapes, as in fstab(5).
fn plain(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let byte = digits.and_then(octal);
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |number, digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(digit - b'0'),
        _ => None,
    })
}

/// Files whose content is another one at each start.
const RANDOM: &[&str] = &["/dev/urandom", "/dev/random", "/dev/hw_random", "/dev/hwrng"];

/// No machine opens more volumes; an entry in memory takes fifty times its size in the table.
const MOST_ENTRIES: usize = 1 << 14;
/// Both manual pages together list fewer than a hundred.
const MOST_OPTIONS: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_crypttab_5_says() {
        let entries = parse(
            b"# name device key options\n\
              \n\
              home UUID=0123-AB none luks,discard,tries=2\n\
              \t swap\\040two /dev/sdb2 /etc/swap.key plain,cipher=aes-xts-plain64,size=256\r\n\
              bare /dev/sdc\n\
              data\t/dev/disk/by-label/a\\040b /keyway/keys/data , too many\n\
              half\n",
        );
        let names: Vec<_> = entries.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["home", "swap two", "bare", "data"]);
        assert_eq!((&*entries[0].device, &entries[0].key_file), ("UUID=0123-AB".as_ref(), &None));
        let option = |name| entries[0].option(name);
        assert_eq!((option("tries"), option("discard"), option("luk")), (Some("2"), Some(""), None));
        assert_eq!(entries[1].key_file.as_deref(), Some("/etc/swap.key".as_ref()));
        assert_eq!(entries[1].option("size"), Some("256"));
        assert_eq!(entries[3].device, "/dev/disk/by-label/a b");
        assert!(entries[2].options.is_empty() && entries[3].options.is_empty());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let odd = Entry {
            name: "#odd \\name".into(),
            device: OsString::from_vec(b"/dev/x\ty\xff\n".to_vec()),
            key_file: Some("/a b:LABEL=k".into()),
            options: vec![("header".into(), "/h h".into()), ("luks".into(), String::new())],
        };
        assert_eq!(
            odd.line(),
            b"\\043odd\\040\\134name /dev/x\\011y\xff\\012 /a\\040b:LABEL=k header=/h\\040h,luks"
        );
        let bare = Entry { name: "a".into(), device: "b".into(), ..Entry::default() };
        assert_eq!(bare.to_string(), "a b none");
        let mut table = odd.line();
        table.push(b'\n');
        table.extend(bare.line());
        assert_eq!(parse(&table), [odd, bare]);
        for list in ["a =,b", "=c", " d = e ,,\u{a0}f"] {
            let options = options_of(list);
            assert_eq!(options_of(&list_of(&options)), options, "{list}");
        }
    }

    #[test]
    fn what_no_program_knows_is_not_known() {
        for option in
            ["luks", "x-systemd.device-timeout", "x-keyway.require", "tpm2-device", "loud", "_netdev"]
        {
            assert!(is_known(option), "{option}");
        }
        for option in ["frobnicate", "discards", "Luks", "", "x-keyway.requires", "x-keyway."] {
            assert!(!is_known(option), "{option}");
        }
    }

    #[test]
    fn a_random_key_is_made_anew() {
        let is_made_anew = |line: &str| parse(line.as_bytes())[0].is_made_anew();
        assert!(is_made_anew("swap /dev/sda7 /dev/urandom swap,cipher=aes-xts-plain64,size=256"));
        assert!(is_made_anew("tmp /dev/sda8 /dev/random tmp=xfs"));
        // A swap that holds what was suspended.
        assert!(!is_made_anew("cryptswap /dev/sda2 none luks,swap") && !is_made_anew("x /dev/sda /key"));
    }

    /// A word of ours that does not exist was perhaps meant as a demand.
    #[test]
    fn a_mistyped_demand_is_one() {
        assert!(is_demand(REQUIRE) && is_demand(SEAL_CONTEXT) && is_demand("x-keyway.requires"));
        assert!(!is_demand(REKEY) && !is_demand("x-systemd.device-timeout") && !is_demand("luks"));
    }

    #[test]
    fn a_comma_in_a_value_is_escaped() {
        let list = "cipher=xchacha12\\,aes-adiantum-plain64,header=/a\\\\,x=\\040";
        let options = options_of(list);
        let values: Vec<_> = options.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["xchacha12,aes-adiantum-plain64", "/a\\", "\\040"]);
        assert_eq!(options_of(&list_of(&options)), options);
    }

    #[test]
    fn times_as_systemd_writes_them() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f32());
        for (text, is) in [("90", 90.0), ("10s", 10.0), ("1min 30s", 90.0), ("1min30s", 90.0), ("500ms", 0.5)]
        {
            assert_eq!(seconds(text), Some(is), "{text}");
        }
        assert_eq!((seconds("0"), seconds("infinity"), seconds("2 h")), (Some(0.0), Some(0.0), Some(7200.0)));
        for text in ["", "soon", "10 parsecs", "-1", "99999999999999999999"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(plain(b"\\x41\\04\\400\\101\\"), "\\x41\\04\\400A\\");
    }
}
