//! Volumes of Windows Vista: what nothing vouches for is read only for those who say so, and dislocker reads the same.

use super::peers::{ASCII, ascii, dislocked};
use super::{bitlk, judge, judge_as, plaintext, secret, storage};
use keyway::{Device, Unlock};
use keyway_crypto::Cpu;
use keyway_format::bitlk::Version;
use keyway_format::crc32::crc32;
use keyway_tests::bitlk::{
    Bitlk, LEN, METADATA, PASSPHRASE, Protector, RECOVERY, SECOND_MFT, checked, sealed_again,
};
use keyway_tests::{Scratch, keyway, need};
use keyway_volume::kind::bitlk::Header;
use keyway_volume::kind::{Judged, Key};
use keyway_volume::{Result, Storage, UnlockOptions, Volume};
use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;

/// In AES-CBC with the diffuser, the default of Windows Vista.
fn made() -> Bitlk {
    Bitlk { vista: true, method: 0x8000, ..Bitlk::default() }
}

/// One with `field` at `at` of each copy of its metadata.
fn with(made: &Bitlk, at: usize, field: &[u8]) -> Vec<u8> {
    let mut volume = made.make(&plaintext());
    for copy in METADATA {
        volume[copy + at..copy + at + field.len()].copy_from_slice(field);
        let sealed = checked(volume[copy..copy + made.headers_len()].to_vec());
        volume[copy..copy + sealed.len()].copy_from_slice(&sealed);
    }
    volume
}

/// For reading, by who says that it is one.
fn opened(data: &Arc<dyn Storage>, text: &str) -> Result<Volume> {
    let judged = judge_as(&bitlk::Bitlk { allows_vista: true }, data, false)?;
    let found = judged.open(Key::Passphrase(&secret(text)), &UnlockOptions::default())?;
    Volume::new(data.clone(), &found.layout, &found.volume_key, Cpu::detect())
}

fn shown(volume: &Volume) -> Vec<u8> {
    let mut shown = vec![0; volume.len() as usize];
    volume.read_at(&mut shown, 0).unwrap();
    shown
}

/// What opening it is refused with.
fn refused(volume: &[u8]) -> String {
    let why = opened(&storage(volume), PASSPHRASE).map_or_else(|why| why.to_string(), |_| "opened".into());
    why.strip_prefix("the BitLocker volume cannot be opened: ").unwrap_or(&why).to_owned()
}

fn notes(volume: &[u8]) -> Vec<String> {
    let notes = judge_as(&bitlk::Bitlk { allows_vista: true }, &storage(volume), false).unwrap().notes();
    assert_eq!(notes[0], NOTE);
    notes[1..].to_vec()
}

const NOTE: &str = "It is a BitLocker volume of Windows Vista: its metadata and its first 8 KiB are not \
    authenticated, and the latter are not encrypted either.";
const UNVOUCHED: &str = "its metadata call it a BitLocker volume of Windows Vista, but are not authenticated: \
    without any key, a newer volume can be disguised as one";

/// Its metadata are found from the cluster that the boot sector says.
#[test]
fn every_method_reads_as_it_was_made() {
    let plain = plaintext();
    for method in [0x8000, 0x8001, 0x8002, 0x8003] {
        let volume = Bitlk { method, ..made() }.make(&plain);
        let data = storage(&volume);
        let header = Header::read(&*data).unwrap();
        assert_eq!((header.boot.version, header.metadata.version), (Version::Vista, 1));
        assert_eq!(header.copies.map(|(at, _)| at.0 as usize), METADATA);
        let ours = opened(&data, PASSPHRASE).unwrap();
        assert!(shown(&ours) == Bitlk::visible_of_vista(&plain), "{method:#x}");
        for (at, len) in [(0, 8), (511, 1), (METADATA[1], 512), (LEN - 1, 1)] {
            let refused = ours.write_at(&vec![1; len], at as u64).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{at}");
        }
        assert_eq!(notes(&volume), [""; 0]);
    }
}

