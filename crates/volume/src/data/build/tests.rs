//! Volumes made with their content: their length, what is refused, sector sizes, holes.

use super::*;
use crate::device::storage::{Memory, Readers};
use crate::device::stream::{Holes, Source};
use crate::unlock;
use crate::{Access, Cost, KdfChoice, Luks, OsRandom, UnlockOptions};
use std::path::PathBuf;

fn params() -> Params {
    let kdf = KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) };
    Params::Luks2(Luks2Params { kdf, ..Luks2Params::default() })
}

fn passphrase() -> Secret {
    Secret::copy_from(b"correct horse")
}

fn key() -> Secret {
    Secret::copy_from(&[7; 64])
}

fn planned(content: &Content<'_>) -> Plan {
    plan(params(), content, &key(), &passphrase(), &mut OsRandom).unwrap()
}

fn piped(bytes: &'static [u8]) -> Content<'static> {
    // The tests' pipes live as long as they run.
    let pipe = Box::leak(Box::new(bytes));
    let source = Source::Pipe(pipe);
    Content { source, len: None, holes: Holes::Fill, extend_to: 0, headroom: 0, limit: None }
}

fn plaintext(storage: Arc<dyn Storage>) -> Vec<u8> {
    let luks = Luks::open(Arc::clone(&storage), Access::Read).unwrap();
    let unlocked = unlock(&luks, &passphrase(), &UnlockOptions::default()).unwrap();
    let layout = luks.header().layout().unwrap();
    let volume = Volume::new(storage, &layout, &unlocked.volume_key, Cpu::detect()).unwrap();
    let mut all = vec![0; volume.len() as usize];
    volume.read_at(&mut all, 0).unwrap();
    all
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("keyway-build-{name}-{}", std::process::id()))
}

#[test]
fn a_file_is_as_long_as_its_content_in_whole_sectors() {
    let path = scratch("file");
    let new = NewFile::create(&path, false).unwrap();
    let content = piped(&[9; 5000]);
    let build = Build::start(planned(&content), Target::New(&new), content.len, &key()).unwrap();
    let moved = build.fill(content, Options::default(), &Meter::new()).unwrap();
    assert_eq!(moved, Moved { length: 5000, holes: 0 });
    build.settle(moved.length).unwrap();
    build.write_header(&mut OsRandom).unwrap();
    let all = plaintext(Arc::clone(new.file()) as _);
    assert!(all[..5000] == [9; 5000] && all[5000..] == [0; 3192]);
    assert!(!path.exists());
    new.complete(Readers::Owner).unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_device_is_refused_before_it_is_written_and_no_volume_before_its_header() {
    let image = Memory::zeroed(1 << 20);
    image.write_at(b"data", 4096).unwrap();
    let content = || Content::whole(&image, Holes::Fill);
    let device = |len| {
        let device: Arc<dyn Storage> = Arc::new(Memory::zeroed(len));
        device.write_at(b"LUKS\xba\xbe\x00\x01", 0).unwrap();
        Exclusive::claim(device).unwrap()
    };
    let start = |device| Build::start(planned(&content()), Target::Existing(device), Some(1 << 20), &key());
    let starts_with = |device: &Exclusive| {
        let mut bytes = [0; 4];
        device.read_at(&mut bytes, 0).unwrap();
        bytes
    };

    let short = device(17 << 20 >> 1);
    let refused = start(&short).map(drop).unwrap_err();
    assert!(matches!(refused, Error::TooShort { needs, has } if needs == 17 << 20 && has == 17 << 19));
    assert_eq!(&starts_with(&short), b"LUKS");

    let fits = device(18 << 20);
    let (build, stopped) = (start(&fits).unwrap(), Meter::new());
    assert_eq!(starts_with(&fits), [0; 4], "an old header must not claim new data");
    stopped.stop();
    assert!(matches!(build.fill(content(), Options::default(), &stopped), Err(Failure::Stopped)));
    assert!(Luks::open(Arc::clone(&fits), Access::Read).is_err());
    let moved = build.fill(content(), Options::default(), &Meter::new()).unwrap();
    build.settle(moved.length).unwrap();
    build.write_header(&mut OsRandom).unwrap();
    let all = plaintext(Arc::clone(&fits));
    assert_eq!((all.len(), &all[4096..4100]), (2 << 20, &b"data"[..]));
}

#[test]
fn the_sectors_are_the_largest_that_the_content_fills() {
    let of = |len: Option<u64>| {
        let mut content = piped(&[]);
        content.len = len;
        sector_size(&planned(&content)).unwrap()
    };
    assert_eq!([of(Some(8192)), of(Some(8193)), of(Some(4608)), of(None)], [4096, 512, 512, 4096]);
}

#[test]
fn a_plaintext_is_as_long_as_was_asked_for_or_as_its_source() {
    assert_eq!(plaintext_len(Some(7), None, None), Ok(Some(7)));
    assert_eq!(plaintext_len(Some(7), Some(9), None), Ok(Some(9)));
    assert_eq!(plaintext_len(Some(7), None, Some(9)), Ok(Some(16)));
    assert_eq!(plaintext_len(None, Some(9), None), Ok(Some(9)));
    assert_eq!(plaintext_len(None, None, Some(9)), Ok(None));
    assert_eq!(plaintext_len(Some(0), None, Some(9)), Ok(Some(9)));
    assert_eq!(plaintext_len(Some(9), Some(7), None), Err(NoLength::DoesNotFit { len: 9, size: 7 }));
    assert_eq!(plaintext_len(Some(0), None, None), Err(NoLength::Empty));
    assert_eq!(plaintext_len(Some(u64::MAX), None, Some(1)), Ok(Some(u64::MAX)));
    let image = Memory::zeroed(4096);
    let plan = planned(&Content::whole(&image, Holes::Keep));
    let new = NewFile::create(&scratch("long"), false).unwrap();
    assert!(Build::start(plan, Target::New(&new), Some(u64::MAX), &key()).is_err());
}

#[test]
fn holes_of_an_image_stay_where_nobody_needs_them() {
    let image = Memory::zeroed(8192);
    assert_eq!(ImageHoles::default(), ImageHoles::Unneeded);
    assert!(ImageHoles::Unneeded.view(&image).unwrap().is_some());
    assert!(ImageHoles::All.view(&image).unwrap().is_none());
    let all = [ImageHoles::Unneeded, ImageHoles::All, ImageHoles::None];
    assert_eq!(all.map(ImageHoles::in_transfer), [Holes::Keep, Holes::Keep, Holes::Fill]);
}
