//! Links, directories and pipes of other users in the way of an output.

use super::*;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("keyway-place-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

fn is_planted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.get_ref().is_some_and(|it| it.is::<Planted>())
}

#[test]
fn links_of_others_are_not_followed() {
    let scratch = scratch("links");
    fs::create_dir(scratch.join("deep")).unwrap();
    fs::write(scratch.join("deep/file"), "x").unwrap();
    symlink("deep", scratch.join("way")).unwrap();
    symlink("deep/file", scratch.join("link")).unwrap();
    symlink("nowhere", scratch.join("dangling")).unwrap();
    let inode = fs::metadata(scratch.join("deep/file")).unwrap().ino();
    let found = |path: &str, follow| Place::find(&scratch.join(path), follow);
    let inode_of = |place: Place| place.found().unwrap().unwrap().st_ino;
    for path in ["way/file", "link", "deep/../way/./file"] {
        assert_eq!(inode_of(found(path, true).unwrap()), inode, "{path}");
    }
    assert_ne!(inode_of(found("link", false).unwrap()), inode, "the link itself");
    assert_eq!(found("dangling", true).unwrap().name(), "nowhere");
    assert!(found("dangling", true).unwrap().found().unwrap().is_none());
    // Writable by the group or by everybody, sticky or not.
    for mode in [0o775, 0o757, 0o777, 0o1777, 0o2775] {
        fs::set_permissions(&scratch, Permissions::from_mode(mode)).unwrap();
        for path in ["link", "way/file", "dangling", "deep/../link"] {
            let error = found(path, true).unwrap_err();
            assert!(is_planted(&error), "{mode:o} {path}: {error}");
        }
        assert!(is_planted(&found("way/file", false).unwrap_err()), "on the way, in any case");
        assert!(
            found("deep/file", true).is_ok() && found("new", true).is_ok() && found("link", false).is_ok()
        );
    }
    let error = found("way/file", true).unwrap_err().to_string();
    let shown = format!(
        "{} is a symbolic link in a directory that others can write to",
        scratch.join("way").display()
    );
    assert!(error.starts_with(&shown), "{error}");
    // A link of the user's own, through such a directory.
    let own = scratch.with_extension("own");
    fs::create_dir(&own).unwrap();
    symlink(scratch.join("link"), own.join("out")).unwrap();
    assert!(is_planted(&Place::find(&own.join("out"), true).unwrap_err()));
    assert!(Place::find(&own.join("out"), false).is_ok());
    fs::remove_dir_all(own).unwrap();
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn directories_of_others() {
    let mine = rustix::process::geteuid().as_raw();
    let directory = |owner: u32, mode: u32| {
        let mut found = rustix::fs::stat("/").unwrap();
        (found.st_uid, found.st_mode) = (owner, 0o040_000 | mode);
        others_may_write(&found)
    };
    assert!(!directory(mine, 0o755) && !directory(0, 0o755) && !directory(mine, 0o1700));
    assert!(directory(mine, 0o775) && directory(0, 0o1777) && directory(mine, 0o702));
    assert!(directory(mine + 1, 0o700) && directory(65_534, 0o755));
}

#[test]
fn a_pipe_of_anothers_is_not_written_to() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can make what belongs to another user");
    }
    let scratch = scratch("pipe");
    let pipe = scratch.join("pipe");
    rustix::fs::mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o666)).unwrap();
    let reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let place = Place::find(&pipe, true).unwrap();
    let opened = || [place.open(), place.make_or_open(0o600)];
    let taken = || opened().iter().filter(|it| it.is_ok()).count();
    let hand_to = |user| std::os::unix::fs::chown(&pipe, Some(user), None).unwrap();
    for (user, mode, count) in [(0, 0o1777, 2), (4711, 0o755, 2), (4711, 0o1777, 0), (4711, 0o775, 0)] {
        hand_to(user);
        fs::set_permissions(&scratch, Permissions::from_mode(mode)).unwrap();
        assert_eq!(taken(), count, "of user {user}, in a directory of mode {mode:o}");
    }
    let error = place.open().unwrap_err();
    assert!(is_planted(&error), "{error}");
    assert!(error.to_string().starts_with("pipe is a pipe of another user's"), "{error}");
    drop(reader); // Nor does opening wait for a reader.
    assert!(is_planted(&place.open().unwrap_err()));
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn what_is_edited_in_place_is_found_by_the_kernels_rule() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can make what belongs to another user");
    }
    use std::os::unix::fs::{chown, lchown};
    let scratch = scratch("edited");
    let (file, link) = (scratch.with_extension("target"), scratch.join("link"));
    fs::write(&file, "x").unwrap();
    symlink(&file, &link).unwrap();
    let edited = |path: &Path| Place::find_to_edit(path).and_then(|place| place.open_in_place());
    // Owner and mode of the directory, owner of the link, and whether it is followed.
    for (owner, mode, user, followed) in [
        (0, 0o1777, 0, true),
        (0, 0o1777, 4711, false),
        (0, 0o777, 4711, false),
        (0, 0o775, 4711, false),
        (0, 0o755, 4711, true),
        (4711, 0o1777, 4711, true),
        (4711, 0o1777, 4712, false),
        (4711, 0o755, 4711, true),
    ] {
        chown(&scratch, Some(owner), None).unwrap();
        fs::set_permissions(&scratch, Permissions::from_mode(mode)).unwrap();
        lchown(&link, Some(user), None).unwrap();
        let opened = edited(&link);
        assert_eq!(opened.is_ok(), followed, "{owner} {mode:o} {user}");
        assert!(opened.err().is_none_or(|error| is_planted(&error)));
    }
    // A file under one of several names, unless the directory and the file are one user's alone.
    let name = scratch.join("name");
    fs::hard_link(&file, &name).unwrap();
    for (owner, mode, user, opens) in [
        (0, 0o755, 0, true),
        (0, 0o1777, 0, false),
        (0, 0o775, 0, false),
        (4711, 0o755, 4711, true),
        (4711, 0o755, 0, false),
        (4711, 0o777, 4711, false),
    ] {
        chown(&scratch, Some(owner), None).unwrap();
        fs::set_permissions(&scratch, Permissions::from_mode(mode)).unwrap();
        chown(&name, Some(user), None).unwrap();
        assert_eq!(edited(&name).is_ok(), opens, "{owner} {mode:o} {user}");
    }
    let kind = |path: &str| edited(Path::new(path)).unwrap_err().kind();
    assert_eq!((kind("/dev/null"), kind("/tmp")), (io::ErrorKind::InvalidInput, io::ErrorKind::IsADirectory));
    fs::remove_file(file).unwrap();
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn what_is_no_place() {
    let scratch = scratch("none");
    symlink("loop", scratch.join("loop")).unwrap();
    let kind = |path: &Path| Place::find(path, true).unwrap_err().kind();
    assert_eq!(
        Place::find(&scratch.join("loop"), true).unwrap_err().raw_os_error(),
        Some(Errno::LOOP.raw_os_error())
    );
    assert_eq!(kind(&scratch.join("none/file")), io::ErrorKind::NotFound);
    assert_eq!(kind(Path::new("/")), io::ErrorKind::IsADirectory);
    assert_eq!(kind(&scratch.join("..")), io::ErrorKind::IsADirectory);
    assert_eq!(kind(Path::new("")), io::ErrorKind::IsADirectory);
    assert_eq!(Place::find(Path::new("/etc"), true).unwrap().name(), "etc");
    // Up to the number of links that the kernel follows.
    for number in 0..41 {
        symlink(format!("chain-{}", number + 1), scratch.join(format!("chain-{number}"))).unwrap();
    }
    assert!(Place::find(&scratch.join("chain-1"), true).is_ok());
    assert!(Place::find(&scratch.join("chain-0"), true).is_err());
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn descriptors_are_opened_by_the_kernel() {
    use std::os::fd::AsRawFd;
    let (mut reader, writer) = io::pipe().unwrap();
    for path in [format!("/dev/fd/{}", writer.as_raw_fd()), format!("/proc/self/fd/{}", writer.as_raw_fd())] {
        let place = Place::find(Path::new(&path), true).unwrap();
        assert!(place.is_descriptor());
        place.open().unwrap().write_all(b"through").unwrap();
        let mut text = [0; 7];
        reader.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"through");
    }
    let scratch = scratch("open");
    symlink("/dev/null", scratch.join("link")).unwrap();
    let place = Place::find(&scratch.join("link"), false).unwrap();
    assert!(!place.is_descriptor());
    assert_eq!(place.open().unwrap_err().raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    Place::find(&scratch.join("link"), true).unwrap().open().unwrap().write_all(b"x").unwrap();
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn files_are_made_where_no_link_leads_away() {
    let scratch = scratch("make");
    let place = |name: &str, follow| Place::find(&scratch.join(name), follow).unwrap();
    symlink("elsewhere", scratch.join("link")).unwrap();
    assert_eq!(place("link", false).make(0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert!(place("link", false).make_or_open(0o600).is_err());
    let mode = |name: &str| fs::metadata(scratch.join(name)).unwrap().mode() & 0o777;
    drop(place("new", false).make(0o400).unwrap());
    assert_eq!(mode("new"), 0o400);
    assert_eq!(place("new", false).make(0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    place("link", true).make_or_open(0o600).unwrap().write_all(b"x").unwrap();
    assert_eq!((fs::read(scratch.join("elsewhere")).unwrap(), mode("elsewhere")), (b"x".to_vec(), 0o600));
    place("elsewhere", true).make_or_open(0o644).unwrap().write_all(b"").unwrap();
    assert_eq!(fs::read(scratch.join("elsewhere")).unwrap(), b"x");
    drop(place("other", true).make_or_open(0o400).unwrap());
    assert_eq!(mode("other"), 0o400);
    let (_reader, writer) = io::pipe().unwrap();
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
    assert!(Place::find(Path::new(&path), true).unwrap().make_or_open(0o600).is_ok());
    fs::remove_dir_all(scratch).unwrap();
}
