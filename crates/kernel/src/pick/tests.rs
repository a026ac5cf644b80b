//! Kernels as users have them, with the names and priorities from the drivers' sources.

use super::*;
use crate::proc_crypto;

/// Lines "name driver priority type [async] [internal]".
fn registry(lines: &str, version: &str) -> Registry {
    let mut text = String::new();
    for line in lines.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, driver, priority, kind, rest @ ..] = &words[..] else { continue };
        let yes = |word: &str| if rest.contains(&word) { "yes" } else { "no" };
        text += &format!(
            "name : {name}\ndriver : {driver}\npriority : {priority}\ntype : {kind}\nselftest : {}\nasync : {}\ninternal : {}\n\n",
            if rest.contains(&"untested") { "unknown" } else { "passed" },
            yes("async"),
            yes("internal"),
        );
    }
    Registry { drivers: proc_crypto::parse(&text), version: Version::parse(version) }
}

fn picked(registry: &Registry, user: User, algorithm: &str) -> String {
    match registry.choice(user, &Algorithm::parse(algorithm)) {
        Ok(choice) => format!("{}{}", choice.driver, if choice.exists { "" } else { " (to be made)" }),
        Err(missing) => format!("missing {}", missing.join(" ")),
    }
}

/// An i.MX 8M with CAAM (priority 3000) and the ARMv8 instructions.
const IMX8: &str = "\
ecb(aes)  ecb-aes-caam 3000 skcipher async
cbc(aes)  cbc-aes-caam 3000 skcipher async
xts(aes)  xts-aes-ce 300 skcipher
cbc(aes)  cbc-aes-ce 300 skcipher
ecb(aes)  ecb-aes-ce 300 skcipher
xts(aes)  xts(ecb-aes-caam) 3000 skcipher async
sha256    sha256-ce 200 shash
aes       aes-ce 250 cipher";

#[test]
fn dm_crypt_passes_over_engines_that_allocate_since_5_10() {
    for (version, driver) in
        [("5.9.16", "xts(ecb-aes-caam)"), ("5.10.1", "xts-aes-ce"), ("6.12.0", "xts-aes-ce")]
    {
        assert_eq!(picked(&registry(IMX8, version), User::DmCrypt, "xts(aes)"), driver, "{version}");
    }
    let order = registry(IMX8, "6.12.0");
    let order: Vec<&str> =
        order.candidates(&Algorithm::parse("xts(aes)")).iter().map(|driver| &driver.driver[..]).collect();
    assert_eq!(order, ["xts(ecb-aes-caam)", "xts-aes-ce"]);
}

/// An STM32MP1: its engine's driver lacks the flag for allocating memory.
const STM32: &str = "\
ecb(aes)  stm32-ecb-aes 200 skcipher async
xts(aes)  xts-aes-neonbs 150 skcipher
aes       aes-arm 200 cipher
xts(aes)  xts(stm32-ecb-aes) 200 skcipher async";

#[test]
fn fscrypt_refuses_more_with_each_version() {
    for (version, driver) in [
        ("6.1.100", "xts(stm32-ecb-aes)"),
        // The stable series check only the instance's flags, and it has not inherited
        // KERN_DRIVER_ONLY.
        ("6.1.149", "xts(stm32-ecb-aes)"),
        ("6.12.44", "xts(stm32-ecb-aes)"),
        ("6.17.0", "xts-aes-neonbs"),
    ] {
        assert_eq!(picked(&registry(STM32, version), User::Fscrypt, "xts(aes)"), driver, "{version}");
        let of_dm_crypt = picked(&registry(STM32, version), User::DmCrypt, "xts(aes)");
        assert_eq!(of_dm_crypt, "xts(stm32-ecb-aes)", "{version}");
    }
    for (version, driver) in [("6.6.102", "xts-aes-qce"), ("6.6.103", "xts-aes-ce"), ("6.18.1", "xts-aes-ce")]
    {
        let registry =
            registry("xts(aes) xts-aes-ce 300 skcipher\nxts(aes) xts-aes-qce 450 skcipher async", version);
        assert_eq!(picked(&registry, User::Fscrypt, "xts(aes)"), driver, "{version}");
    }
}

#[test]
fn async_code_of_the_cpu_is_refused_only_where_async_is_off() {
    let lines = "xts(aes) xts-aes-aesni 401 skcipher async\nxts(aes) xts(ecb(aes-generic)) 100 skcipher\n\
                 xts(aes) __xts-aes-aesni 900 skcipher internal";
    assert_eq!(picked(&registry(lines, "6.1.174"), User::DmCrypt, "xts(aes)"), "xts-aes-aesni");
    assert_eq!(picked(&registry(lines, "6.1.174"), User::Fscrypt, "xts(aes)"), "xts-aes-aesni");
    assert_eq!(picked(&registry(lines, "6.17.0"), User::Fscrypt, "xts(aes)"), "xts(ecb(aes-generic))");
}

#[test]
fn what_is_not_there_yet_is_made_of_its_parts() {
    let lines = "aes aes-generic 100 cipher\naes aes-aesni 300 cipher\nxchacha12 xchacha12-simd 300 skcipher\n\
                 nhpoly1305 nhpoly1305-avx2 300 shash\nsha256 sha256-avx2 170 shash\ncbc(aes) cbc-aes-aesni 400 skcipher async";
    let registry = registry(lines, "6.1.174");
    let picked = |algorithm| picked(&registry, User::DmCrypt, algorithm);
    assert_eq!(picked("xts(aes)"), "xts(ecb(aes-aesni)) (to be made)");
    assert_eq!(picked("lrw(aes)"), "lrw(ecb(aes-aesni)) (to be made)");
    assert_eq!(
        picked("adiantum(xchacha12,aes)"),
        "adiantum(xchacha12-simd,aes-aesni,nhpoly1305-avx2) (to be made)"
    );
    assert_eq!(picked("essiv(cbc(aes),sha256)"), "essiv(cbc-aes-aesni,sha256-avx2) (to be made)");
    assert_eq!(picked("hctr2(aes)"), "missing polyval");
    assert_eq!(picked("xts(serpent)"), "missing serpent");
    assert_eq!(picked("nosuch(aes)"), "missing nosuch(aes)");
    let adiantum = registry.choice(User::DmCrypt, &Algorithm::parse("adiantum(xchacha12,aes)")).unwrap();
    assert_eq!(adiantum.priority, 300);
}

#[test]
fn equals_and_the_untested() {
    let lines =
        "xts(aes) second 300 skcipher\nxts(aes) first 300 skcipher\nxts(aes) better 400 skcipher untested";
    let registry = registry(lines, "6.12.0");
    assert_eq!(picked(&registry, User::DmCrypt, "xts(aes)"), "second", "the one that stands first");
    assert_eq!(picked(&registry, User::DmCrypt, "first"), "first", "by the driver's name");
}

#[test]
fn the_kernels_own_flags_win_over_the_table() {
    let mut registry =
        registry("xts(aes) xts-aes-caam 3000 skcipher async\nxts(aes) xts-aes-ce 300 skcipher", "6.12.0");
    assert_eq!(picked(&registry, User::DmCrypt, "xts(aes)"), "xts-aes-ce");
    registry.drivers[0].flags = Some(Flags::ASYNC);
    assert_eq!(picked(&registry, User::DmCrypt, "xts(aes)"), "xts-aes-caam");
}
