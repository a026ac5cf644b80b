//! New VeraCrypt volumes: every hash and chain, hidden ones, what is refused, and cuts.

use super::change::without_argon2id;
use super::{Result, open, place};
use keyway_crypto::{CascadeMode, Cpu, Secret};
use keyway_format::tcrypt::{CIPHERS, KDFS, Position, Program};
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::device::stream::{Meter, Options, Sink, Source, transfer};
use keyway_volume::kind::Found;
use keyway_volume::kind::tcrypt::{NewVolume, Outer, Tcrypt, Unlocked};
use keyway_volume::{Error, OsRandom, Random, Storage, UnlockOptions, Volume};
use std::sync::Arc;

const KEY: &str = "correct horse battery staple";
const OTHER: &str = "what opens the volume in it";
const LEN: usize = 320 << 10;
const DATA: usize = 131_072;

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn quick() -> NewVolume {
    NewVolume { pim: Some(1), quick: true, ..NewVolume::default() }
}

fn make(new: &NewVolume, device: &dyn Storage, key: &str) -> Result<()> {
    new.make(device, &secret(key), &mut OsRandom, &Meter::new())
}

/// What opens volumes of [`quick`].
fn narrow(hidden: bool, backup: bool) -> Tcrypt {
    Tcrypt { pim: Some(1), hash: Some("sha512".into()), ..place(hidden, backup) }
}

fn volume(device: &Arc<Memory>, unlocked: &Unlocked) -> Volume {
    let found = unlocked.found(device.len()).unwrap();
    Volume::new(device.clone(), &found.layout, &found.volume_key, Cpu::detect()).unwrap()
}

/// Both headers open, say the same, and the plaintext is written and read.
#[track_caller]
fn check(new: &NewVolume, hash: &str, chain: &str) {
    let device = Arc::new(Memory::from(vec![7; LEN]));
    make(new, &*device, KEY).unwrap();
    let of = |backup| Tcrypt { hash: Some(hash.into()), ..narrow(false, backup) };
    let [first, backup] = [false, true].map(|backup| open(&of(backup), &device, KEY).unwrap());
    assert_eq!((first.kdf.name, first.cipher.chain, first.cipher.mode), (hash, chain, CascadeMode::Xts));
    assert_eq!((backup.position, backup.cipher), (Position::Backup, first.cipher));
    assert_eq!(first.header.to_bytes().expose(), backup.header.to_bytes().expose());
    let volume = volume(&device, &first);
    volume.write_at(b"written", 1000).unwrap();
    let mut data = [0; 7];
    volume.read_at(&mut data, 1000).unwrap();
    assert_eq!((&data, volume.len() as usize), (b"written", LEN - 2 * DATA));
}

#[test]
fn every_chain_and_every_hash() {
    for cipher in CIPHERS.iter().filter(|it| it.mode == CascadeMode::Xts) {
        check(&NewVolume { cipher: Some(cipher.chain.into()), ..quick() }, "sha512", cipher.chain);
    }
    let made =
        KDFS.iter().filter(|it| it.program == Program::VeraCrypt && !it.boot && it.name != "ripemd160");
    let names: Vec<_> = made.map(|kdf| kdf.name).collect();
    assert_eq!(names, ["sha512", "sha256", "argon2id", "whirlpool", "blake2s-256", "stribog512"]);
    for (name, chain) in names.into_iter().zip(["aes", "twofish-aes", "camellia"].into_iter().cycle()) {
        check(&NewVolume { hash: Some(name.into()), cipher: Some(chain.into()), ..quick() }, name, chain);
    }
    for (name, hash) in [("Streebog", "stribog512"), ("BLAKE2s", "blake2s-256"), ("SHA-256", "sha256")] {
        check(&NewVolume { hash: Some(name.into()), ..quick() }, hash, "aes");
    }
}

