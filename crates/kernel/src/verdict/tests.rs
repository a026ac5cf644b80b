//! Findings from real machines, with figures from the message of Linux's commit b41c1d8d07.

use super::super::{Missing, Version};
use super::*;
use crate::Speed;
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

fn said_of((system, xray): (System, Xray)) -> String {
    said(&system, &xray)
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
    assert!(
        said.contains(
            "Warning: xts(ecb(aes-generic)) ignores this CPU's special instructions: modprobe aesni_intel"
        ),
        "{said}"
    );
}

/// Linux 7.0 ("aes-lib" in templates), 7.3 (whole modes beside the architecture's drivers), and what
/// 7.3's commits announce (whole modes above them).
#[test]
fn the_kernels_library_is_no_slow_portable_code() {
    let of = |driver: &str, priority| said_of(machine(&[(driver, priority, "kernel", 0.0)], "7.3.0"));
    assert_eq!(
        of("xts-aes-lib", 110),
        "Good: aes-xts-plain64 will run on xts-aes-lib, the kernel's library\n\
         Note: xts-aes-lib, the kernel's library, takes this CPU's AES instructions for one block after another: \
         aesni_intel takes several at once, modprobe it if the kernel has it\n"
    );
    assert_eq!(
        of("xts-aes-lib", 500),
        "Good: aes-xts-plain64 will run on xts-aes-lib, the kernel's library\n\
         Note: xts-aes-lib, the kernel's library, is what this architecture's kernels run from 7.3 on: whole requests, \
         by this CPU's AES instructions\n"
    );
    assert!(of("xts(ecb(aes-lib))", 100).contains("for one block after another: aesni_intel takes several"));
    for driver in ["xts-aes-lib", "xts(ecb(aes-lib))"] {
        assert!(!of(driver, 110).contains("Warning"), "{driver}");
    }
    // A CPU without the instructions, and the hash beside the cipher.
    let (system, xray) = machine(&[("xts-aes-lib", 110, "kernel", 0.0)], "7.3.0");
    let old = CpuFacts { architecture: "x86_64", features: &["sse2".to_owned()] };
    let lines = verdict(&xray, None, &system, old);
    assert!(
        lines
            .iter()
            .any(|line| line.text.ends_with("is portable code here: this CPU has no AES instructions")),
        "{lines:?}"
    );
}

#[test]
fn adiantum_beside_the_library() {
    let text = "name : aes\ndriver : aes-lib\npriority : 100\ntype : cipher\n\n\
                name : xts(aes)\ndriver : xts-aes-lib\npriority : 110\ntype : skcipher\nselftest : passed\n\n\
                name : xchacha12\ndriver : xchacha12-lib\npriority : 300\ntype : skcipher\n\n\
                name : xchacha20\ndriver : xchacha20-lib\npriority : 300\ntype : skcipher\n\n\
                name : adiantum(xchacha20,aes)\ndriver : adiantum(xchacha20-lib,aes-lib)\npriority : 100\ntype : skcipher\n";
    fn x86(features: &[String]) -> CpuFacts<'_> {
        CpuFacts { architecture: "x86_64", features }
    }
    let aes = ["aes".to_owned(), "avx2".to_owned()];
    let [line] = &of_adiantum(text, x86(&aes))[..] else { panic!() };
    assert_eq!(
        line.text,
        "Adiantum would be slower: xts-aes-lib, the kernel's library, uses AES instructions"
    );
    let none = ["ssse3".to_owned()];
    let [line] = &of_adiantum(text, x86(&none))[..] else { panic!() };
    assert_eq!(line.severity, Severity::Warning);
    let start = "Adiantum would run on adiantum(xchacha20-lib,aes-lib), the kernel's library with its vector code, while AES \
                 runs on xts-aes-lib: this CPU has no AES instructions";
    assert!(line.text.starts_with(start), "{}", line.text);
    let [line] = &of_adiantum(text, ANOTHER_MACHINE)[..] else { panic!() };
    let unless = "uses AES instructions if /proc/cpuinfo there lists \"aes\"";
    assert!(line.text.contains(unless), "{}", line.text);
}

/// What is said about Adiantum where AES runs as in a /proc/crypto of this text.
fn of_adiantum(proc_crypto: &str, cpu: CpuFacts<'_>) -> Vec<Line> {
    let system = System::of_text(proc_crypto, Version::parse("6.1.21"));
    let look = |spec: &str| Xray::look(&system, &CipherSpec::parse(spec).unwrap());
    let (xray, adiantum) = (look("aes-xts-plain64"), look("xchacha20,aes-adiantum-plain64"));
    let lines = verdict(&xray, Some(&adiantum), &system, cpu);
    lines.into_iter().filter(|line| line.text.contains("Adiantum")).collect()
}

const ANOTHER_MACHINE: CpuFacts<'_> = CpuFacts { architecture: "", features: &[] };

