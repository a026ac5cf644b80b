//! The contents of suites and slices.

use super::*;
use crate::results::CipherCase;

fn asked(suite: Option<Suite>, ciphers: &[&str]) -> Asked {
    Asked { suite, ciphers: ciphers.iter().map(ToString::to_string).collect(), cpus: 2, ..Asked::default() }
}

fn ciphers(listed: &[Listed]) -> impl Iterator<Item = (&CipherCase, Option<&Outcome>)> {
    listed.iter().filter_map(|it| match &it.case {
        Case::Cipher(case) => Some((case, it.outcome.as_ref())),
        _ => None,
    })
}

fn reason<'a>(listed: &'a [Listed], spec: &str, key_bits: u32) -> &'a str {
    let found = ciphers(listed).find(|(case, _)| case.spec == spec && case.key_bits == key_bits);
    match found {
        Some((_, Some(Outcome::Impossible { reason }))) => reason,
        other => panic!("{spec} {key_bits}: {other:?}"),
    }
}

#[test]
fn the_default_is_there_wherever_ciphers_are_and_marked() {
    for asked in [
        asked(Some(Suite::Quick), &[]),
        asked(Some(Suite::Article), &["serpent*"]),
        asked(None, &["twofish-cbc-plain64"]),
        Asked { hashes: vec!["sha256".into()], key_bits: vec![256], ..asked(None, &[]) },
    ] {
        let listed = list(&asked).unwrap();
        let (first, _) = ciphers(&listed).next().unwrap();
        assert_eq!((first.spec.as_str(), first.key_bits, first.default), ("aes-xts-plain64", 512, true));
        let marked = ciphers(&listed).filter(|(case, _)| case.default);
        assert!(marked.into_iter().all(|(case, _)| case.spec == "aes-xts-plain64"));
    }
    let only_kdfs = Asked { hashes: vec!["sha256".into()], ..asked(None, &[]) };
    assert_eq!(ciphers(&list(&only_kdfs).unwrap()).count(), 0);
}

#[test]
fn beside_peers_the_defaults_long_requests_come_first() {
    let compare = vec!["openssl".to_owned()];
    let listed = list(&Asked { compare, ..asked(None, &["twofish-xts-plain64"]) }).unwrap();
    let first: Vec<_> = ciphers(&listed).take_while(|(case, _)| case.message == 65_536).collect();
    // Two sector sizes, two directions, one thread and all, by both.
    assert_eq!(first.len(), 16);
    assert!(first.iter().all(|(case, _)| case.spec == "aes-xts-plain64"));
    assert_eq!(first.iter().filter(|(case, _)| case.by == By::Peer("openssl".into())).count(), 8);
    let alone = list(&asked(None, &["twofish-xts-plain64"])).unwrap();
    assert_eq!(ciphers(&alone).next().unwrap().0.message, 512);
}

#[test]
fn the_article_is_whole_and_its_impossible_rows_have_reasons() {
    let listed = list(&asked(Some(Suite::Article), &[])).unwrap();
    for (text, sizes) in article::TYPED {
        for size in sizes.split(' ') {
            let bits = if size == "-" { article::SIZE_UNTYPED } else { size.parse().unwrap_or(0) };
            assert!(
                ciphers(&listed).any(|(case, _)| (case.spec.as_str(), case.key_bits) == (*text, bits)),
                "{text} {size}"
            );
        }
    }
    // The commenter found this out years later.
    assert!(reason(&listed, "aes-xts-plain", 128).contains("256, 384 or 512 bits"));
    assert!(reason(&listed, "blowfish-xts-plain", 128).contains("block"));
    assert!(reason(&listed, "cast5-xts-plain", 128).contains("block"));
    assert!(reason(&listed, "salsa20-cbc-essiv:sha256", 128).contains("stream"));
    assert!(reason(&listed, "arc4-xts-plain", 0).contains("not a key size"));
    assert!(reason(&listed, "aes-cbc-essiv:sha256", 196).contains("128, 192 or 256"));
    // Both sector sizes, both directions, on one core and on all.
    let of =
        |spec: &str| ciphers(&listed).filter(|(case, _)| case.spec == spec && case.key_bits == 256).count();
    assert_eq!(of("aes-cbc-benbi"), 8);
}