#[test]
fn what_the_header_says_and_what_is_around_it() {
    let device = Memory::from(vec![7; LEN]);
    make(&quick(), &device, KEY).unwrap();
    let mut bytes = vec![0; LEN];
    device.read_at(&mut bytes, 0).unwrap();
    let header = open(&narrow(false, false), &Arc::new(Memory::from(bytes.clone())), KEY).unwrap().header;
    let data = (LEN - 2 * DATA) as u64;
    assert_eq!((header.version, header.required, header.flags, header.sector_size), (5, 0x010b, 0, 512));
    assert_eq!((header.created, header.hidden_size.0), ([0; 2], 0));
    assert_eq!((header.volume_size.0, header.area_offset.0, header.area_size.0), (data, DATA as u64, data));
    assert_eq!(header.reserved, [0; 124]);
    let (front, back) = (&bytes[..DATA], &bytes[LEN - DATA..]);
    assert!(bytes[DATA..LEN - DATA].iter().all(|byte| *byte == 7), "quick leaves the data area");
    assert_ne!(front[..64], back[..64], "each has a salt of its own");
    for part in [front, back] {
        assert!(part.chunks(64).all(|chunk| chunk.iter().any(|byte| *byte != chunk[0])));
        let ones: u32 = part.iter().map(|byte| byte.count_ones()).sum();
        assert!((500_000..550_000).contains(&ones), "{ones} bits of 1048576");
    }

    let meter = Meter::new();
    let full = NewVolume { quick: false, ..quick() };
    full.make(&device, &secret(KEY), &mut OsRandom, &meter).unwrap();
    assert_eq!(
        (meter.done(), full.fills(&device).unwrap(), quick().fills(&device).unwrap()),
        (data, data, 0)
    );
    device.read_at(&mut bytes, 0).unwrap();
    let filled = &bytes[DATA..LEN - DATA];
    assert!(filled.chunks(16).zip(filled.chunks(16).skip(1)).all(|(one, next)| one != next));
    let stopped = Meter::new();
    stopped.stop();
    let why = full.make(&device, &secret(KEY), &mut OsRandom, &stopped).unwrap_err();
    assert!(matches!(why, Error::Crypto(keyway_crypto::Error::Stopped)), "{why}");
    device.read_at(&mut bytes, 0).unwrap();
    let device = Arc::new(Memory::from(bytes));
    assert!([false, true].into_iter().all(|backup| open(&narrow(false, backup), &device, KEY).is_err()));
}

#[test]
fn key_files_stand_for_a_passphrase() {
    let path = std::env::temp_dir().join(format!("keyway-new-{}", std::process::id()));
    std::fs::write(&path, b"a key file").unwrap();
    let device = Arc::new(Memory::zeroed(LEN));
    let new = NewVolume { key_files: vec![path.clone()], pim: None, hash: Some("sha256".into()), ..quick() };
    make(&new, &*device, "").unwrap();
    let of = Tcrypt { key_files: vec![path.clone()], hash: Some("sha256".into()), ..place(false, false) };
    assert!(open(&of, &device, "").is_ok());
    let without = Tcrypt { key_files: Vec::new(), ..of };
    assert!(open(&without, &device, "").is_err());
    std::fs::remove_file(&path).unwrap();
}

/// Nothing is written.
#[track_caller]
fn refused(new: &NewVolume, len: usize, key: &str) -> String {
    let device = Memory::from(vec![7; len]);
    let why = make(new, &device, key).unwrap_err().to_string();
    let mut bytes = vec![0; len];
    device.read_at(&mut bytes, 0).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 7));
    why
}

