//! Paths that are refused, and operations at the end of good ones.

use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

/// A directory of this user's, removed with the test. Its parent may be /tmp, which is sticky.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-directory-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        set_mode(&path, 0o700);
        Self(fs::canonicalize(path).unwrap())
    }

    fn make(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).unwrap();
        set_mode(&path, mode);
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// The refusal's message.
fn refused(result: Result<Directory>) -> String {
    match result {
        Err(Error::Refused { why, .. }) => why,
        other => panic!("not refused: {other:?}"),
    }
}

const US: u32 = 1000;
const ROOT: u32 = 0;
/// The owner of "/" in a container.
const KEEPER: u32 = 7;

fn judge(kind: FileType, mode: u32, owner: u32, role: Role) -> Option<String> {
    problem(kind, mode, owner, role, [US, ROOT, KEEPER])
}

#[test]
fn owners() {
    use Role::{OnTheWay, Own};
    let owned = |owner, role| judge(FileType::Directory, 0o700, owner, role);
    assert_eq!(owned(US, Own), None);
    assert_eq!(owned(ROOT, Own).unwrap(), "belongs to another user (0)");
    assert_eq!(owned(KEEPER, Own).unwrap(), "belongs to another user (7)");
    assert_eq!(owned(12345, Own).unwrap(), "belongs to another user (12345)");
    assert_eq!([US, ROOT, KEEPER].map(|owner| owned(owner, OnTheWay)), [None, None, None]);
    assert_eq!(owned(12345, OnTheWay).unwrap(), "belongs to another user (12345)");
}

#[test]
fn modes() {
    use Role::{OnTheWay, Own};
    let with = |mode, role| judge(FileType::Directory, mode, US, role);
    for mode in [0o700, 0o755, 0o711, 0o1700, 0o2755, 0o500] {
        assert_eq!((with(mode, Own), with(mode, OnTheWay)), (None, None), "{mode:o}");
    }
    for mode in [0o720, 0o702, 0o777, 0o770, 0o2775] {
        let text = format!("can be written to by others (mode {mode:04o})");
        assert_eq!(with(mode, Own), Some(text.clone()));
        assert_eq!(with(mode, OnTheWay), Some(text));
        // Others can add entries to a sticky directory but replace none: it may be on the path, but
        // not be the user's own.
        assert_eq!(with(mode | 0o1000, OnTheWay), None, "{mode:o}");
        assert!(with(mode | 0o1000, Own).is_some(), "{mode:o}");
    }
}

#[test]
fn kinds() {
    for role in [Role::OnTheWay, Role::Own] {
        assert_eq!(judge(FileType::Symlink, 0o777, US, role).unwrap(), "is a symbolic link");
        assert_eq!(judge(FileType::RegularFile, 0o700, US, role).unwrap(), "is not a directory");
        assert_eq!(judge(FileType::Socket, 0o700, US, role).unwrap(), "is not a directory");
    }
}

#[test]
fn every_part_of_the_way_is_looked_at() {
    let scratch = Scratch::new("way");
    let inner = scratch.make("a", 0o700).join("b");
    fs::create_dir(&inner).unwrap();
    set_mode(&inner, 0o700);
    assert_eq!(Directory::open(&inner).unwrap().path(), inner);
    let a = scratch.0.join("a");
    set_mode(&a, 0o777);
    let text = refused(Directory::open(&inner));
    assert_eq!(text, format!("{} can be written to by others (mode 0777)", a.display()));
    assert_eq!(refused(Directory::open_or_make(&inner.join("new"))), text);
    assert!(!inner.join("new").exists(), "made where others may write");
    // The immediate parent counts as well.
    assert_eq!(refused(Directory::open_or_make(&a.join("new"))), text);
    set_mode(&a, 0o1777);
    Directory::open(&inner).unwrap();
    assert!(refused(Directory::open(&a)).ends_with("(mode 1777)"), "a sticky one is nobody's own");
}

#[test]
fn links_lead_nowhere() {
    let scratch = Scratch::new("links");
    let real = scratch.make("real", 0o700);
    fs::create_dir(real.join("inner")).unwrap();
    let link = scratch.0.join("link");
    symlink(&real, &link).unwrap();
    let text = format!("{} is a symbolic link", link.display());
    assert_eq!(refused(Directory::open(&link)), text);
    assert_eq!(refused(Directory::open(&link.join("inner"))), text);
    assert_eq!(refused(Directory::open_or_make(&link)), text);
    assert_eq!(refused(Directory::open(&scratch.0).unwrap().enter("link")), text);
    assert_eq!(refused(Directory::open(&scratch.0).unwrap().enter_or_make("link")), text);
    symlink(scratch.0.join("nowhere"), scratch.0.join("dangling")).unwrap();
    assert!(refused(Directory::open_or_make(&scratch.0.join("dangling"))).ends_with("is a symbolic link"));
    assert!(!scratch.0.join("nowhere").exists());
}