#[test]
fn slices_take_exact_names_patterns_and_sizes() {
    let one = Asked {
        key_bits: vec![512],
        sector_sizes: vec![4096],
        threads: vec![1],
        directions: vec![Direction::Encrypt],
        messages: vec![4096],
        ..asked(None, &["aes-xts-plain64"])
    };
    let listed = list(&one).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        listed[0].case.id(),
        "cipher/keyway/aes-xts-plain64/key512/sector4096/message4096/encrypt/threads1"
    );
    let serpents = list(&asked(None, &["serpent-*-plain64"])).unwrap();
    assert!(ciphers(&serpents).all(|(case, _)| case.default || case.spec.starts_with("serpent-")));
    assert!(ciphers(&serpents).any(|(case, _)| case.spec == "serpent-lrw-plain64"));
    assert!(serpents.iter().all(|it| matches!(it.case, Case::Cipher(_))), "no key derivation");
    let lmk = list(&asked(None, &["aes:64-cbc-lmk"])).unwrap();
    assert!(ciphers(&lmk).any(|(case, outcome)| case.sector_size == 4096 && outcome.is_some()));
    assert!(ciphers(&lmk).any(|(case, outcome)| case.sector_size == 512 && outcome.is_none()));
}

#[test]
fn chains_of_ciphers_are_chosen_by_name_by_pattern_and_by_their_suite() {
    let specs = |asked: Asked| -> Vec<(String, u32)> {
        let listed = list(&asked).unwrap();
        let own = ciphers(&listed).filter(|(case, outcome)| !case.default && outcome.is_none());
        let mut specs: Vec<_> = own.map(|(case, _)| (case.spec.clone(), case.key_bits)).collect();
        specs.dedup();
        specs
    };
    let whole = |text: &str, bits| (text.to_owned(), bits);
    let chain = [whole("serpent-twofish-aes-xts-plain64", 1536)];
    assert_eq!(specs(asked(None, &["serpent-twofish-aes"])), chain);
    assert_eq!(specs(asked(None, &["serpent-twofish-aes-xts-plain64"])), chain);
    assert_eq!(specs(asked(Some(Suite::VeraCrypt), &["serpent-twofish-aes"])), chain);
    assert_eq!(specs(asked(None, &["*-blowfish_le-*"])), [whole("serpent-blowfish_le-aes-cbc-tcrypt", 1216)]);
    let suite = specs(asked(Some(Suite::VeraCrypt), &[]));
    assert!(suite.contains(&whole("kuznyechik-xts-plain64", 512)) && suite.contains(&chain[0]), "{suite:?}");
    // Its fifteen, of which one is the default.
    assert_eq!(suite.len(), 14, "{suite:?}");
    let listed = list(&asked(Some(Suite::VeraCrypt), &[])).unwrap();
    let of_sectors = |sector| ciphers(&listed).filter(move |(case, _)| case.sector_size == sector);
    assert!(of_sectors(4096).all(|(case, _)| case.default) && of_sectors(512).all(|(_, it)| it.is_none()));

    let mut kdfs: Vec<_> = listed
        .iter()
        .filter_map(|it| match &it.case {
            Case::Kdf(kdf) => Some((kdf.kdf.as_str(), kdf.hash.as_deref(), kdf.memory_kib)),
            _ => None,
        })
        .collect();
    kdfs.dedup();
    let hashes = ["sha512", "sha256", "whirlpool", "blake2s-256", "ripemd160", "stribog512"];
    let mut expected: Vec<_> = hashes.iter().map(|hash| ("pbkdf2", Some(*hash), None)).collect();
    expected.push(("argon2id", None, Some(416 << 10)));
    assert_eq!(kdfs, expected);

    let listed = list(&asked(None, &["twofish-aes"])).unwrap();
    let (large, outcome) =
        ciphers(&listed).find(|(case, outcome)| !case.default && outcome.is_some()).unwrap();
    assert_eq!(large.sector_size, 4096);
    let reason = "chains of ciphers are defined for sectors of 512 bytes, not 4096";
    assert_eq!(outcome, Some(&Outcome::impossible(reason)));
    let sized = Asked { key_bits: vec![512], ..asked(None, &["twofish-aes"]) };
    let reason = "twofish-aes-xts-plain64 takes a key of 1024 bits (those of all its ciphers), not 512 bits";
    assert_eq!(self::reason(&list(&sized).unwrap(), "twofish-aes-xts-plain64", 512), reason);
    let wrong = list(&asked(None, &["serpent-twofisch-aes-xts-plain64"])).unwrap_err();
    assert!(wrong.known.iter().any(|name| name == "serpent-twofish-aes-xts-plain64"));
}