#[test]
fn dislocker_reads_the_same() {
    need!("dislocker-file");
    let (scratch, plain) = (Scratch::new(), plaintext());
    for method in [0x8000, 0x8001, 0x8002, 0x8003] {
        let volume = Bitlk { method, vista: true, ..ascii() }.make(&plain);
        let ours = shown(&opened(&storage(&volume), ASCII).unwrap());
        let mut read = dislocked(&scratch, &scratch.file("volume", &volume), &format!("-u{ASCII}"));
        // dislocker 0.7.2 has two faults that later ones have not: it leaves the cluster of the metadata where NTFS has that of
        // its second MFT, and decrypts the last sector, which is not encrypted.
        let cluster = read[56..].first_chunk().unwrap();
        assert!([[0, 1, 0, 0, 0, 0, 0, 0], SECOND_MFT.to_le_bytes()].contains(cluster));
        read[56..64].copy_from_slice(&SECOND_MFT.to_le_bytes());
        assert_eq!(read.len(), LEN);
        assert!(read[..LEN - 512] == ours[..LEN - 512], "{method:#x}");
    }
}

/// Clusters of 32 KiB, of which the metadata take a whole one.
#[test]
fn metadata_take_whole_clusters() {
    let plain = plaintext();
    let (mut volume, mut visible) = (made().make(&plain), Bitlk::visible_of_vista(&plain));
    for at in [0, LEN - 512] {
        volume[at + 13] = 64;
        volume[at + 56..at + 64].copy_from_slice(&(METADATA[0] as u64 / 32768).to_le_bytes());
        visible[at + 13] = 64;
    }
    METADATA.iter().for_each(|at| visible[*at..*at + 32768].fill(0));
    assert!(shown(&opened(&storage(&volume), PASSPHRASE).unwrap()) == visible);
}

/// One whose NTFS ends at `at`, with this copy of the boot sector there; its last sector is data.
fn ending_at(at: usize, copy: impl Fn(&mut [u8])) -> Vec<u8> {
    let plain = plaintext();
    let mut volume = made().make(&plain);
    let of_data = Bitlk { method: 0x8000, ..Bitlk::default() }.make(&plain);
    volume[LEN - 512..].copy_from_slice(&of_data[LEN - 512..]);
    volume[40..48].copy_from_slice(&(at as u64 / 512).to_le_bytes());
    volume.copy_within(..512, at);
    copy(&mut volume[at..at + 512]);
    volume
}

fn visible_ending_at(at: usize) -> Vec<u8> {
    let plain = plaintext();
    let mut visible = Bitlk::visible_of_vista(&plain);
    visible[LEN - 512..].copy_from_slice(&plain[LEN - 512..]);
    visible[40..48].copy_from_slice(&(at as u64 / 512).to_le_bytes());
    visible.copy_within(..512, at);
    visible
}

/// On a larger device, too.
#[test]
fn the_boot_sectors_copy_is_where_ntfs_ends() {
    for at in [LEN - 8192, LEN - 1024, LEN - 512] {
        let volume = ending_at(at, |_| ());
        assert!(shown(&opened(&storage(&volume), PASSPHRASE).unwrap()) == visible_ending_at(at), "{at}");
        assert_eq!(notes(&volume), [""; 0]);
    }
}

#[test]
fn what_is_not_the_same_is_no_copy() {
    for at in [LEN - 8192, LEN - 512] {
        let volume = ending_at(at, |copy| copy[511] ^= 1);
        let (read, visible) = (shown(&opened(&storage(&volume), PASSPHRASE).unwrap()), visible_ending_at(at));
        assert!(read[..at] == visible[..at] && read[at + 512..] == visible[at + 512..]);
        assert!(read[at..at + 512] != volume[at..at + 512] && read[at..at + 512] != visible[at..at + 512]);
        assert_eq!(notes(&volume), [no_copy(at)]);
    }
    // The first 8 KiB are as they are, whatever is there.
    for at in [512, 4096, 8192 - 512] {
        let volume = ending_at(at, |_| ());
        let read = shown(&opened(&storage(&volume), PASSPHRASE).unwrap());
        assert!(read[512..8192] == volume[512..8192]);
        assert_eq!(notes(&volume), [no_copy(at)]);
    }
}