#[test]
fn what_veracrypt_does_not_make() {
    let hash = |name: &str| NewVolume { hash: Some(name.into()), ..quick() };
    let cipher = |name: &str| NewVolume { cipher: Some(name.into()), ..quick() };
    let pim = |pim| NewVolume { pim: Some(pim), ..quick() };
    for name in ["ripemd160", "md5", "sha", ""] {
        let known = "sha512, sha256, argon2id, whirlpool, blake2s-256, stribog512";
        let expected = format!("hash: VeraCrypt makes no volumes with \"{name}\", only with {known}");
        assert_eq!(refused(&hash(name), LEN, KEY), expected);
    }
    for name in ["blowfish_le", "aes-twofish", "cast5"] {
        let why = refused(&cipher(name), LEN, KEY);
        assert!(
            why.starts_with(&format!("cipher: VeraCrypt makes no volumes with \"{name}\", only with aes, ")),
            "{why}"
        );
    }
    let short =
        |least| format!("PIM: VeraCrypt takes one below {least} only with a passphrase of 20 bytes or more");
    assert_eq!(refused(&pim(484), LEN, "nineteen characters"), short(485));
    assert_eq!(refused(&NewVolume { pim: Some(11), ..hash("argon2id") }, LEN, "x"), short(12));
    assert_eq!(refused(&pim(0), LEN, KEY), "PIM: 0 is not one of 1 to 2147468");
    assert_eq!(
        refused(&quick(), LEN, &"x".repeat(129)),
        "passphrase: 129 bytes, but VeraCrypt takes at most 128"
    );
    assert_eq!(refused(&NewVolume { pim: None, ..quick() }, LEN, ""), "an empty passphrase needs key files");
    let length = "length of the volume: ";
    assert_eq!(
        refused(&quick(), 299_007, KEY),
        format!("{length}299007 bytes, but VeraCrypt's smallest has 299008")
    );
    assert_eq!(refused(&quick(), LEN + 1, KEY), format!("{length}327681 bytes are not a multiple of 512"));
    make(&pim(1), &Memory::zeroed(299_008), "just twenty letters!").unwrap();
    make(&pim(1), &Memory::zeroed(LEN), &"x".repeat(128)).unwrap();
}

/// A generator that is broken gives no key.
#[test]
fn equal_halves_of_a_key_are_refused() {
    struct Same;
    impl Random for Same {
        fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
            buf.fill(1);
            Ok(())
        }
    }
    let made = quick().make(&Memory::zeroed(LEN), &secret(KEY), &mut Same, &Meter::new());
    let why = made.unwrap_err().to_string();
    assert_eq!(why, "both halves of an XTS key are equal: the system's random bytes are not random");
}

fn hide(device: &dyn Storage, size: u64, new: &NewVolume, key: &str) -> Result<()> {
    let outer = Outer::open(device, &narrow(false, false), &secret(KEY), &UnlockOptions::default())?;
    outer.hide(device, size, new, &secret(key), (&mut OsRandom, &without_argon2id()))
}

/// What VeraCrypt would open the outer volume with does not open a hidden one.
#[test]
fn the_usual_pim_is_no_other_pim() {
    let hash = Some("sha256".to_owned());
    let new = NewVolume { pim: None, hash: hash.clone(), ..quick() };
    let device = Memory::zeroed(1 << 20);
    make(&new, &device, KEY).unwrap();
    let (of, options) = (Tcrypt { pim: None, hash, ..narrow(false, false) }, UnlockOptions::default());
    let outer = Outer::open(&device, &of, &secret(KEY), &options).unwrap();
    let named = NewVolume { pim: Some(485), ..new };
    let refused = outer.hide(&device, 65536, &named, &secret(KEY), (&mut OsRandom, &options)).unwrap_err();
    assert!(refused.to_string().starts_with("the hidden volume needs another passphrase"), "{refused}");
}

