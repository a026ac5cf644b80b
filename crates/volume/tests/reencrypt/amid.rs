//! What was no LUKS volume, and keeps metadata amid its data and its first sectors elsewhere, as BitLocker does.

use super::convert::with_slot;
use super::open::simple;
use super::*;
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_format::luks2::reencryption::Resilience;
use keyway_volume::reencrypt::Foreign;
use keyway_volume::{Layout, MappedSegment, Mapping};

/// Where the first sectors are.
const FIRST: Range<usize> = (40 << 10)..(48 << 10);
/// Where the metadata are.
const METADATA: [Range<usize>; 2] = [(16 << 10)..(24 << 10), (100 << 10)..(108 << 10)];
/// What they consist of here; [`convert::check_headers_are_gone`] looks for it.
const MARK: &[u8] = convert::MARK;

/// The data, on a device of its own. In the plaintext are zeros where it keeps something for itself.
pub(crate) fn device(sector_size: u32, plaintext: &mut [u8]) -> Vec<u8> {
    own().into_iter().for_each(|own| plaintext[own].fill(0));
    let image: Vec<u8> = MARK.iter().copied().cycle().take(plaintext.len()).collect();
    let storage = Arc::new(Memory::from(image));
    let layout = layout(sector_size, plaintext.len());
    let volume = Volume::new(storage.clone(), &layout, &key(3), Cpu::detect()).unwrap();
    volume.write_at(plaintext, 0).unwrap();
    storage.to_vec()
}

/// What is neither metadata nor where the first sectors are.
pub(crate) fn used(len: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(own().map(|own| own.end));
    let ends = own().map(|own| own.start).into_iter().chain([len]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

pub(crate) fn foreign(sector_size: u32, len: usize) -> Result<Foreign, Error> {
    Foreign::new(&layout(sector_size, len), key(3), len as u64)
}

fn own() -> [Range<usize>; 3] {
    let [before, behind] = METADATA;
    [before, FIRST, behind]
}

fn layout(sector_size: u32, len: usize) -> Layout {
    let segment = |plain: Range<usize>, at: usize, mapping| MappedSegment {
        plaintext_start: plain.start as u64,
        length: Some(plain.len() as u64),
        storage_offset: at as u64,
        mapping,
        second_key: false,
    };
    let crypt = |at: usize| Mapping::Crypt {
        spec: CipherSpec::parse("aes-xts-plain64").unwrap(),
        sector_size: SectorSize::new(sector_size).unwrap(),
        iv_tweak: at as u64 / 512,
        iv_large_sectors: false,
    };
    let mut segments = vec![segment(0..FIRST.len(), FIRST.start, crypt(FIRST.start))];
    let mut at = FIRST.len();
    for own in own() {
        segments.push(segment(at..own.start, at, crypt(at)));
        segments.push(segment(own.clone(), own.start, Mapping::Zero));
        at = own.end;
    }
    segments.push(segment(at..len, at, crypt(at)));
    Layout::new(segments)
}

/// Nothing of it changes before the header says that it has begun, whatever protection was asked for.
#[test]
fn its_first_sectors_are_in_the_journal() {
    let case = Case { resilience: "checksum", ..simple(Kind::Convert { headers: 0 }, "journal") };
    let rng = &mut seeded(3);
    let start = case.start(rng);
    let disks = Disks::new(start.images.clone());
    let (foreign, passphrase) = (foreign(case.sectors.0, case.data_len).unwrap(), secret("one"));
    let conversion = with_slot(&foreign, &passphrase);
    let mut luks = Luks::open(disks.disk(0), Access::Write).unwrap();
    let terms = Terms { resilience: "checksum".into(), kdf: kdf(), ..Terms::default() };
    begin(&mut luks, &*disks.disk(1), &key(1), Begin::Convert(&conversion), &terms, rng).unwrap();
    assert!(disks.images()[1] == start.images[1], "beginning writes nothing to the data's device");
    let under_way = keyway_volume::UnderWay::of(luks.header()).unwrap().expect("it has begun");
    assert_eq!(under_way.what().resilience, Resilience::Journal);
    assert_eq!(under_way.hot_zone(), Some(&(0..FIRST.len() as u64)));
    let behind = under_way.what().area.offset.0 as usize + FIRST.len()..HEADER;
    assert!(
        disks.images()[0][behind.clone()] == start.images[0][behind],
        "the journal has no more than these"
    );
    let open = || open::all(&open::open(&case, &disks, keyway_volume::reencrypt::Purpose::Read).unwrap());
    assert!(open()[..METADATA[0].start] == start.plaintext[..METADATA[0].start], "it reads as it was");
    let job = case.job(&disks, None, rng).unwrap();
    let begun = &disks.images()[1];
    assert!(!begun[..FIRST.len()].windows(MARK.len()).any(|bytes| bytes == MARK), "its header is left");
    assert!(begun[FIRST.len()..] == start.images[1][FIRST.len()..], "and nothing else has gone");
    foreign.clear(&*disks.disk(1)).unwrap();
    drop(job);
    assert!(open() == start.plaintext, "its metadata are zeros");
    convert::check_headers_are_gone(&disks.images()[1]);
    case.resume(&disks, rng).unwrap();
    assert!(case.check(&disks.images(), &start, "in the end"));
}

/// What is done to the segments of a volume that could be converted.
type Change<'a> = &'a dyn Fn(&mut Vec<MappedSegment>);

/// What LUKS2 has no words for, each with its reason.
#[test]
fn what_is_elsewhere_is_refused() {
    let said = |change: Change<'_>| {
        let mut layout = layout(512, 160 << 10);
        change(&mut layout.segments);
        Foreign::check(&layout, 160 << 10).map_err(|error| error.to_string())
    };
    assert_eq!(said(&|_| {}), Ok(()));
    let amid = "It keeps its own metadata amid the data, where LUKS2 has no room for them.";
    let numbered = |segment: &mut MappedSegment, first: u64| match &mut segment.mapping {
        Mapping::Crypt { iv_tweak, .. } => *iv_tweak = first,
        _ => unreachable!("it is encrypted"),
    };
    let rows: [(Change<'_>, &str); 8] = [
        (&|all| all[1].storage_offset += 512, amid),
        (&|all| numbered(&mut all[1], 17), amid),
        (&|all| numbered(&mut all[0], 0), amid),
        // Metadata lie where the first sectors go.
        (
            &|all| {
                let at = 4 << 10;
                (all[2].plaintext_start, all[2].storage_offset) = (at, at);
            },
            amid,
        ),
        // Another cipher encrypts a part.
        (
            &|all| match &mut all[7].mapping {
                Mapping::Crypt { spec, .. } => *spec = CipherSpec::parse("serpent-xts-plain64").unwrap(),
                _ => unreachable!("it is encrypted"),
            },
            amid,
        ),
        // The first sectors lie in the data.
        (
            &|all| {
                all[0].storage_offset = 60 << 10;
                numbered(&mut all[0], 120);
            },
            amid,
        ),
        (&|all| all[7].mapping = Mapping::Linear, "A part of it is not encrypted."),
        (
            &|all| match &mut all[7].mapping {
                Mapping::Crypt { iv_large_sectors, .. } => *iv_large_sectors = true,
                _ => unreachable!("it is encrypted"),
            },
            "Its IVs count sectors of more than 512 bytes, which LUKS2 does not describe.",
        ),
    ];
    for (number, (change, words)) in rows.into_iter().enumerate() {
        assert_eq!(said(change), Err(words.to_owned()), "row {number}");
    }
}