fn no_copy(at: usize) -> String {
    format!("There is no copy of NTFS's boot sector at byte {at}: those bytes are taken for data.")
}

/// NTFS has its metadata within it.
#[test]
fn metadata_behind_the_boot_sectors_copy_are_refused() {
    for at in [8192, METADATA[1] + 32768, METADATA[2] + 12288] {
        let why = refused(&ending_at(at, |_| ()));
        let start = "the BitLocker volume cannot be mapped: a copy of the metadata: 16384 bytes at byte ";
        assert!(why.starts_with(start) && why.ends_with(&format!("are not within its {at} bytes")), "{why}");
    }
}

#[test]
fn a_device_that_was_cut_shows_what_is_left() {
    let volume = made().make(&plaintext());
    let (copy, visible) = (LEN - 512, Bitlk::visible_of_vista(&plaintext()));
    for len in [copy - 512, copy, copy + 511] {
        let cut = &volume[..len];
        let read = shown(&opened(&storage(cut), PASSPHRASE).unwrap());
        assert!(read == visible[..len - len % 512], "{len}");
        let note = match len < copy {
            true => format!("NTFS ends at byte {copy}, but the device ends at byte {len}."),
            false => format!(
                "NTFS's copy of its boot sector, at byte {copy}, is not on the device, which ends at byte {len}."
            ),
        };
        assert_eq!(notes(cut), [note]);
    }
}

/// What Windows Vista opened its volumes with.
#[test]
fn every_secret_opens_it() {
    let visible = Bitlk::visible_of_vista(&plaintext());
    let of = |protector| storage(&Bitlk { protectors: vec![protector], ..made() }.make(&plaintext()));
    let kind = bitlk::Bitlk { allows_vista: true };
    let reads = |data: Arc<dyn Storage>, key: Key<'_>| {
        let found = judge_as(&kind, &data, false).unwrap().open(key, &UnlockOptions::default()).unwrap();
        shown(&Volume::new(data, &found.layout, &found.volume_key, Cpu::detect()).unwrap()) == visible
    };
    assert!(reads(of(Protector::Recovery(RECOVERY)), Key::Passphrase(&secret(RECOVERY))));
    assert!(reads(of(Protector::StartupKey), Key::File(&secret(Bitlk::startup_key()))));
    let found = judge_as(&kind, &of(Protector::Clear), false).unwrap().open_unprotected().unwrap().unwrap();
    assert!(found.volume_key.ct_eq(made().volume_key().expose()));
}

/// A digest that is there must be right.
#[test]
fn a_digest_is_not_passed_over() {
    let outcome = |change: fn(&mut [u8])| {
        let mut volume = made().make(&plaintext());
        for copy in METADATA {
            let mut metadata = sealed_again(&volume[copy..copy + made().headers_len()]);
            change(&mut metadata);
            let sum = crc32(&metadata[..made().headers_len()]);
            metadata[made().headers_len() + 4..][..4].copy_from_slice(&sum.to_le_bytes());
            volume[copy..copy + metadata.len()].copy_from_slice(&metadata);
        }
        refused(&volume)
    };
    assert_eq!(outcome(|_| ()), "opened");
    let why = outcome(|metadata| metadata[104] ^= 1);
    assert!(why.ends_with("the volume master key does not authenticate them"), "{why}");
}

/// One whose copies are `len` bytes long with their checksum, by an entry that means nothing.
fn with_metadata_of(len: usize) -> Vec<u8> {
    let mut volume = made().make(&plaintext());
    for copy in METADATA {
        let le32 = |at: usize| u32::from_le_bytes(*volume[copy + at..].first_chunk().unwrap());
        let end = 64 + le32(64) as usize;
        let mut long = volume[copy..copy + end].to_vec();
        long.extend([(len - 8 - end) as u16, 0, 0x14, 1].map(u16::to_le_bytes).as_flattened());
        long.resize(len - 8, 0x55);
        let entries_end = (len - 8 - 64) as u32;
        [64, 76].iter().for_each(|at| long[*at..*at + 4].copy_from_slice(&entries_end.to_le_bytes()));
        long[8..10].copy_from_slice(&((len - 8) as u16).to_le_bytes());
        let long = checked(long);
        volume[copy..copy + long.len()].copy_from_slice(&long);
    }
    volume
}

