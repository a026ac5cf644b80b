//! A hidden volume in the plaintext.

use super::*;
use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};

const LEN: usize = 256 << 10;
const HIDDEN: Range<usize> = 100 << 10..180 << 10;

fn protected(data: &Arc<Memory>) -> Volume {
    let mut layout = one_segment("aes-xts-plain64", 512, 4096, 0);
    layout.protected = Some(HIDDEN.start as u64..HIDDEN.end as u64);
    Volume::new(data.clone() as _, &layout, &key(), Cpu::detect()).unwrap()
}

#[test]
fn no_random_write_changes_a_byte_of_it() {
    let data = Arc::new(Memory::from(noise(4096 + LEN, 1)));
    let hidden = || data.to_vec()[4096 + HIDDEN.start..4096 + HIDDEN.end].to_vec();
    let (before, new) = (hidden(), noise(LEN, 2));
    let (mut random, mut volume) = (Lcg(3), protected(&data));
    let mut counts = [0; 2];
    for round in 0..100_000 {
        let at = random.below(LEN);
        let len = 1 + random.below((LEN - at).min(if round % 64 == 0 { LEN } else { 1500 }));
        let reaches = at < HIDDEN.end && at + len > HIDDEN.start;
        let result = match round % 2 {
            0 => volume.write_at(&new[at..at + len], at as u64),
            _ => volume.write_from(&mut new[at..at + len].to_vec(), at as u64),
        };
        match result {
            Ok(()) => assert!(!reaches, "{len} bytes at {at}"),
            Err(error) => {
                assert!(reaches && error.kind() == PermissionDenied, "{len} bytes at {at}: {error}")
            }
        }
        if round % 64 == 0 {
            volume.discard(at as u64..(at + len) as u64).unwrap();
        }
        counts[usize::from(reaches)] += 1;
        if reaches {
            volume = protected(&data);
        }
    }
    assert!(counts.iter().all(|count| *count > 10_000), "{counts:?} written and refused");
    assert!(hidden() == before);
}

#[test]
fn a_write_that_reaches_it_ends_all_writing() {
    let data = Arc::new(Memory::from(noise(4096 + LEN, 1)));
    let volume = protected(&data);
    let at = HIDDEN.start as u64;
    volume.write_at(b"before it", at - 9).unwrap();
    volume.write_at(b"behind it", HIDDEN.end as u64).unwrap();
    let before = data.to_vec();
    assert!(!volume.is_read_only());
    let error = volume.write_at(b"into it", at - 6).unwrap_err();
    assert_eq!(error.kind(), PermissionDenied);
    assert_eq!(
        error.to_string(),
        "a hidden volume is at bytes 102400 to 184319: the write was refused, and so is every other until \
         this volume is opened again"
    );
    assert!(volume.is_read_only());
    for (at, kind) in [(0, ReadOnlyFilesystem), (at, PermissionDenied)] {
        assert_eq!(volume.write_at(b"later", at).unwrap_err().kind(), kind);
    }
    assert_eq!(
        volume.resized(Some(LEN as u64)).unwrap().write_at(b"later", 0).unwrap_err().kind(),
        ReadOnlyFilesystem
    );
    assert!(data.to_vec() == before);
    assert_eq!(read(&volume, HIDDEN.start - 9, 9), b"before it");
    volume.write_at(b"", at).unwrap_err();
}
