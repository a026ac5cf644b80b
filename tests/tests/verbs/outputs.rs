//! Output files: who may read them, and where they must not be written.

use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::{Run, Scratch, keyway, need, need_that, peer, random};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A volume with some content, the key beside it.
fn volume(scratch: &Scratch) -> PathBuf {
    let (image, volume) = (scratch.random_file("image", 71, 1 << 20), scratch.path("volume"));
    fs::write(key(scratch), "secret").unwrap();
    keyway("build -q --key-file").arg(key(scratch)).args(CHEAP_ARGON2).arg(image).arg(&volume).ok();
    volume
}

fn key(scratch: &Scratch) -> PathBuf {
    scratch.path("key")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// `keyway` with this umask.
fn with_umask(umask: &str, run: &Run) -> Run {
    let line = format!("umask {umask}; exec \"$@\"");
    run.arguments().iter().fold(peer("sh", "-c").arg(line).arg("sh").arg(run.program()), Run::arg)
}

#[test]
fn plaintext_and_backups_are_their_owners() {
    need!("sh");
    let scratch = Scratch::new();
    let volume = volume(&scratch);
    let out = scratch.path("out");
    let read = || keyway("read --key-file").arg(key(&scratch)).arg(&volume).arg("-o").arg(&out);
    with_umask("000", &read()).ok();
    assert_eq!(mode(&out), 0o600);
    // Also when it replaces a file that everybody could read.
    set_mode(&out, 0o666);
    with_umask("000", &read().arg("--force")).ok();
    assert_eq!(mode(&out), 0o600);
    let raw = scratch.path("raw");
    let copy = keyway("copy --to raw --key-file").arg(key(&scratch)).arg(&volume).arg(&raw);
    with_umask("000", &copy).ok();
    assert_eq!(mode(&raw), 0o600);
    let backup = scratch.path("backup");
    let run = keyway("luksHeaderBackup").arg(&volume).arg("--header-backup-file").arg(&backup);
    with_umask("000", &run).ok();
    assert_eq!(mode(&backup), 0o400);
}

#[test]
fn volumes_and_images_are_read_by_whom_their_sources_are() {
    need!("sh", "cpio");
    let scratch = Scratch::new();
    let volume = volume(&scratch);
    let made = scratch.path("made");
    for (of_source, umask, expected) in
        [(0o644, "022", 0o644), (0o600, "022", 0o600), (0o640, "022", 0o640), (0o644, "077", 0o600)]
    {
        set_mode(&volume, of_source);
        let _ = fs::remove_file(&made);
        let copy = keyway("copy -q --key-file").arg(key(&scratch)).args(CHEAP_ARGON2).arg("--new-keyfile");
        with_umask(umask, &copy.arg(key(&scratch)).arg(&volume).arg(&made)).ok();
        assert_eq!(mode(&made), expected, "{of_source:o} {umask}");
    }
    // A file as standard input; and a pipe, where only the umask counts.
    set_mode(&scratch.path("image"), 0o600);
    let build = format!(
        "{} build -q {CHEAP_ARGON2} --key-file key --force -",
        keyway_tests::peers::program().display()
    );
    for (line, expected) in
        [(format!("{build} made <image"), 0o600), (format!("cat image | {build} made"), 0o644)]
    {
        let _ = fs::remove_file(&made);
        peer("sh", "-c").arg(format!("umask 022; {line}")).directory(scratch.root()).ok();
        assert_eq!(mode(&made), expected, "{line}");
    }
    // One of several that only its owner may read.
    let (text, tree) = (scratch.file("text", "bootm\n"), scratch.file("init", "#!/bin/sh\n"));
    set_mode(&tree, 0o755);
    peer("sh", "-c").arg("echo init | cpio --quiet -o -H newc >image").directory(scratch.root()).ok();
    let header = scratch.file("header", "LUKS");
    for (of_image, of_header, expected) in
        [(0o644, 0o644, 0o644), (0o644, 0o600, 0o600), (0o600, 0o644, 0o600)]
    {
        set_mode(&scratch.path("image"), of_image);
        set_mode(&header, of_header);
        let run =
            keyway("boot initramfs --force --volume /dev/vda --keyway").arg(keyway_tests::peers::program());
        let run = run.arg("--header").arg(&header).arg(scratch.path("image")).arg("-o").arg(&made);
        let _ = fs::remove_file(&made);
        with_umask("022", &run).ok();
        assert_eq!(mode(&made), expected, "{of_image:o} {of_header:o}");
    }
    for (of_text, expected) in [(0o644, 0o644), (0o600, 0o600)] {
        set_mode(&text, of_text);
        let _ = fs::remove_file(&made);
        with_umask("022", &keyway("boot script").arg(&text).arg("-o").arg(&made)).ok();
        assert_eq!(mode(&made), expected);
    }
}

/// A link that another user put in the place of an output; its target belongs to root.
#[test]
fn an_output_follows_no_link_of_others() {
    let scratch = Scratch::new();
    let volume = volume(&scratch);
    let (theirs, target) = (scratch.path("theirs"), scratch.file("target", "precious"));
    fs::create_dir(&theirs).unwrap();
    symlink(&target, theirs.join("out")).unwrap();
    symlink(scratch.root(), theirs.join("way")).unwrap();
    let read =
        |out: &Path| keyway("read --force --key-file").arg(key(&scratch)).arg(&volume).arg("-o").arg(out);
    for bits in [0o1777, 0o777, 0o775] {
        set_mode(&theirs, bits);
        for name in ["out", "way/target", "way/new"] {
            let out = theirs.join(name);
            let refused = "is a symbolic link in a directory that others can write to, and is not followed";
            read(&out).fails(4).says(refused);
            let raw = keyway("copy --force --to raw --key-file").arg(key(&scratch)).arg(&volume);
            raw.arg(&out).fails(4).says(refused);
            let backup = keyway("luksHeaderBackup").arg(&volume).arg("--header-backup-file");
            assert_ne!(backup.arg(&out).outcome().code, Some(0));
            assert_eq!(fs::read_to_string(&target).unwrap(), "precious", "{bits:o} {name}");
            assert!(!scratch.path("new").exists());
        }
        // Files that are not links are created and replaced there.
        read(&theirs.join("file")).ok();
        assert_eq!(mode(&theirs.join("file")), 0o600);
    }
    // In the user's own directory a link is followed, and stays.
    set_mode(&theirs, 0o755);
    read(&theirs.join("out")).ok();
    assert_eq!(fs::metadata(&target).unwrap().len(), 1 << 20);
    assert!(fs::symlink_metadata(theirs.join("out")).unwrap().is_symlink());
}

/// A directory of another user, with a link to root's file: only root can test this.
#[test]
fn root_follows_no_link_in_the_directory_of_a_user() {
    need_that!(rustix::process::getuid().is_root(), "only root makes other users' files");
    let scratch = Scratch::new();
    let volume = volume(&scratch);
    let (theirs, target) = (scratch.path("theirs"), scratch.file("target", "precious"));
    fs::create_dir(&theirs).unwrap();
    symlink(&target, theirs.join("out")).unwrap();
    std::os::unix::fs::chown(&theirs, Some(65_534), Some(65_534)).unwrap();
    keyway("read --force --key-file")
        .arg(key(&scratch))
        .arg(&volume)
        .arg("-o")
        .arg(theirs.join("out"))
        .fails(4)
        .says("in a directory that others can write to");
    assert_eq!(fs::read_to_string(target).unwrap(), "precious");
}

#[test]
fn standard_output_by_its_names_goes_on_working() {
    need!("sh", "cmp");
    let scratch = Scratch::new();
    let volume = volume(&scratch);
    let program = keyway_tests::peers::program();
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        for how in ["| cat >out", ">out"] {
            let line =
                format!("{} read --key-file key volume -o {name} {how}; cmp out image", program.display());
            peer("sh", "-c").arg(line).directory(scratch.root()).ok();
        }
    }
    let line = format!(
        "mkfifo pipe; cat pipe >out & {} read --key-file key volume -o pipe; wait; cmp out image",
        program.display()
    );
    peer("sh", "-c").arg(line).directory(scratch.root()).ok();
    keyway("read --key-file").arg(key(&scratch)).arg(volume).args("-o /dev/null").ok();
}