#[test]
fn metadata_longer_than_their_area_are_refused() {
    assert_eq!(refused(&with_metadata_of(16384)), "opened");
    assert_eq!(
        refused(&with_metadata_of(16400)),
        "the BitLocker volume cannot be mapped: its metadata need 16400 bytes, but their area has 16384"
    );
}

/// Whoever can write to the disk, and has no key, puts metadata without a digest before the true keys, and a boot sector.
#[test]
fn a_newer_volume_is_not_passed_off_as_one() {
    let plain = plaintext();
    let newer = Bitlk { method: 0x8000, ..Bitlk::default() };
    let (mut volume, forged) = (newer.make(&plain), made().make(&plain));
    volume[..8192].copy_from_slice(&forged[..8192]);
    METADATA.iter().for_each(|at| volume[*at..*at + 4096].copy_from_slice(&forged[*at..*at + 4096]));
    let data = storage(&volume);
    assert_eq!(judge(&data).err().unwrap().to_string(), UNVOUCHED);
    // The keys are the true ones: this is what the word of the user's is for.
    assert_eq!(refused(&volume), "opened");
    let judged = judge_as(&bitlk::Bitlk { allows_vista: true }, &data, false).unwrap();
    let by_key = judged.open(Key::Volume(&newer.volume_key()), &UnlockOptions::default());
    let why = by_key.err().unwrap().to_string();
    assert!(
        why.starts_with("the start of a volume of Windows Vista is not encrypted, and a volume key"),
        "{why}"
    );
}

#[test]
fn what_windows_vista_did_not_make_is_refused() {
    let plain = plaintext();
    assert_eq!(refused(&with(&made(), 0, b"")), "opened");
    let partly = "it is only partly encrypted, and its metadata, which say how far, are not authenticated";
    for state in [[5, 0, 4], [4, 0, 1], [1, 0, 1]] {
        assert_eq!(refused(&with(&made(), 12, &state)), partly);
    }
    let newer = Bitlk { vista: true, ..Bitlk::default() };
    assert_eq!(refused(&with(&newer, 0, b"")), "its encryption is newer than Windows Vista");
    let other = "its boot sector and its metadata have different versions";
    let seven = Bitlk::default().make(&plain);
    let mut of_vista = made().make(&plain);
    of_vista[..512].copy_from_slice(&seven[..512]);
    assert_eq!(refused(&of_vista), other);
    let mut of_seven = seven;
    of_seven[1] = b'\x52';
    of_seven[56..64].copy_from_slice(&(METADATA[0] as u64 / 4096).to_le_bytes());
    assert_eq!(refused(&of_seven), other);
    let mut large = made().make(&plain);
    // Sectors of 4096 bytes, one a cluster.
    large[11..14].copy_from_slice(&[0, 16, 1]);
    assert_eq!(refused(&large), "its sectors have 4096 bytes, but Windows Vista supports only 512");
    let overlaps = refused(&with(&made(), 40, &(METADATA[0] as u64 + 4096).to_le_bytes()));
    assert!(overlaps.contains("overlaps the one that ends at byte"), "{overlaps}");
    let why =
        judge_as(&bitlk::Bitlk { allows_vista: true }, &storage(&made().make(&plain)), true).err().unwrap();
    assert_eq!(why.to_string(), NOT_WRITTEN);
}

const NOT_WRITTEN: &str = "BitLocker volumes of Windows Vista are not written to (read-only works)";

