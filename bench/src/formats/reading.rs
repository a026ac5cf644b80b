//! Whole volumes in memory, read from end to end: BitLocker beside dislocker, and beside Keyway's own
//! LUKS with the same cipher. The protection is suspended: the key lies open, and no passphrase takes its time.

use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use keyway_tests::bitlk::{Bitlk, LEN, Protector};
use std::fs::File;
use std::io::{Seek, Write};
use std::rc::Rc;

pub(crate) fn xts(options: &Options) -> Vec<Case> {
    cases(options, &XTS)
}

pub(crate) fn cbc(options: &Options) -> Vec<Case> {
    cases(options, &CBC)
}

pub(crate) fn elephant(options: &Options) -> Vec<Case> {
    cases(options, &ELEPHANT)
}

fn cases(options: &Options, method: &Method) -> Vec<Case> {
    let title = format!("read BitLocker, {}, {} MiB", method.name, options.mib);
    if options.wants(&title) { vec![case(title, method, options.mib)] } else { Vec::new() }
}

struct Method {
    name: &'static str,
    number: u16,
    /// The same cipher as LUKS knows it.
    luks: Option<&'static str>,
}

const XTS: Method = Method { name: "AES-XTS-128", number: 0x8004, luks: Some("-c aes-xts-plain64 -s 256") };
const CBC: Method = Method { name: "AES-CBC-128", number: 0x8002, luks: None };
const ELEPHANT: Method = Method { name: "AES-CBC-128 with Elephant", number: 0x8000, luks: None };

fn case(title: String, method: &Method, mib: u64) -> Case {
    let place = Rc::new(Place::new("bitlocker-data"));
    let key = place.file("key", b"correct-horse-battery");
    let (volume, luks, out) = (place.image("volume", mib), place.path("luks"), place.path("out"));
    let made = Bitlk {
        method: method.number,
        encrypted: (mib << 20) as usize,
        protectors: vec![Protector::Clear],
        ..Bitlk::default()
    };
    let mut file = File::options().write(true).open(&volume).expect("it was written");
    // What follows its metadata decrypts to noise, which takes as long as anything else.
    file.rewind().and_then(|()| file.write_all(&made.make(&vec![0; LEN]))).expect("room for what was there");
    let rate = move |ms: f64| (mib << 20) as f64 / 1e3 / ms;
    let ours = volume.clone();
    let kept = Rc::clone(&place);
    let case = Case::new(title, Unit::Megabytes, 3)
        .with("keyway", move || rate(milliseconds(&mut program("keyway read --type bitlk {}", &[&ours]))))
        .with("dislocker-file", move || {
            // The place lives as long as the last case that needs it.
            let _ = &kept;
            // dislocker writes to no file that is there.
            let _ = std::fs::remove_file(&out);
            rate(milliseconds(&mut program("dislocker-file -q -c -V {} -- {}", &[&volume, &out])))
        })
        .wanting(Goal::RatioAtLeast(3.0));
    let Some(options) = method.luks else { return case };
    let raw = place.image("image", mib);
    let build = format!(
        "keyway build {options} --sector-size 512 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file {{}} {{}} {{}}"
    );
    milliseconds(&mut program(&build, &[&key, &raw, &luks]));
    std::fs::remove_file(raw).expect("it was written");
    case.with("keyway, LUKS2", move || {
        let _ = &place;
        rate(milliseconds(&mut program("keyway read --key-file {} {}", &[&key, &luks])))
    })
    .wanting(Goal::RatioAtLeast(0.95))
}