#[test]
fn unknown_names_are_refused_with_what_could_be_meant() {
    let wrong = list(&asked(None, &["aes-xts-plain65"])).unwrap_err();
    assert_eq!((wrong.what, wrong.name.as_str()), (Named::Cipher, "aes-xts-plain65"));
    assert!(wrong.known.iter().any(|name| name == "aes-xts-plain64"));
    assert!(list(&asked(Some(Suite::Quick), &["camellia*"])).is_err());
    let none = || asked(None, &[]);
    for (wrong, what, name) in [
        (Asked { hashes: vec!["sha257".into()], ..none() }, Named::Hash, "sha257"),
        (Asked { kdfs: vec!["scrypt".into()], ..none() }, Named::Kdf, "scrypt"),
        (Asked { compare: vec!["libressl".into()], ..none() }, Named::Peer, "libressl"),
    ] {
        let wrong = list(&wrong).unwrap_err();
        assert_eq!((wrong.what, wrong.name.as_str()), (what, name));
    }
}

#[test]
fn key_derivation_is_all_of_it_unless_some_is_chosen() {
    let kdfs = |asked: Asked| -> Vec<String> {
        let listed = list(&asked.key_derivation()).unwrap();
        assert_eq!(ciphers(&listed).count(), 0, "no cipher");
        let mut kdfs: Vec<String> = listed.iter().filter_map(|it| kdf(&it.case)).collect();
        kdfs.dedup();
        kdfs
    };
    assert_eq!(kdfs(asked(None, &[])), kdfs::ALL);
    let one = |name: &str| vec![name.to_owned()];
    assert_eq!(kdfs(Asked { hashes: one("sha256"), ..asked(None, &[]) }), ["pbkdf2"]);
    assert_eq!(kdfs(Asked { kdfs: one("argon2i"), ..asked(None, &[]) }), ["argon2i"]);
}

fn kdf(case: &Case) -> Option<String> {
    match case {
        Case::Kdf(kdf) => Some(kdf.kdf.clone()),
        _ => None,
    }
}

#[test]
fn peers_stand_beside_each_case_that_exists() {
    let with = Asked { compare: vec!["kernel".into(), "openssl".into()], ..asked(None, &["aes-xts-plain"]) };
    let listed = list(&with).unwrap();
    let by = |by: &str| ciphers(&listed).filter(|(case, _)| case.by.to_string() == by).count();
    assert_eq!((by("keyway"), by("kernel")), (by("openssl"), by("openssl")));
    assert!(by("openssl") > 0);
}

#[test]
fn everything_is_everything() {
    let all = list(&Asked { threads: vec![1], ..asked(Some(Suite::All), &["aes-*"]) }).unwrap();
    let existing = ciphers(&all).filter(|(_, outcome)| outcome.is_none()).count();
    let impossible = ciphers(&all).filter(|(_, outcome)| outcome.is_some()).count();
    assert!(existing > 1000 && impossible > 50, "{existing} {impossible}");
}
