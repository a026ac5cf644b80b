//! Findings from real machines, with figures from the message of Linux's commit b41c1d8d07.

use super::super::{Missing, Version};
use super::*;
use crate::Wrong;
use keyway_crypto::CipherSpec;
use std::fmt::Write;

/// Drivers "name priority module MB/s" of xts(aes).
fn machine(lines: &[(&str, i64, &str, f64)], version: &str) -> (System, Xray) {
    let mut text = String::new();
    for (driver, priority, module, _) in lines {
        let _ = write!(
            text,
            "name : xts(aes)\ndriver : {driver}\nmodule : {module}\npriority : {priority}\ntype : skcipher\nselftest : passed\n\n"
        );
    }
    let system = System::of_text(&text, Version::parse(version));
    let mut xray = Xray::look(&system, &CipherSpec::parse("aes-xts-plain64").unwrap());
    for row in &mut xray.rows {
        let (.., rate) = lines.iter().find(|line| line.0 == row.driver.driver).unwrap();
        let speed = Speed { bytes: 4096, encrypt: rate * 1e6, decrypt: rate * 1e6 };
        row.speeds = if *rate > 0.0 { Ok(vec![speed]) } else { Err(Missing::new("")) };
    }
    (system, xray)
}

fn said(system: &System, xray: &Xray) -> String {
    let cpu = CpuFacts { architecture: "x86_64", features: &["aes".to_owned()] };
    let lines = verdict(xray, None, system, cpu);
    lines.iter().map(|line| format!("{:?}: {}\n", line.severity, line.text)).collect()
}

#[test]
fn an_engine_that_dm_crypt_passes_over() {
    let (system, xray) = machine(
        &[("xts(ecb-aes-caam)", 3000, "kernel", 20.0), ("xts-aes-ce", 300, "aes_ce_blk", 647.0)],
        "6.12.117",
    );
    assert_eq!(
        said(&system, &xray),
        "Good: aes-xts-plain64 will run on xts-aes-ce, at 647 MB/s\nWarning: the CAAM engine \
         (xts(ecb-aes-caam)) has a higher priority (3000) and is 32× slower; dm-crypt skips it (ALLOCATES_MEMORY \
         since Linux 5.10), others do not: it is built into the kernel: disable the device in the device tree, or \
         build without CONFIG_CRYPTO_DEV_FSL_CAAM_CRYPTO_API\n"
    );
}

#[test]
fn an_engine_in_use() {
    let (system, xray) = machine(
        &[("xts-aes-caam", 3000, "caam_jr", 20.0), ("xts-aes-ce", 300, "aes_ce_blk", 647.0)],
        "5.4.1",
    );
    assert_eq!(
        said(&system, &xray),
        "Warning: aes-xts-plain64 will run on xts-aes-caam, which is the CAAM engine (NXP), not the CPU, at 20 MB/s\n\
         Warning: xts-aes-ce would be 32× faster than xts-aes-caam: blacklist caam_jr\n"
    );
    let (system, xray) = machine(&[("xts-aes-caam", 3000, "caam_jr", 0.0)], "5.4.1");
    assert!(
        said(&system, &xray)
            .contains("measured 4 to 55 times slower than the CPU on such requests: blacklist caam_jr")
    );
}

#[test]
fn wrong_output_comes_last_and_worst() {
    let (system, mut xray) =
        machine(&[("xts-aes-broken", 900, "broken", 0.0), ("xts-aes-ce", 300, "kernel", 1.0)], "6.12.0");
    let wrong =
        Wrong::first_difference(&[1, 2, 3], &[1, 2, 0x83], "encrypting sector 7 of 512 bytes").unwrap();
    xray.rows[0].checked = Some(Checked::Wrong(Box::new(wrong)));
    xray.rows[1].checked = Some(Checked::Failed("encrypting 512 bytes: Invalid argument".into()));
    let said = said(&system, &xray);
    assert!(
        said.contains(
            "Bad: xts-aes-broken is wrong: byte 2 is 83 and should be 03, encrypting sector 7 of 512 bytes: \
             blacklist broken. dm-crypt would use it"
        ),
        "{said}"
    );
    assert!(said.ends_with(
        "Bad: xts-aes-ce fails: encrypting 512 bytes: Invalid argument: it is built into the kernel: report it, and use \
         another kernel\n"
    ));
}

#[test]
fn portable_code_on_a_cpu_that_can_do_better() {
    let (system, xray) = machine(&[("xts(ecb(aes-generic))", 100, "kernel", 100.0)], "6.12.0");
    let said = said(&system, &xray);
    assert!(said.contains("Warning: xts(ecb(aes-generic)) uses no special instructions of this CPU, which has some: modprobe aesni_intel"), "{said}");
}

#[test]
fn adiantum_beside_it() {
    let speed = |rate: f64| Some((Speed { bytes: 4096, encrypt: rate, decrypt: rate }, "code"));
    let (system, mut xray) = machine(&[("xts-aes-neonbs", 150, "kernel", 13.2)], "6.12.0");
    let mut adiantum = Xray::look(&system, &CipherSpec::parse("xchacha12,aes-adiantum-plain64").unwrap());
    (xray.keyway, adiantum.keyway) = (speed(13.2e6), speed(52.8e6));
    let features: [String; 0] = [];
    let cpu = CpuFacts { architecture: "arm", features: &features };
    let lines = verdict(&xray, Some(&adiantum), &system, cpu);
    let text =
        "Adiantum would be 4.0× faster here (53 MB/s beside 13 MB/s, Keyway's code on this CPU, one thread)";
    assert!(lines.iter().any(|line| line.text == text), "{lines:?}");
}

#[test]
fn nothing_loaded() {
    let system = System::of_text("", None);
    let xray = Xray::look(&system, &CipherSpec::parse("serpent-xts-plain64").unwrap());
    assert_eq!(
        said(&system, &xray),
        "Note: no driver of serpent-xts-plain64 is in use, and nothing loaded now implements serpent\n"
    );
}