/// Through the program: nothing without the user's word, and nothing but reading with it.
#[test]
fn it_is_read_by_who_says_that_it_is_one() {
    let (scratch, plain) = (Scratch::new(), plaintext());
    let volume = scratch.file("volume", made().make(&plain));
    let (before, visible) = (fs::read(&volume).unwrap(), Bitlk::visible_of_vista(&plain));
    let name = volume.display();
    let run = |line: &str| keyway(line).arg(&volume).stdin(PASSPHRASE);
    let out = scratch.path("out");

    let option = "if you know that it is one, --allow-vista opens it for reading";
    let refused = format!("Device {name}: I{}; {option}.\n", &UNVOUCHED[1..]);
    assert_eq!(run("read --type bitlk").fails(1).errors(), refused);
    assert_eq!(run("open --type bitlk --readonly --test-passphrase").fails(1).errors(), refused);
    assert_eq!(run("copy --type bitlk --to raw").arg(&out).fails(1).errors(), refused);
    assert!(!out.exists());

    let note = format!("{name}: {NOTE}\n");
    let read = run("read --type bitlk --allow-vista").ok();
    assert!(read.stdout == visible);
    assert_eq!(read.errors(), note);
    run("copy --type bitlk --allow-vista --to raw").arg(&out).ok();
    assert!(fs::read(&out).unwrap() == visible);

    let new = scratch.file("new", "new");
    let denied = format!("{NOT_WRITTEN}.\n");
    assert_eq!(run("write --type bitlk --offset 100000").arg(&new).fails(1).errors(), denied);
    run("toLuks -q --type bitlk").arg(scratch.path("header")).fails(1).says(NOT_WRITTEN);
    run("toLuks --estimate --type bitlk").arg(scratch.path("header")).fails(1).says(NOT_WRITTEN);
    run("bitlkAddKey").arg(&new).fails(1).says(NOT_WRITTEN);
    run("bitlkRemoveKey -q").arg(&new).fails(1).says(NOT_WRITTEN);
    run("compare --type bitlk").arg(&volume).fails(1).says(&UNVOUCHED[3..]);
    run("serve --readonly --type bitlk").fails(1).says(&UNVOUCHED[3..]);
    assert!(fs::read(&volume).unwrap() == before);
    let takes = |verb: &str| run(&format!("{verb} --test-args --type bitlk --allow-vista"));
    for verb in ["copy", "compare", "mount", "open"] {
        takes(verb).arg(&out).ok().quiet();
    }
    takes("read").ok().quiet();
    takes("serve").ok().quiet();
    takes("write").arg(&new).fails(1).says("allow-vista");
    run("read --allow-vista").fails(1).says("Option --allow-vista is for --type bitlk.");
    let key: String = made().volume_key().expose()[..16].iter().map(|byte| format!("{byte:02x} ")).collect();
    run("bitlkDump -q --dump-volume-key").ok().says(&key);
}

/// Opened without root, for reading.
#[test]
fn it_is_open_for_reading_alone() {
    let (scratch, plain) = (Scratch::new(), plaintext());
    let volume = scratch.file("volume", made().make(&plain));
    let runtime = scratch.path("run");
    fs::create_dir(&runtime).unwrap();
    let program = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    let open = "bitlkOpen --allow-vista --backend nbd";
    program(open).arg(&volume).arg("old").stdin(PASSPHRASE).fails(1).says(NOT_WRITTEN);
    let without = program("bitlkOpen --readonly --backend nbd").arg(&volume).arg("old").stdin(PASSPHRASE);
    without.fails(1).says(&UNVOUCHED[3..]);
    program(open).args("--readonly").arg(&volume).arg("old").stdin(PASSPHRASE).ok();
    program("status old").ok().says("  type:    BITLK\n").says("  mode:    readonly\n");
    program("close old").ok();
}

#[test]
fn the_library_says_which_rule_it_breaks() {
    let scratch = Scratch::new();
    let volume = scratch.file("volume", made().make(&plaintext()));
    let device = Device::options().write(true).open(&volume).unwrap();
    let reads = Unlock::new().read_only();
    let error = device.admit_as(&keyway::Bitlk::new(), &reads).err().unwrap();
    assert_eq!(error.kind(), &keyway::ErrorKind::Policy { rule: "unvouched-metadata" });
    let of_vista = keyway::Bitlk::new().allow_vista();
    device.unlock_as(&of_vista, &keyway::Key::passphrase(PASSPHRASE), &reads).unwrap();
    let error = device.admit_as(&of_vista, &Unlock::new()).err().unwrap().to_string();
    assert!(error.contains(NOT_WRITTEN), "{error}");
}
