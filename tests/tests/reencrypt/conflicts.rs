//! What contradicts what is there, or under way: refused in cryptsetup's words by both programs alike, before anything
//! is asked or written.

use crate::{Fixture, Tool};
use keyway_tests::{cryptsetup, keyway, need_cryptsetup_to_reencrypt};

const NOT_APPLIED: &str =
    "Requested --resilience option cannot be applied to current reencryption operation.";
const DATASHIFT: &str =
    "Device is in reencryption using datashift resilience. Requested --resilience option cannot be applied.";
const NO_ENCRYPTION: &str = "Device is not in LUKS2 encryption. Conflicting option --encrypt.";
const NO_DECRYPTION: &str = "Device is not in LUKS2 decryption. Conflicting option --decrypt.";

/// Neither device nor header changes; no header appears.
#[track_caller]
fn refused(f: &Fixture, options: &str, says: &str) {
    let state = || (std::fs::read(&f.device).unwrap(), std::fs::read(f.header()).ok());
    let before = state();
    for tool in [keyway as Tool, cryptsetup] {
        f.reencrypt(tool, options).fails(1).says(says);
        assert!(state() == before, "{options} changed something");
    }
}

#[test]
fn what_is_under_way_goes_on_as_nothing_else() {
    need_cryptsetup_to_reencrypt!();
    let f = Fixture::volume();
    f.reencrypt(keyway, "--init-only").ok();
    refused(&f, "--encrypt --reduce-device-size 4M", NO_ENCRYPTION);
    refused(&f, "--decrypt", NO_DECRYPTION);
    for resilience in ["datashift", "datashift-checksum", "datashift-journal"] {
        refused(&f, &format!("--resilience {resilience}"), NOT_APPLIED);
    }
    f.reencrypt(keyway, "--resume-only").ok();
    f.reads(false);

    let f = Fixture::plaintext(32 << 20);
    f.reencrypt(keyway, "--encrypt --init-only --reduce-device-size 32M").ok();
    refused(&f, "--decrypt", NO_DECRYPTION);
    for resilience in ["journal", "checksum", "none", "datashift-checksum", "datashift-journal"] {
        refused(&f, &format!("--resilience {resilience}"), DATASHIFT);
    }
    f.reencrypt(keyway, "--encrypt --resilience datashift").ok();
    f.reads(false);
}

#[test]
fn a_detached_header_that_is_under_way_goes_on_as_nothing_else() {
    need_cryptsetup_to_reencrypt!();
    let f = Fixture::plaintext(0);
    f.reencrypt(keyway, "--encrypt --init-only --header").ok();
    refused(&f, "--decrypt --header", NO_DECRYPTION);
    refused(&f, "--resilience datashift --header", NOT_APPLIED);
    refused(&f, "--encrypt --type luks1 --header", "Conflicting versions. Device");
    let goes_on = f.reencrypt(keyway, "--encrypt --resilience journal --header").ok();
    goes_on.says("WARNING: it resumes as it was begun, with --resilience checksum, not journal.");
    f.reads(true);
    f.reencrypt(keyway, "--decrypt --init-only --header").ok();
    refused(&f, "--encrypt --header", NO_ENCRYPTION);
    f.reencrypt(keyway, "--decrypt --header").ok();
    f.is_plaintext();
}

#[test]
fn a_decryption_that_moves_data_has_its_own_protections() {
    need_cryptsetup_to_reencrypt!();
    let f = Fixture::volume();
    for resilience in ["datashift", "none"] {
        refused(&f, &format!("--decrypt --init-only --resilience {resilience} --header"), NOT_APPLIED);
    }
    f.reencrypt(keyway, "--decrypt --init-only --resilience checksum --hotzone-size 4M --header").ok();
    for resilience in ["datashift", "none"] {
        refused(&f, &format!("--decrypt --resilience {resilience} --header"), NOT_APPLIED);
    }
    f.reencrypt(keyway, "--decrypt --resilience journal --header").ok();
    f.is_plaintext();
}

#[test]
fn the_version_that_is_named_is_the_one_that_is_there() {
    need_cryptsetup_to_reencrypt!();
    let f = Fixture::volume();
    let is = |f: &Fixture, is: &str| format!("Conflicting versions. Device {} is {is}.", f.device.display());
    refused(&f, "--type luks1", &is(&f, "LUKS2"));
    f.reencrypt(keyway, "--type luks2 --init-only").ok();
    refused(&f, "--type luks1", &is(&f, "in LUKS2 reencryption"));
    let f = Fixture::plaintext(0);
    let format = keyway("luksFormat -q --type luks1 --pbkdf-force-iterations 1000");
    format.arg(&f.device).arg(&f.key).ok();
    refused(&f, "--type luks2", &is(&f, "LUKS1"));
}

/// What begins goes on by the same line, whatever it says of a protection that data which moves does not need.
#[test]
fn the_line_that_begins_goes_on() {
    for resilience in ["checksum", "journal", "none", "datashift", "datashift-checksum"] {
        let f = Fixture::plaintext(32 << 20);
        let line = format!("--encrypt --reduce-device-size 32M --resilience {resilience}");
        f.reencrypt(keyway, &format!("{line} --init-only")).ok();
        let goes_on = f.reencrypt(keyway, &line).ok();
        if resilience != "datashift" {
            goes_on.says(&format!(
                "WARNING: it resumes as it was begun, with --resilience datashift, not {resilience}."
            ));
        }
        f.reads(false);
    }
}

/// A protection for data that moves is none for data that stays: no such line begins.
#[test]
fn a_protection_that_could_not_go_on_does_not_begin() {
    let refused = |f: &Fixture, options: &str| {
        let before = std::fs::read(&f.device).unwrap();
        let had_header = f.header().exists();
        for resilience in ["datashift", "datashift-checksum", "datashift-journal"] {
            for estimate in ["", "--estimate"] {
                let run = f.reencrypt(keyway, &format!("--resilience {resilience} {estimate} {options}"));
                run.fails(1).says(NOT_APPLIED);
            }
            assert!(std::fs::read(&f.device).unwrap() == before && f.header().exists() == had_header);
        }
    };
    refused(&Fixture::volume(), "");
    let f = Fixture::plaintext(0);
    refused(&f, "--encrypt --header");
    f.reencrypt(keyway, "--encrypt --header").ok();
    refused(&f, "--decrypt --header");
}
