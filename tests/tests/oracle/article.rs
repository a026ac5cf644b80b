//! "Full encryption with LUKS … grub2 really slow": 2,612,730 iterations of SHA-512, four keyslots,
//! predicted and timed. Timings only decide whether the model is plausible; the ratios are printed.

use super::grub::Grub;
use super::kit::{Kit, Volume, judge};
use keyway_boot::loader::grub::{Loader, Version};
use keyway_boot::unlock_time::{Argon2Rates, Place, Rates};
use keyway_format::interval::Interval;
use keyway_tests::skip::is_slow;
use keyway_tests::{keyway, need};
use std::time::Instant;

/// A quarter of the article's, whose prediction is as good and whose four keys take GRUB 2.06 forty seconds;
/// `KEYWAY_SLOW` takes all of them.
fn iterations() -> u32 {
    2_612_730 / if is_slow() { 1 } else { 4 }
}

#[test]
fn the_article_predicted_and_timed() {
    need!("grub-fstest", "mke2fs");
    let grubs = Grub::all(keyway_tests::test_name!());
    let kit = Kit::new();
    let luks1 = |hash: &str, iterations: u32| {
        format!("--type luks1 -s 512 -h {hash} --pbkdf-force-iterations {iterations}")
    };
    let measure = kit.build("measure", &luks1("sha512", 300_000));
    // The digest takes an eighth of a second on this machine, as luksFormat creates it; keyslots
    // have the article's iterations, or a quarter of them.
    let mut four = kit.build("four", "--type luks1 -s 512 -h sha512 --iter-time 1");
    for slot in 1..=4 {
        four = four.add_key(&kit, slot, &format!("--pbkdf-force-iterations {}", iterations()));
    }
    keyway("luksKillSlot -q").arg(&four.path).arg("0").ok();
    let first = Volume { path: four.path.clone(), passphrase: b"passphrase of keyslot 1".to_vec(), slot: 1 };
    let others: Vec<(String, Volume)> = ["sha1", "sha256", "ripemd160"]
        .into_iter()
        .map(|hash| (hash.to_owned(), kit.build(hash, &luks1(hash, 100_000))))
        .collect();
    let argon2 = kit.build(
        "argon2",
        "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 65536 --pbkdf-parallel 4",
    );
    let more = kit.build(
        "argon2-more",
        "--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 262144 --pbkdf-parallel 4",
    );
    for grub in &grubs {
        let rates = calibrated(&kit, grub, &measure);
        for (hash, volume) in &others {
            report(&kit, grub, hash, volume, &rates);
        }
        // The table's ratios carry over from SHA-512 to other hashes; Argon2's rate is unrelated
        // and calibrated separately.
        if grub.version >= Version::V2_14 {
            let one = Rates { argon2: Argon2Rates::of_any(Interval::exact(1.0)), ..Rates::default() };
            let cost = one.seconds(&works(&argon2, grub)[0]).unwrap().likely;
            let took = seconds(&kit, grub, &argon2) - rates.each_slot.likely;
            let rates = Rates { argon2: Argon2Rates::of_any(Interval::exact(cost / took)), ..rates.clone() };
            report(&kit, grub, "argon2id, four times the memory", &more, &rates);
        }
        // The article's own GRUB was older than all of these: the oldest of these is timed on the
        // fourth keyslot.
        let (what, volume) = match grub.version {
            Version::V2_06 => ("the article, fourth keyslot", &four),
            _ => ("the article, one keyslot", &first),
        };
        report(&kit, grub, what, volume, &rates);
    }
}

/// The table's rates, scaled to be exact for one volume.
fn calibrated(kit: &Kit, grub: &Grub, volume: &Volume) -> Rates {
    let pbkdf2 = vec![("sha512".to_owned(), Interval::exact(1_000_000.0))];
    let table = Rates { pbkdf2, ..Rates::default() }.of_grub(grub.version.speed(), Place::Utility);
    let works = works(volume, grub);
    let predicted = table.total(&works).unwrap().likely;
    table.times(predicted / seconds(kit, grub, volume))
}

/// What GRUB computes until the volume's keyslot has opened, with the keyslots tried before it.
fn works(volume: &Volume, grub: &Grub) -> Vec<keyway_boot::unlock_time::Work> {
    let judgement = judge(&volume.path, &Loader::new(grub.version));
    let end = judgement.slots.iter().position(|slot| slot.number == volume.slot).unwrap() + 1;
    judgement.slots[..end].iter().flat_map(|slot| slot.works.clone()).collect()
}

/// The shortest of several runs, of more if they are short: other load only makes them longer.
fn seconds(kit: &Kit, grub: &Grub, volume: &Volume) -> f64 {
    let once = || {
        let start = Instant::now();
        let copy = kit.scratch.path("copy");
        grub.read(&volume.path, &volume.passphrase, &copy);
        let took = start.elapsed().as_secs_f64();
        assert!(
            std::fs::read(copy).is_ok_and(|copied| copied == kit.file),
            "{} was not read",
            volume.path.display()
        );
        took
    };
    let first = once();
    let more = match first {
        ..2.0 => 4,
        2.0..10.0 => 1,
        _ => 0,
    };
    (0..more).map(|_| once()).fold(first, f64::min)
}

fn report(kit: &Kit, grub: &Grub, what: &str, volume: &Volume, rates: &Rates) {
    let predicted = rates.total(&works(volume, grub)).unwrap().likely + rates.each_slot.likely;
    let took = seconds(kit, grub, volume);
    let ratio = predicted / took;
    println!("GRUB {}, {what}: predicted {predicted:.2} s, took {took:.2} s, ratio {ratio:.2}", grub.name);
    assert!((0.3..3.0).contains(&ratio), "the model is not of this world");
}
