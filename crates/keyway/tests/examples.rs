//! The examples, run.

#[path = "../examples/is_luks.rs"]
#[allow(dead_code, reason = "its main")]
mod is_luks;
#[path = "../examples/make_and_fill.rs"]
#[allow(dead_code, reason = "its main")]
mod make_and_fill;
#[cfg(feature = "predict")]
#[path = "../examples/predict.rs"]
#[allow(dead_code, reason = "its main")]
mod predict;
#[path = "../examples/print_header.rs"]
#[allow(dead_code, reason = "its main")]
mod print_header;
#[path = "../examples/read_range.rs"]
#[allow(dead_code, reason = "its main")]
mod read_range;
#[cfg(feature = "nbd")]
#[path = "../examples/serve_nbd.rs"]
#[allow(dead_code, reason = "its main")]
mod serve_nbd;
#[path = "../examples/unlock_time.rs"]
#[allow(dead_code, reason = "its main")]
mod unlock_time;

use std::fs;

#[test]
fn each_does_what_it_says() {
    let directory = std::env::temp_dir().join(format!("keyway-examples-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let [image, volume, key] = ["image", "volume", "key"].map(|name| directory.join(name));
    let content: Vec<u8> = (0..20_480u32).map(|n| (n % 251) as u8).collect();
    fs::write(&image, &content).unwrap();
    fs::write(&key, "correct horse").unwrap();

    assert_eq!(make_and_fill::make_and_fill(&image, &volume, &key).unwrap(), 20_480);
    let mut said = Vec::new();
    print_header::print_header(&volume, &mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.starts_with("LUKS2 "), "{said}");
    let rest = [
        "bytes 16777216 to the end: aes-xts-plain64, sectors of 4096 bytes",
        "keyslot 0: Bound, argon2id, 4 passes over 65536 KiB in 2 lanes",
    ];
    assert_eq!(said.lines().skip(1).collect::<Vec<_>>(), rest);
    assert!(print_header::print_header(&image, &mut Vec::new()).is_err());

    let mut range = Vec::new();
    read_range::read_range(&volume, &key, 5000, 10_000, &mut range).unwrap();
    assert!(range == content[5000..15_000]);
    let mut said = Vec::new();
    unlock_time::unlock_times(&volume, &mut said).unwrap();
    assert!(said.starts_with(b"keyslot 0: about "), "{}", String::from_utf8_lossy(&said));

    #[cfg(feature = "predict")]
    {
        let mut said = Vec::new();
        predict::predict(&volume, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains(
                "GRUB 2.06 in firmware, on a CPU like this one:\n  keyslot 0: does not open, because "
            ),
            "{said}"
        );
        assert!(
            said.contains("Raspberry Pi 4 (cryptsetup's own figures there):\n  keyslot 0: about "),
            "{said}"
        );
    }

    #[cfg(feature = "nbd")]
    {
        let front_end = serve_nbd::serve_nbd(&volume, &key, &directory.join("socket")).unwrap();
        let mut bytes = [0; 5000];
        let client = keyway::Device::open(front_end.place()).unwrap();
        assert_eq!(client.probe().unwrap(), keyway::Probe::Nothing);
        assert_eq!(client.len(), 20_480);
        drop(client);
        front_end.stop().unwrap();
        drop(front_end);
        keyway::Device::open(&volume)
            .and_then(|device| device.unlock(&keyway::Key::key_file(&key)))
            .and_then(|volume| volume.read_at(&mut bytes, 0))
            .unwrap();
        assert!(bytes == content[..5000], "the backend has let go of it");
    }
    fs::remove_dir_all(&directory).unwrap();
}

/// What `main` prints of an error is "Error: " and its `Debug`.
#[test]
fn an_error_that_main_returns_is_one_line() {
    let error = is_luks::is_luks(std::path::Path::new("/nonexistent/disk.luks")).unwrap_err();
    assert_eq!(format!("{error:?}"), "/nonexistent/disk.luks: No such file or directory (os error 2)");
}

#[test]
fn the_readme_shows_what_compiles() {
    let crates = include_str!("../README.md");
    let code = crates.split("```").nth(1).expect("code in the crate's README");
    assert!(include_str!("../../../docs/RECIPES.md").contains(code), "the recipe differs:{code}");
}