/// Each place where the program's own code opens a file for writing goes through the function that
/// checks for links first.
#[test]
fn no_output_is_opened_another_way() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut found = Vec::new();
    for folder in ["cli/src", "measure/src/results", "measure/src/report"] {
        look(&sources.join(folder), &mut found);
    }
    // A session's own directory; the program's own name and memory in /proc; the kernel's files in /sys and /dev; a
    // device that is opened to check access; a file that is open already; tests.
    let known = [
        "fs::write(\"/dev/kmsg\"",
        "fs::write(RESUME,",
        "fs::write(OFFSET,",
        "fs::write(SOUGHT,",
        "fs::write(\"/proc/self/comm\"",
        "open(\"/proc/self/mem\")",
        "session/background.rs",
        "cli/src/mapping/mod.rs",
        "bench/disk/target.rs",
        "ciphers/kernel.rs",
        "fit/source.rs",
        "device/found.rs",
        "unlock/md/kernel.rs",
        "report/tests.rs",
        "unlock/policy.rs",
    ];
    found.retain(|line| !known.iter().any(|known| line.contains(known)));
    assert!(found.is_empty(), "{found:#?}");
}

fn look(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            look(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let opens =
                ["fs::write(", "OpenOptions", "File::create(", "File::options()", "File::create_new("];
            let is_own = line.contains("NewFile::create(") || line.contains("= File::create_new(path)");
            if opens.iter().any(|call| line.contains(call)) && !is_own {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
}

#[test]
fn images_are_checked_before_they_are_taken_out() {
    let scratch = Scratch::new();
    let (kernel, ramdisk) =
        (scratch.file("kernel", random(1, 9000)), scratch.file("ramdisk", random(2, 9000)));
    let (image, out) = (scratch.path("image"), scratch.path("out"));
    fs::create_dir(&out).unwrap();
    keyway("boot fit --arch arm --load 0x8000 --kernel")
        .arg(kernel)
        .arg("--ramdisk")
        .arg(&ramdisk)
        .arg("-o")
        .arg(&image)
        .ok();
    let whole = fs::read(&image).unwrap();
    let place = whole.windows(64).position(|bytes| bytes == &random(2, 9000)[..64]).unwrap();
    let mut damaged = whole.clone();
    damaged[place] ^= 1;
    fs::write(&image, damaged).unwrap();
    let extract = || keyway("boot fit").arg(&image).arg("--extract").arg(&out);
    extract().fails(1).says("sha256: WRONG").says("the image is damaged; nothing is written.");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    fs::write(&image, whole).unwrap();
    set_mode(&image, 0o640);
    extract().ok();
    assert!(fs::read(out.join("ramdisk-1")).unwrap() == random(2, 9000));
    let allowed =
        if fs::metadata(&image).unwrap().gid() == fs::metadata(&out).unwrap().gid() { 0o640 } else { 0o600 };
    assert_eq!(mode(&out.join("kernel-1")) & !allowed, 0);
    extract().fails(5).says("already exists");
}

#[test]
fn a_source_takes_files_from_its_own_folder() {
    let scratch = Scratch::new();
    let (folder, other) = (scratch.path("source"), scratch.path("other"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&other).unwrap();
    let secret = other.join("secret");
    fs::write(&secret, "secret").unwrap();
    fs::write(folder.join("kernel"), "kernel").unwrap();
    symlink("../other/secret", folder.join("link")).unwrap();
    let out = scratch.path("out");
    let source = folder.join("image.its");
    let made = |named: &str| {
        let text = format!(
            "/dts-v1/; / {{ images {{ k {{ data = /incbin/(\"{named}\"); type = \"kernel\"; }}; }}; }};"
        );
        fs::write(&source, text).unwrap();
        keyway("boot fit --force").arg(&source).arg("-o").arg(&out)
    };
    for name in ["../other/secret", "link", secret.to_str().unwrap(), "/proc/self/environ", "/dev/zero"] {
        made(name).fails(1).says("is not below the source's directory; --include DIR allows another");
    }
    assert!(!out.exists());
    made("kernel").ok();
    set_mode(&secret, 0o600);
    fs::remove_file(&out).unwrap();
    made("link").arg("--include").arg(&other).ok();
    assert_eq!(mode(&out), 0o600, "what was included counts");
    made("/dev/zero").args("--include /dev").fails(1).says("is not a regular file");
}
