//! What goes on with a smaller size (`--device-size`): cut everywhere, not a sector of what it keeps is lost, whoever
//! goes on with the size or without.

use super::open::simple;
use super::*;
use keyway_volume::reencrypt::{Sizes, UnderWay};
use keyway_volume::{Header, Refusal};

/// No multiple of the checksum block, which is one of the volume's length.
const LIMIT: u64 = (100 << 10) + 512;

fn case(resilience: &'static str) -> Case {
    Case { block: 4096, ..simple(Kind::Key { detached: true }, resilience) }
}

fn job(case: &Case, disks: &Disks, len: Option<u64>, rng: &mut dyn Random) -> Result<Job, Error> {
    let luks = Luks::open(disks.disk(0), Access::Write)?;
    let keys = VolumeKeys::new(Some(key(1)), Some(key(2)));
    let options = Options { zone: case.zone, data_len: len, ..Options::default() };
    Job::resume(luks, disks.disk(case.data_disk()), &keys, &options, rng)
}

fn resume(case: &Case, disks: &Disks, len: Option<u64>, rng: &mut dyn Random) -> Result<(), Error> {
    let mut job = job(case, disks, len, rng)?;
    while !job.step(rng)? {}
    Ok(())
}

/// What is kept is there, under the key that the header says; whether the header says that all is done.
fn check(images: &[Vec<u8>; 2], kept: &[u8], context: &str) -> bool {
    let luks = Luks::open(Arc::new(Memory::from(images[0].clone())), Access::Write).unwrap();
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!("not LUKS2") };
    if metadata.reencryption().unwrap_or_else(|e| panic!("{context}: {e}")).is_some() {
        return false;
    }
    let data = Arc::new(Memory::from(images[1].clone()));
    assert!(read_volume(&luks, data, &key(2), kept.len()) == kept, "{context}: lost");
    true
}

#[test]
fn no_power_cut_loses_a_sector_of_what_is_kept() {
    let mut states = 0;
    for resilience in ["checksum", "journal"] {
        let (case, rng) = (case(resilience), &mut seeded(5));
        let start = case.start(rng);
        let disks = Disks::new(start.images.clone());
        case.begin(&disks, rng).unwrap();
        let begun = disks.events();
        resume(&case, &disks, Some(LIMIT), rng).unwrap();
        let kept = &start.plaintext[..LIMIT as usize];
        assert!(check(&disks.images(), kept, "undisturbed"));
        let (before, after) = (&start.images[1], &disks.images()[1]);
        assert!(before[LIMIT as usize..] == after[LIMIT as usize..], "what is behind it was written");
        let unit = if resilience == "checksum" { case.block as usize } else { 64 };
        for at in begun..=disks.events() {
            for again in [Some(LIMIT), None, Some(LIMIT), None, Some(LIMIT), None] {
                let context = format!("{resilience}, cut after {at}, resumed with {again:?}");
                let mut images = disks.cut(&start.images, at, unit, &mut |limit| rng.below(limit));
                // Once more on the way, and then to the end.
                for fuse in [Some(rng.below(60)), None] {
                    states += 1;
                    if check(&images, kept, &context) {
                        break;
                    }
                    let before = images.clone();
                    let disks = Disks::new(images);
                    fuse.iter().for_each(|fuse| disks.break_after(*fuse));
                    let result = resume(&case, &disks, again, rng);
                    let broke = fuse.is_some_and(|fuse| disks.events() >= fuse);
                    assert!(broke || result.is_ok(), "{context}: {:?}", result.map_err(|e| e.to_string()));
                    let choose = &mut |limit| if broke { rng.below(limit) } else { 1 };
                    images = disks.cut(&before, disks.events(), unit, choose);
                }
                assert!(check(&images, kept, &context), "{context}: it does not end");
            }
        }
    }
    println!("{states} states of a limited re-encryption, 0 sectors lost");
}

/// What is done stays done, and nothing is written for a size that cannot be.
#[test]
fn only_a_size_that_it_can_have_goes_on() {
    let (case, rng) = (case("checksum"), &mut seeded(6));
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let sizes = || {
        let luks = Luks::open(disks.disk(0), Access::Read).unwrap();
        let under_way = UnderWay::of(luks.header()).unwrap().unwrap();
        Sizes::of(&under_way, disks.disk(1).len()).unwrap()
    };
    let len = start.plaintext.len() as u64;
    assert_eq!(sizes(), Sizes { least: 512, len, unit: 512 });
    let mut first = job(&case, &disks, None, rng).unwrap();
    first.step(rng).unwrap();
    drop(first);
    assert_eq!(sizes(), Sizes { least: 32 << 10, len, unit: 512 });
    let (images, events) = (disks.images(), disks.events());
    for wanted in [0, 512, (32 << 10) - 512, (32 << 10) + 100, len + 512] {
        assert!(!sizes().allow(wanted), "{wanted}");
        let Err(Error::Refused { kind: Refusal::Geometry, why }) = job(&case, &disks, Some(wanted), rng)
        else {
            panic!("{wanted} bytes are taken")
        };
        assert_eq!(why, "Illegal device size requested in reencryption parameters.");
        assert!(disks.images() == images && disks.events() == events, "{wanted}: something was written");
    }
    for wanted in [32 << 10, (32 << 10) + 512, len] {
        assert!(sizes().allow(wanted) && job(&case, &disks, Some(wanted), rng).is_ok(), "{wanted}");
    }
}

/// From the end, nothing may have been done from another one.
#[test]
fn what_goes_from_the_end_keeps_its_size_once_it_has_begun() {
    let (case, rng) = (simple(Kind::Shift, "checksum"), &mut seeded(7));
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    case.begin(&disks, rng).unwrap();
    let sizes = || {
        let luks = Luks::open(disks.disk(0), Access::Read).unwrap();
        Sizes::of(&UnderWay::of(luks.header()).unwrap().unwrap(), disks.disk(0).len()).unwrap()
    };
    let all = sizes();
    assert_eq!(all.least, 512);
    case.job(&disks, None, rng).unwrap().step(rng).unwrap();
    assert_eq!(sizes(), Sizes { least: all.len, ..all });
    assert!(sizes().allow(all.len) && !sizes().allow(all.len - 512));
}