#[test]
fn strange_paths() {
    let scratch = Scratch::new("strange");
    assert!(refused(Directory::open(Path::new("relative"))).contains("does not start at the root"));
    let up = scratch.make("a", 0o700).join("..");
    assert!(refused(Directory::open(&up)).contains("\"..\""));
    fs::write(scratch.0.join("file"), "").unwrap();
    assert!(refused(Directory::open(&scratch.0.join("file"))).ends_with("is not a directory"));
    assert!(refused(Directory::open(&scratch.0.join("file/below"))).ends_with("is not a directory"));
    let below = Directory::open(&scratch.0).unwrap().enter("file/below");
    assert!(refused(below).ends_with("file/below is below something that is not a directory"));
    let missing = Directory::open(&scratch.0.join("missing"));
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
}

/// As root: directories of another user.
#[test]
fn another_users() {
    if !geteuid().is_root() {
        return println!("left out: only root gives directories away");
    }
    let scratch = Scratch::new("others");
    let theirs = scratch.make("theirs", 0o700);
    let inside = theirs.join("ours");
    fs::create_dir(&inside).unwrap();
    set_mode(&inside, 0o700);
    chown(&theirs, Some(12345), None).unwrap();
    let text = format!("{} belongs to another user (12345)", theirs.display());
    assert_eq!(refused(Directory::open(&theirs)), text);
    assert_eq!(refused(Directory::open_or_make(&theirs)), text);
    // It belongs to this user, but is in another user's directory, so that user can replace it.
    assert_eq!(refused(Directory::open(&inside)), text);
}

#[test]
fn what_is_made_is_for_this_user_alone() {
    let scratch = Scratch::new("made");
    let made = Directory::open_or_make(&scratch.0.join("own")).unwrap();
    assert_eq!(mode(made.path()), 0o700);
    let inner = made.enter_or_make("inner").unwrap();
    assert_eq!(mode(inner.path()), 0o700);
    made.enter_or_make("inner").expect("it is there already");
    made.replace("facts", "name x\n").unwrap();
    assert_eq!((made.read("facts").unwrap().as_str(), mode(&made.path().join("facts"))), ("name x\n", 0o600));
    let file = made.file("facts", OFlags::RDWR).unwrap();
    assert!(made.is_named(&file, "facts").unwrap());
    made.replace("facts", "name y\n").unwrap();
    assert!(!made.is_named(&file, "facts").unwrap(), "another file has the name now");
    assert_eq!(made.read("facts").unwrap(), "name y\n");
    let mut names = made.names().unwrap();
    names.sort();
    assert_eq!(names, ["facts", "inner"]);
    inner.replace("kept", "").unwrap();
    made.remove("inner").expect_err("something is in it");
    inner.remove("kept").unwrap();
    for name in ["facts", "inner", "missing"] {
        made.remove(name).unwrap();
    }
    assert!(made.names().unwrap().is_empty());
}

#[test]
fn only_files_of_ours_are_read() {
    let scratch = Scratch::new("read");
    let directory = Directory::open(&scratch.0).unwrap();
    fs::write(scratch.0.join("secret"), "elsewhere").unwrap();
    symlink(scratch.0.join("secret"), scratch.0.join("link")).unwrap();
    assert_eq!(directory.read("secret").unwrap(), "elsewhere");
    directory.read("link").expect_err("a link");
    // A symbolic link in place of the draft is replaced, not followed.
    symlink(scratch.0.join("secret"), scratch.0.join("facts.new")).unwrap();
    directory.replace("facts", "new").unwrap();
    assert_eq!(directory.read("secret").unwrap(), "elsewhere");
    rustix::fs::mknodat(CWD, scratch.0.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert_eq!(directory.read("pipe").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    fs::write(scratch.0.join("full"), vec![b'x'; 1 << 16]).unwrap();
    assert_eq!(directory.read("full").unwrap().len(), 1 << 16);
    fs::write(scratch.0.join("long"), vec![b'x'; (1 << 16) + 1]).unwrap();
    directory.read("long").expect_err("too long");
}

/// A directory that was moved is still the one that was checked.
#[test]
fn work_is_done_where_one_looked() {
    let scratch = Scratch::new("moved");
    let directory = Directory::open(&scratch.make("first", 0o700)).unwrap();
    fs::rename(scratch.0.join("first"), scratch.0.join("second")).unwrap();
    scratch.make("first", 0o700);
    directory.replace("facts", "here").unwrap();
    assert!(scratch.0.join("second/facts").exists() && !scratch.0.join("first/facts").exists());
}
