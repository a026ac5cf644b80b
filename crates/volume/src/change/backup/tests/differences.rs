//! A backup and a device that differ: what is refused, and what a person is told.

use super::*;

#[test]
fn what_differs_is_refused_or_said_luks1() {
    let image = luks1(&params1());
    let replaces = "Device already contains LUKS header. Replacing header will destroy existing keyslots.";
    assert_eq!(warnings(image.clone(), &image), [replaces]);
    let other = luks1(&Luks1Params { uuid: None, ..params1() });
    let uuid = "WARNING: real device header has different UUID than backup!";
    assert_eq!(warnings(other, &image), [replaces, uuid]);
    let none = "Device does not contain LUKS header. Replacing header can destroy data on that device.";
    assert_eq!(warnings(vec![0; image.len()], &image), [none]);
    let other = "Device does not contain LUKS1 header, it contains LUKS2 header. Replacing header can destroy data on \
                 that device.";
    assert_eq!(warnings(luks2(&params2()), &image), [other]);
    assert_eq!(refused(luks1(&Luks1Params { payload_offset: Some(2056), ..params1() }), &image), GEOMETRY);
    // Also with a difference of eight sectors.
    let [one, other] = [2056, 2064].map(|at| luks1(&Luks1Params { payload_offset: Some(at), ..params1() }));
    assert_eq!(refused(one, &other), GEOMETRY);
    let long = luks1(&Luks1Params { key_bits: 512, payload_offset: Some(4096), ..params1() });
    let short = luks1(&Luks1Params { payload_offset: Some(4096), ..params1() });
    assert_eq!(refused(long, &short), GEOMETRY);
}

#[test]
fn what_differs_is_refused_or_said_luks2() {
    let image = luks2(&params2());
    let replaces = "Device already contains LUKS2 header. Replacing header will destroy existing keyslots.";
    assert_eq!(warnings(image.clone(), &image), [replaces]);
    let other = luks2(&Luks2Params { uuid: None, ..params2() });
    let uuid = "WARNING: real device header has different UUID than backup!";
    assert_eq!(warnings(other, &image), [replaces, uuid]);
    let none = "Device does not contain LUKS2 header. Replacing header can destroy data on that device.";
    assert_eq!(warnings(vec![0; image.len()], &image), [none]);
    let other = "Device does not contain LUKS2 header, it contains LUKS1 header. Replacing header can destroy data on \
                 that device.";
    assert_eq!(warnings(luks1(&params1()), &image), [other]);
    // Formatted again with another key size: a backup may have to rescue this.
    let at = Some((1 << 20) / 512);
    let (long, short) = (
        luks2(&Luks2Params { key_bits: 512, data_offset: at, ..params2() }),
        luks2(&Luks2Params { data_offset: at, ..params2() }),
    );
    let size = "WARNING: real device header has another key size than backup!";
    let key = "WARNING: real device header has another volume key than backup: the volume was reencrypted or formatted \
               since. With the backup, nothing on it would be readable!";
    assert_eq!(warnings(long, &short), [replaces, size, key]);
    assert_eq!(refused(luks2(&Luks2Params { data_offset: Some(2056), ..params2() }), &short), GEOMETRY);
    let larger = luks2(&Luks2Params { keyslots_size: Some(768 << 10), data_offset: at, ..params2() });
    let areas = "Header and keyslots area sizes differ on device and backup, restore failed.";
    assert_eq!(refused(larger, &short), areas);
}

#[test]
fn a_restore_says_that_it_takes_the_seal_away() {
    let bare = luks2(&params2());
    let storage = Arc::new(Memory::from(bare.clone()));
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    crate::change::seal::seal(&mut luks, &key(256), bare.len() as u64, None, &mut OsRandom).unwrap();
    let sealed = storage.to_vec();
    for (target, backup, loses) in [(&sealed, &bare, true), (&sealed, &sealed, false)] {
        let restore = prepare(target.clone(), backup).unwrap();
        let said = restore.warnings().contains(&Warning::LosesSeal);
        assert_eq!((restore.loses_seal(), said), (loses, loses));
        assert!(!restore.warnings().contains(&Warning::UnmatchedSeal));
    }
    edit::set_label(&mut luks, Some("other"), None, None, &mut OsRandom).unwrap();
    let restore = prepare(sealed, &storage.to_vec()).unwrap();
    assert!(restore.warnings().contains(&Warning::UnmatchedSeal));
}

#[test]
fn what_this_build_does_not_know_is_neither_restored_nor_overwritten() {
    let image = luks2(&params2());
    let strange = with_metadata(&image, |metadata| {
        let json = String::from_utf8(metadata.to_json()).unwrap();
        let json = json.strip_suffix("}}").unwrap().to_owned()
            + r#","requirements":{"mandatory":["time-travel"]}}}"#;
        *metadata = Metadata::parse(json.as_bytes(), HeaderSize::ALL[0]).unwrap();
    });
    let named = |place: &str| format!("Forbidden LUKS2 requirement \"time-travel\" detected on {place}.");
    assert_eq!(refused(image.clone(), &strange), named("backup"));
    assert_eq!(refused(strange, &image), named("device"));
    let nothing = refused(image.clone(), &vec![0; image.len()]);
    assert!(nothing.starts_with("Backup file does not contain valid LUKS header ("), "{nothing}");
    let cut = image[..header_len(&header(&image)) as usize - 1].to_vec();
    let cut = refused(image, &cut);
    assert!(cut.starts_with("Backup file does not contain valid LUKS header (truncated"), "{cut}");
}