#[test]
fn a_volume_is_hidden_in_another() {
    let device = Arc::new(Memory::zeroed(1 << 20));
    make(&quick(), &*device, KEY).unwrap();
    let mut before = vec![0; 1 << 20];
    device.read_at(&mut before, 0).unwrap();
    let refused = |size, new: &NewVolume, key: &str| hide(&*device, size, new, key).unwrap_err().to_string();
    let size = "size of the hidden volume: ";
    assert_eq!(refused(65537, &quick(), OTHER), format!("{size}65537 bytes are not a multiple of 4096"));
    assert_eq!(
        refused(32768, &quick(), OTHER),
        format!("{size}32768 bytes, but VeraCrypt's smallest has 36864")
    );
    let room = "but the outer volume has room for 745472";
    assert_eq!(refused(749_568, &quick(), OTHER), format!("{size}749568 bytes, {room}"));
    assert!(
        refused(65536, &quick(), KEY)
            .starts_with("the hidden volume needs another passphrase, PIM or key files")
    );
    let mut after = vec![0; 1 << 20];
    device.read_at(&mut after, 0).unwrap();
    assert!(before == after, "nothing was written");

    hide(&*device, 745_472, &NewVolume { cipher: Some("serpent".into()), ..quick() }, OTHER).unwrap();
    device.read_at(&mut after, 0).unwrap();
    let changed: Vec<_> = (0..1 << 20).filter(|at| before[*at] != after[*at]).collect();
    let is_header =
        |at: &usize| (65536..66048).contains(at) || ((1 << 20) - 65536..(1 << 20) - 65024).contains(at);
    assert!(changed.iter().all(is_header) && changed.len() > 900, "{}", changed.len());
    for backup in [false, true] {
        let hidden = open(&narrow(true, backup), &device, OTHER).unwrap();
        assert_eq!((hidden.header.hidden_size.0, hidden.cipher.chain), (745_472, "serpent"));
        assert_eq!(hidden.header.area_offset.0, (1 << 20) - 131_072 - 4096 - 745_472);
        assert_eq!(volume(&device, &hidden).len(), 745_472);
    }
    assert!(open(&narrow(false, false), &device, KEY).is_ok());
    let again = hide(&*device, 65536, &quick(), OTHER).unwrap_err().to_string();
    assert_eq!(again, "a hidden volume opens with this passphrase already");
    let wrong = Outer::open(&*device, &narrow(false, false), &secret(OTHER), &UnlockOptions::default());
    assert!(matches!(wrong.err().unwrap(), Error::WrongPassphrase));
}

fn opens(image: &[u8], hidden: bool, key: &str) -> bool {
    let device = Arc::new(Memory::from(image.to_vec()));
    [false, true].into_iter().any(|backup| open(&narrow(hidden, backup), &device, key).is_ok())
}

/// At each stop the old volume is whole, or the new one, or there is none.
#[test]
fn a_cut_leaves_the_old_volume_the_new_one_or_noise() {
    let old = Memory::zeroed(LEN);
    make(&NewVolume { quick: false, ..quick() }, &old, OTHER).unwrap();
    let mut before = vec![0; LEN];
    old.read_at(&mut before, 0).unwrap();
    for is_quick in [false, true] {
        let faulty = Faulty::new(before.clone());
        make(&NewVolume { quick: is_quick, ..quick() }, &faulty, KEY).unwrap();
        let (complete, mut seen) = (faulty.image(), std::collections::BTreeSet::new());
        assert!(faulty.image_at(*faulty.cuts().last().unwrap()) == complete, "no write waits for a flush");
        let data = DATA..LEN - DATA;
        let (mut was_old, mut was_none, mut was_new) = (0, 0, 0);
        for cut in faulty.cuts() {
            let image = faulty.image_at(cut);
            if !seen.insert(image.clone()) {
                continue;
            }
            match (opens(&image, false, OTHER), opens(&image, false, KEY)) {
                (true, true) => panic!("{cut:?}: both open"),
                (true, false) => {
                    assert!(image[data.clone()] == before[data.clone()], "{cut:?}: the old one is not whole");
                    was_old += 1;
                }
                (false, true) => {
                    assert!(
                        image[data.clone()] == complete[data.clone()],
                        "{cut:?}: the new one is not whole"
                    );
                    was_new += 1;
                }
                (false, false) => was_none += 1,
            }
        }
        assert!(was_old > 0 && was_none > 0 && was_new > 0, "{was_old} {was_none} {was_new}");
        for event in 0..faulty.events().len() {
            let broken = Faulty::breaking_at(before.clone(), event, 100);
            let made = make(&NewVolume { quick: is_quick, ..quick() }, &broken, KEY);
            assert!(made.is_err(), "event {event} failed, but the volume was made");
        }
    }
}

