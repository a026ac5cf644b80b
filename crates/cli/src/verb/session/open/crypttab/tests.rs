//! What a line of crypttab opens, and what it is refused for.

use super::*;
use crate::unlock::KeyOptions;
use crate::unlock::admission::Demands;
use keyway_boot::crypttab;
use std::path::Path;

fn entry(line: &str) -> Entry {
    crypttab::parse(line.as_bytes()).remove(0)
}

fn opened(entry: &Entry, given: &[&Opt]) -> Result<Open> {
    let is_given = |option: &Opt| given.iter().any(|it| it.long == option.long);
    Open::of_entry(entry, KeyOptions::default(), Demands::default(), &is_given)
}

#[test]
fn devices_are_found_by_udevs_links() {
    let path = |device: &str| found::path_of(&entry(&format!("name {device}")).device);
    assert_eq!(path("PARTLABEL=crypt"), Path::new("/dev/disk/by-partlabel/crypt"));
    assert_eq!(path("UUID=0123-AB"), Path::new("/dev/disk/by-uuid/0123-ab"));
    assert_eq!(path("/dev/vg/home"), Path::new("/dev/vg/home"));
}

#[test]
fn what_would_open_something_else_is_refused() {
    let entry = entry("x /dev/sdb none luks,keyscript=/bin/key,noauto");
    let refused = opened(&entry, &[]).unwrap_err();
    assert!(refused.message().contains("/etc/crypttab: x: keyscript"));
    let open = opened(&self::entry("x /dev/sdb none tcrypt-veracrypt,noauto"), &[]).unwrap();
    assert_eq!(open.kind.as_deref(), Some("tcrypt"));
}

#[test]
fn loop_aes_is_a_kind() {
    let line = "x /dev/sdb /key loopaes,offset=8,size=128,hash=sha256";
    let open = opened(&entry(line), &[]).unwrap();
    assert_eq!((open.kind.as_deref(), open.given.plain.offset), (Some("loopaes"), Some(8)));
    assert_eq!((open.given.plain.key_bits, open.given.plain.hash.as_deref()), (Some(128), Some("sha256")));
    assert_eq!(open.key.passphrase.key_file, Some("/key".into()));
}

#[test]
fn a_disk_of_windows_vista_needs_its_word() {
    for (line, is_allowed) in [("bitlk,readonly", false), ("bitlk,readonly,allow-vista", true)] {
        let open = opened(&entry(&format!("x /dev/sdb none {line}")), &[]).unwrap();
        assert_eq!((open.kind.as_deref(), open.given.allows_vista), (Some("bitlk"), is_allowed), "{line}");
    }
}

#[test]
fn a_mistyped_demand_opens_nothing() {
    let refused = opened(&entry("x /dev/sdb none luks,x-keyway.requires=sealed"), &[]).unwrap_err();
    assert_eq!(
        refused.message(),
        "x-keyway.requires=sealed is unknown, and may be meant as a demand: the volume is not opened."
    );
}

#[test]
fn what_is_supported_or_refused_is_known() {
    let names = KNOWN.iter().map(|(name, ..)| name).chain(REFUSED.iter().map(|(name, _)| name));
    for name in names.chain(TYPES).chain([&REQUIRE, &SEAL_CONTEXT, &SEAL_CONTEXT_FILE]) {
        assert!(crypttab::is_known(name), "{name}");
    }
}

#[test]
fn what_is_given_goes_before_the_table() {
    let line = "x /dev/sdb /key tries=7,tries=8,timeout=5,key-slot=2,header=/h,discard,size=512,hash=sha1";
    let open = opened(&entry(line), &[&shared::TRIES, &shared::KEY_FILE]).unwrap();
    assert_eq!((open.tries(), open.key.passphrase.timeout), (3, Some(Duration::from_secs(5))));
    assert_eq!(
        (open.key.keyslot, open.given.plain.key_bits, open.key.key_bits),
        (Some(2), Some(512), Some(512))
    );
    assert_eq!((open.target.header, open.key.passphrase.key_file), (Some("/h".into()), None));
    let discards = open.flags.passes_discards();
    assert_eq!((discards, open.given.plain.hash.as_deref()), (true, Some("sha1")));
    assert_eq!(opened(&entry(line), &[]).unwrap().tries(), 7);
    let timeout = |text: &str| {
        let open = opened(&entry(&format!("x /dev/sdb none timeout={text},tries=0")), &[]);
        open.map(|open| (open.key.passphrase.timeout.map(|time| time.as_secs()), open.tries()))
    };
    assert_eq!(timeout("1min").unwrap(), (Some(60), u64::MAX));
    assert_eq!((timeout("500ms").unwrap().0, timeout("0").unwrap().0), (Some(1), None));
}

#[test]
fn a_mistyped_question_stops_nothing_at_boot() {
    let mistyped = |options: &str| entry(&format!("x /dev/sdb none {options}"));
    for (options, why) in [
        ("timeout=soon", "timeout=soon is not a time (90, 90s, 1min 30s)."),
        ("tries=many", "--tries many: a whole number, 0 or more, is needed."),
    ] {
        let mut open = opened(&mistyped(options), &[]).unwrap();
        let timeout = options.starts_with("timeout").then_some(Duration::from_secs(90));
        assert_eq!((open.tries(), open.key.passphrase.timeout), (3, timeout), "{options}");
        let refused = complete(&mut open, &mistyped(options), Some(FILE), &|_| false).unwrap_err();
        assert_eq!(refused.message(), why);
    }
    // What it says of the volume counts.
    assert!(opened(&mistyped("key-slot=first"), &[]).is_err());
    assert!(opened(&mistyped("offset=x"), &[]).is_err());
}