/// The driver names that the article "raspi3 luks - aes-xts vs xchacha,aes-adiantum" shows, and
/// those of the modules of Adiantum's parts, as Linux 6.1 has them.
#[test]
fn the_owner_of_a_board_without_aes_instructions_gets_the_advice_they_came_for() {
    let [line] = &of_adiantum(include_str!("proc-crypto-pi3.txt"), ANOTHER_MACHINE)[..] else { panic!() };
    assert_eq!(line.severity, Severity::Warning);
    for words in [
        "Adiantum would run on adiantum(xchacha20-neon,aes-arm64,nhpoly1305-neon), with vector instructions",
        "while AES runs on xts(ecb(aes-arm64))",
        "if /proc/cpuinfo there lists \"aes\", modprobe aes_ce_blk instead",
        "122 MiB/s where AES-256-XTS makes 26",
        "luksFormat --cipher xchacha20,aes-adiantum-plain64 --key-size 256 --sector-size 4096",
    ] {
        assert!(line.text.contains(words), "{words}: {}", line.text);
    }
    // Before anything has loaded the modules.
    let [line] = &of_adiantum(include_str!("proc-crypto-pi3-fresh.txt"), ANOTHER_MACHINE)[..] else {
        panic!()
    };
    assert_eq!(line.severity, Severity::Warning);
    assert!(
        line.text.starts_with(
            "Adiantum would run there if the kernel has it (not loaded: xchacha20, nhpoly1305; \
             modprobe adiantum chacha_neon nhpoly1305_neon), while AES runs on xts(ecb(aes-arm64))"
        ),
        "{}",
        line.text
    );
}

#[test]
fn who_asks_for_adiantum_is_told_what_to_load() {
    let system = System::of_text(include_str!("proc-crypto-pi3-fresh.txt"), None);
    let spec = CipherSpec::parse("xchacha20,aes-adiantum-plain64").unwrap();
    let lines = verdict(&Xray::look(&system, &spec), None, &system, ANOTHER_MACHINE);
    let missing = "nothing loaded now implements xchacha20, nhpoly1305: modprobe adiantum chacha_neon nhpoly1305_neon if the \
                   kernel has them";
    assert!(lines.iter().any(|line| line.text.ends_with(missing)), "{lines:?}");
}

#[test]
fn with_aes_instructions_adiantum_is_not_advised() {
    let [line] = &of_adiantum(include_str!("proc-crypto-rock64.txt"), ANOTHER_MACHINE)[..] else { panic!() };
    let expected = "Adiantum would be slower: xts-aes-ce uses AES instructions";
    assert_eq!((line.severity, &line.text[..]), (Severity::Note, expected));
}

/// The kernel's portable code of both: Keyway's vector code says nothing about it.
#[test]
fn portable_code_is_compared_with_portable_code() {
    let fixed_time = include_str!("proc-crypto-fixed-time.txt");
    fn cpu(features: &[String]) -> CpuFacts<'_> {
        CpuFacts { architecture: "x86_64", features }
    }
    let old = ["ssse3".to_owned(), "avx2".to_owned()];
    let [line] = &of_adiantum(fixed_time, cpu(&old))[..] else { panic!() };
    assert_eq!(line.severity, Severity::Note);
    assert!(
        line.text.starts_with(
            "Adiantum would run on adiantum(xchacha20-lib,aes-fixed-time,nhpoly1305-generic), portable code too; modprobe \
             chacha_x86_64 nhpoly1305_avx2 if the kernel has them, while AES runs on xts(ecb(aes-fixed-time)): this CPU has \
             no AES instructions"
        ),
        "{}",
        line.text
    );
    let features = ["aes".to_owned(), "avx2".to_owned()];
    let [line] = &of_adiantum(fixed_time, cpu(&features))[..] else { panic!() };
    assert!(line.text.contains("with the module for them, AES is faster"), "{}", line.text);
}

#[test]
fn measured_drivers_are_compared_by_their_speed() {
    let (system, mut xray) = machine(&[("xts-aes-neonbs", 150, "kernel", 13.2)], "6.12.0");
    let name = "adiantum(xchacha12-neon,aes-arm,nhpoly1305-neon)";
    let text = format!("name : adiantum(xchacha12,aes)\ndriver : {name}\npriority : 300\ntype : skcipher\n");
    let of_adiantum = System::of_text(&text, None);
    let spec = CipherSpec::parse("xchacha12,aes-adiantum-plain64").unwrap();
    let mut adiantum = Xray::look(&of_adiantum, &spec);
    adiantum.rows[0].speeds = Ok(vec![Speed { bytes: 4096, encrypt: 52.8e6, decrypt: 52.8e6 }]);
    // Keyway's own code is another thing.
    xray.keyway = Some((Speed { bytes: 4096, encrypt: 9e9, decrypt: 9e9 }, "code"));
    adiantum.keyway = Some((Speed { bytes: 4096, encrypt: 1e9, decrypt: 1e9 }, "code"));
    let cpu = CpuFacts { architecture: "arm", features: &[] };
    let lines = verdict(&xray, Some(&adiantum), &system, cpu);
    let about: Vec<&Line> = lines.iter().filter(|line| line.text.contains("Adiantum")).collect();
    let [line] = &about[..] else { panic!("{lines:?}") };
    assert_eq!(line.severity, Severity::Warning);
    assert_eq!(
        line.text,
        "Adiantum would be 4.0× faster here (53 MB/s beside 13 MB/s, the kernel's drivers)"
    );
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
