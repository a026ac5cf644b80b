//! Who keeps a mount from being unmounted, as far as this user may see it: processes that have one
//! of its files open or their working directory in it, loop devices over its file, mounts inside
//! it.

use keyway_volume::device::mounts;
use std::fs;
use std::path::{Path, PathBuf};

/// The users of the mount at `dir`, each as text ("fuse2fs (process 77)").
pub(super) fn users_of(dir: &Path) -> Vec<String> {
    let inside = |path: &PathBuf| path.starts_with(dir);
    let loops =
        entries(Path::new("/sys/block")).filter(|device| backing_file(device).as_ref().is_some_and(inside));
    let loops = loops.filter_map(|device| Some(format!("/dev/{}", device.file_name()?.to_string_lossy())));
    let mounts = mounts::all().into_iter().filter(|mount| inside(&mount.point) && mount.point != dir);
    let mounts = mounts.map(|mount| format!("a mount on {}", shown(&mount.point.to_string_lossy())));
    let processes = entries(Path::new("/proc")).filter_map(|process| in_words(&process, dir));
    processes.chain(loops).chain(mounts).collect()
}

/// Describes the process with this proc(5) directory, if it uses something below `dir`.
fn in_words(process: &Path, dir: &Path) -> Option<String> {
    let pid: u32 = process.file_name()?.to_str()?.parse().ok()?;
    // Reads the links' targets without accessing them, because a mount that hangs would never
    // answer.
    let links =
        ["cwd", "root"].map(|name| process.join(name)).into_iter().chain(entries(&process.join("fd")));
    let uses = links.filter_map(|link| fs::read_link(link).ok()).any(|place| place.starts_with(dir));
    if !uses || pid == std::process::id() {
        return None;
    }
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    Some(format!("{} (process {pid})", shown(name.trim_end())))
}

/// The file behind a loop device.
fn backing_file(device: &Path) -> Option<PathBuf> {
    fs::read_to_string(device.join("loop/backing_file")).ok().map(|path| path.trim_end_matches('\n').into())
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// A process chooses its own name: it must not contain terminal control characters.
fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_named() {
        let dir = std::env::temp_dir().join(format!("keyway-users-{}", std::process::id()));
        fs::create_dir_all(dir.join("a")).unwrap();
        let dir = fs::canonicalize(dir).unwrap();
        assert_eq!(users_of(&dir), Vec::<String>::new());
        let file = fs::File::create(dir.join("a/plain")).unwrap();
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(file)).spawn().unwrap();
        let expected = format!("sleep (process {})", child.id());
        // For a moment the child is still this program.
        while fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap() != "sleep\n" {
            std::thread::yield_now();
        }
        let found = users_of(&dir);
        let beside = users_of(&dir.join("b"));
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found, [expected]);
        assert!(beside.is_empty());
        assert_eq!(shown("a\u{1b}[2J"), "a\\u{1b}[2J");
    }
}
