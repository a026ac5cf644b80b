//! Files that are read and written as storage: what they are, how they were opened, where data ends.

use super::*;

#[test]
fn holes_lengths_and_ends() {
    let path = std::env::temp_dir().join(format!("keyway-file-{}", std::process::id()));
    let file = File::create_new(&path).unwrap();
    fs::remove_file(&path).unwrap();
    file.set_len(1 << 20).unwrap();
    file.write_at(&[7; 65536], 131072).unwrap();
    assert_eq!(file.next_data(0).unwrap(), Some(131072..196608));
    assert_eq!(file.next_data(140000).unwrap(), Some(140000..196608));
    assert_eq!(file.next_data(196608).unwrap(), None);
    // No file system has 8 EiB free.
    assert_eq!([1 << 20, (1 << 20) + 1, 1 << 63].map(|len| file.can_hold(len)), [true, true, false]);

    file.discard(131072..196608).unwrap();
    assert_eq!(file.next_data(0).unwrap(), None);

    file.write_at(&[1, 2, 3], (1 << 20) + 5).unwrap();
    assert_eq!(file.len(), (1 << 20) + 8);

    // Another program shrinks the file.
    file.as_file().set_len(1000).unwrap();
    let error = file.read_at(&mut [0; 512], 600).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(error.to_string(), "it ends at byte 1000, bytes 600 to 1112 were requested");
}

/// A new file, open and without a name.
fn unnamed(name: &str) -> File {
    let path = std::env::temp_dir().join(format!("keyway-file-{name}-{}", std::process::id()));
    let file = File::create_new(&path).unwrap();
    fs::remove_file(&path).unwrap();
    file
}

#[test]
fn nothing_but_the_range_is_discarded() {
    let file = unnamed("range");
    file.write_at(&[7; 65536], 0).unwrap();
    file.discard(8192..12288).unwrap();
    let mut all = [1; 65536];
    file.read_at(&mut all, 0).unwrap();
    let mut expected = [7; 65536];
    expected[8192..12288].fill(0);
    assert!(all == expected);
}

#[test]
fn data_behind_the_length_that_is_known_is_none() {
    let file = unnamed("behind");
    file.set_len(8192).unwrap();
    for grown in [8192, 16384] {
        file.as_file().set_len(0).unwrap();
        file.as_file().write_all_at(&[7; 4096], grown).unwrap();
        assert_eq!((file.len(), file.next_data(0).unwrap()), (8192, None), "{grown}");
    }
    assert_eq!((file.refresh_len().unwrap(), file.next_data(0).unwrap()), (20480, Some(16384..20480)));
}

#[test]
fn what_it_is_and_how_it_was_opened() {
    let path = std::env::temp_dir().join(format!("keyway-file-opened-{}", std::process::id()));
    let made = File::create_new(&path).unwrap();
    let (read, write, over) = (File::open(&path), File::open_rw(&path), File::overwrite(&path));
    fs::remove_file(&path).unwrap();
    for (file, is_read_only) in
        [(made, false), (read.unwrap(), true), (write.unwrap(), false), (over.unwrap(), false)]
    {
        assert_eq!((file.is_read_only(), file.path()), (is_read_only, &*path));
        assert_eq!(
            (file.is_block_device(), file.sectors(), file.part(), file.start()),
            (false, None, None, 0)
        );
    }
}

/// procfs has no blocks to tell of, and nothing that could be written out.
#[test]
fn a_file_system_that_tells_nothing() {
    let file = File::open("/proc/self/comm").unwrap();
    assert!(file.can_hold(1 << 40));
    assert_eq!(file.flush().unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_directory_is_no_storage() {
    let error = File::open(std::env::temp_dir()).unwrap_err();
    assert_eq!(error.to_string(), "not a file or a block device");
}

#[test]
fn a_partition_ends_where_its_table_says() {
    let path = std::env::temp_dir().join(format!("keyway-file-part-{}", std::process::id()));
    let image = File::create_new(&path).unwrap();
    image.set_len(1 << 20).unwrap();
    let named = |number: u32| PathBuf::from(format!("{}#{number}", path.display()));
    let why = |number| {
        let error = File::open(named(number)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        error.to_string().replace(&path.display().to_string(), "disk.img")
    };
    assert_eq!(why(1), "disk.img has no partition table");
    // Two partitions of 8 sectors from the sectors 64 and 80 on, and two that overlap.
    for (entry, first) in [(446u64, 64u32), (462, 80), (478, 800), (494, 804)] {
        image.write_at(&[0x83], entry + 4).unwrap();
        image.write_at(&[first.to_le_bytes(), 8u32.to_le_bytes()].concat(), entry + 8).unwrap();
    }
    image.write_at(&[0x55, 0xaa], 510).unwrap();
    assert_eq!(why(5), "disk.img has no partition 5, only 1, 2, 3, 4");
    assert!(why(3).contains("shares bytes"), "{}", why(3));

    let before = fs::read(&path).unwrap();
    let part = File::open_rw(named(2)).unwrap();
    assert_eq!((part.len(), part.start(), part.path()), (4096, 40960, &*named(2)));
    assert_eq!(part.part(), Some(Extent { start: 40960, len: 4096 }));
    assert!(!part.can_grow() && !part.can_hold(4097));
    assert_eq!(part.next_data(0).unwrap(), None);
    part.write_at(&[7; 4096], 0).unwrap();
    for (len, offset) in [(4097, 0), (1, 4096), (2, 4095), (1, u64::MAX)] {
        let error = part.write_at(&vec![1; len], offset).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let error = part.read_at(&mut vec![1; len], offset).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
    assert!(part.discard(0..4097).is_err() && part.set_len(1).is_err());
    let mut all = [0; 4096];
    part.read_at(&mut all, 0).unwrap();
    assert_eq!(all, [7; 4096]);
    part.write_zeroes(512..4096, true).unwrap();
    let mut after = fs::read(&path).unwrap();
    assert_eq!((&after[40960..41472], &after[41472..45056]), (&[7; 512][..], &[0; 3584][..]));
    after[40960..41472].fill(0);
    assert!(after == before, "nothing outside is touched");
    part.write_at(&[1; 4096], 0).unwrap();
    assert_eq!(part.next_data(5).unwrap(), Some(5..4096));
    part.discard(0..4096).unwrap();
    assert_eq!(part.next_data(0).unwrap(), None);
    // One of 32 KiB, whose first half has data.
    image.write_at(&64u32.to_le_bytes(), 478 + 12).unwrap();
    image.write_at(&0u32.to_le_bytes(), 494 + 12).unwrap();
    image.write_at(&[7; 16384], 800 * 512).unwrap();
    assert_eq!(File::open(named(3)).unwrap().next_data(0).unwrap(), Some(0..16384));

    image.set_len(41_000).unwrap();
    assert_eq!((part.refresh_len().unwrap(), part.len()), (40, 40));
    assert!(part.read_at(&mut [0; 41], 0).is_err());
    fs::write(named(2), "literal").unwrap();
    assert_eq!(File::open(named(2)).unwrap().len(), 7);
    fs::remove_file(named(2)).unwrap();
    fs::remove_file(path).unwrap();
}