/// The outer volume opens at each stop.
#[test]
fn a_cut_while_one_is_hidden_leaves_the_outer_volume() {
    let outer = Memory::zeroed(1 << 20);
    make(&quick(), &outer, KEY).unwrap();
    let mut before = vec![0; 1 << 20];
    outer.read_at(&mut before, 0).unwrap();
    let faulty = Faulty::new(before);
    hide(&faulty, 65536, &quick(), OTHER).unwrap();
    let mut hidden = Vec::new();
    for cut in faulty.cuts() {
        let image = faulty.image_at(cut);
        assert!(opens(&image, false, KEY), "{cut:?}");
        hidden.push(opens(&image, true, OTHER));
    }
    assert!(hidden.contains(&false) && hidden.contains(&true));
}

/// Content, zeros behind it, and no byte of the device that was there before. A cut leaves no volume, or all of it.
#[test]
fn a_volume_is_made_with_its_content() {
    let content: Vec<u8> = (0..100_001_u32).flat_map(u32::to_le_bytes).take(100_001).collect();
    let source = Memory::from(content.clone());
    let len = NewVolume::len_for(content.len() as u64).unwrap() as usize;
    assert_eq!((len, NewVolume::len_for(0).unwrap()), (100_352 + 262_144, 299_008));
    assert!(NewVolume::len_for(i64::MAX as u64 - 262_143).is_err());
    let new = NewVolume { cipher: Some("serpent-twofish-aes".into()), ..quick() };
    let fill = |device: &Arc<dyn Storage>| {
        new.check_room(&**device, source.len())?;
        new.make_filled(&**device, &secret(KEY), &mut OsRandom, |found: Found| {
            let volume = Volume::new(Arc::clone(device), &found.layout, &found.volume_key, Cpu::detect())?;
            let options = Options { extend_to: volume.len(), pad: true, ..Options::default() };
            let whole = Source::Storage(&source, 0..source.len());
            transfer(whole, Sink::Storage(&volume, 0), &options, &Meter::new()).expect("memory");
            Ok::<_, Error>(())
        })
    };
    let device = Arc::new(Memory::from(vec![7; len]));
    fill(&(device.clone() as _)).unwrap();
    for backup in [false, true] {
        let plain = volume(&device, &open(&narrow(false, backup), &device, KEY).unwrap());
        let mut found = vec![1; plain.len() as usize];
        plain.read_at(&mut found, 0).unwrap();
        assert!(found[..content.len()] == content && found[content.len()..].iter().all(|byte| *byte == 0));
    }
    let mut image = vec![0; len];
    device.read_at(&mut image, 0).unwrap();
    assert!(image.chunks(16).all(|block| block != [7; 16]), "all of it is written");

    let small: Arc<dyn Storage> = Arc::new(Memory::from(vec![7; len - 512]));
    let why = fill(&small).unwrap_err();
    assert!(matches!(why, Error::TooShort { needs, has } if needs == has + 512), "{why:?}");
    let mut after = vec![0; len - 512];
    small.read_at(&mut after, 0).unwrap();
    assert!(after.iter().all(|byte| *byte == 7), "nothing was written");

    let faulty = Arc::new(Faulty::new(vec![7; len]));
    fill(&(faulty.clone() as _)).unwrap();
    let (mut none, mut whole) = (0, 0);
    for cut in faulty.cuts() {
        let image = faulty.image_at(cut);
        if !opens(&image, false, KEY) {
            none += 1;
            continue;
        }
        let device = Arc::new(Memory::from(image));
        let unlocked = open(&narrow(false, true), &device, KEY).expect("the copy is written first");
        let mut found = vec![1; content.len()];
        volume(&device, &unlocked).read_at(&mut found, 0).unwrap();
        assert!(found == content, "{cut:?}");
        whole += 1;
    }
    assert!(none > 0 && whole > 0, "{none} {whole}");
}
