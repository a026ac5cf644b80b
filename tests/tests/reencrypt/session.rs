//! A session that has a volume open, and clients that read and write while it is re-encrypted.

use crate::{Fixture, PLAIN};
use keyway_tests::nbd::Nbd;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Run, keyway, random, until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The volume of a fixture, open under the name "home"; killed when the test ends.
pub(crate) struct Open<'a>(pub(crate) &'a Fixture);

impl<'a> Open<'a> {
    pub(crate) fn new(f: &'a Fixture, backend: &str) -> Self {
        Self::with(f, backend, |run| run)
    }

    /// With the header on another device.
    pub(crate) fn detached(f: &'a Fixture, backend: &str) -> Self {
        Self::with(f, backend, |run| run.arg("--header").arg(f.header()))
    }

    /// A process that cannot write behind this byte of any file.
    pub(crate) fn limited(f: &'a Fixture, bytes: u64) -> Self {
        Self::with(f, "nbd", |run| run.files_up_to(bytes))
    }

    fn with(f: &'a Fixture, backend: &str, header: impl FnOnce(Run) -> Run) -> Self {
        std::fs::set_permissions(f.scratch.root(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let open = Self(f);
        let run = open.keyway("open --backend").arg(backend).arg("--key-file").arg(&f.key);
        header(run.arg(&f.device).arg("home")).ok();
        open
    }

    pub(crate) fn keyway(&self, line: &str) -> Run {
        keyway(line).env("XDG_RUNTIME_DIR", self.0.scratch.root()).directory(self.0.scratch.root())
    }

    pub(crate) fn reencrypt(&self, options: &str) -> Run {
        let makes_keyslots = !options.contains("--resume-only") && !options.contains("--decrypt");
        let cheap = if makes_keyslots { CHEAP_LUKS2_PBKDF2 } else { "" };
        let run = self.keyway("reencrypt -q --active-name home").args(cheap).args(options);
        run.arg("--key-file").arg(&self.0.key)
    }

    fn directory(&self) -> PathBuf {
        self.0.scratch.path("keyway").join("home")
    }

    pub(crate) fn client(&self, backend: &str) -> Client {
        match backend {
            "nbd" => Client::Nbd(Box::new(Nbd::connect(&self.directory().join("nbd"), "").unwrap())),
            _ => {
                let file = self.directory().join("fuse/plain");
                Client::File(File::options().read(true).write(true).open(file).unwrap())
            }
        }
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        let facts = std::fs::read_to_string(self.directory().join("facts")).ok()?;
        let pid = facts.lines().find_map(|line| line.strip_prefix("pid ")?.parse().ok())?;
        Pid::from_raw(pid)
    }

    pub(crate) fn kill(&self) {
        let pid = self.pid().expect("an open session");
        kill_process(pid, Signal::KILL).unwrap();
        until("the process is gone", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            stat.map_or(true, |stat| stat.contains(") Z") || stat.contains(") X"))
        });
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.keyway("list").outcome();
    }
}

/// A client of a front end.
pub(crate) enum Client {
    Nbd(Box<Nbd>),
    File(File),
}

impl Client {
    pub(crate) fn read(&mut self, at: usize, len: usize) -> Vec<u8> {
        match self {
            Self::Nbd(nbd) => nbd.read(at as u64, len).unwrap(),
            Self::File(file) => {
                let mut bytes = vec![0; len];
                file.read_exact_at(&mut bytes, at as u64).unwrap();
                bytes
            }
        }
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        match self {
            Self::Nbd(nbd) => nbd.write(at as u64, bytes).unwrap(),
            Self::File(file) => file.write_all_at(bytes, at as u64).unwrap(),
        }
    }

    pub(crate) fn flush(&mut self) {
        match self {
            Self::Nbd(nbd) => nbd.flush().unwrap(),
            Self::File(file) => file.sync_all().unwrap(),
        }
    }
}

const CLIENTS: usize = 3;
/// Each client has every third share; the sectors at their borders are used by two of them.
const SHARE: usize = 10_000;

/// Reads and writes its shares until `done`; each read must give what was written last. Returns its
/// view of the plaintext, and the times that its requests took.
fn use_it(
    mut client: Client,
    number: usize,
    mut known: Vec<u8>,
    done: &AtomicBool,
) -> (Vec<u8>, Vec<Duration>) {
    let (mut times, mut draw) = (Vec::new(), 7919 * (number + 1));
    while !done.load(Ordering::SeqCst) {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = ((draw >> 33) % (PLAIN / SHARE / CLIENTS)) * CLIENTS + number;
        let range = share * SHARE..(share + 1) * SHARE;
        let started = Instant::now();
        let found = client.read(range.start, SHARE);
        times.push(started.elapsed());
        assert!(found == known[range.clone()], "client {number}: bytes {range:?} are not what was written");
        let fresh = random(draw as u64, SHARE);
        let started = Instant::now();
        client.write(range.start, &fresh);
        times.push(started.elapsed());
        known[range].copy_from_slice(&fresh);
        if draw % 16 == 3 {
            client.flush();
        }
    }
    client.flush();
    (known, times)
}

/// What the clients have written together.
fn together(plain: &[u8], views: &[(Vec<u8>, Vec<Duration>)]) -> Vec<u8> {
    let mut all = plain.to_vec();
    for (share, bytes) in all.chunks_mut(SHARE).enumerate().filter(|(_, bytes)| bytes.len() == SHARE) {
        bytes.copy_from_slice(&views[share % CLIENTS].0[share * SHARE..][..SHARE]);
    }
    all
}

/// Reencrypts it while clients read and write; returns the plaintext that they have made.
pub(crate) fn meanwhile(open: &Open<'_>, backend: &str, options: &str) -> Vec<u8> {
    let (f, done) = (open.0, &AtomicBool::new(false));
    let views: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (client, known) = (open.client(backend), f.plain.clone());
                scope.spawn(move || use_it(client, number, known, done))
            })
            .collect();
        let ended = open.reencrypt(options).outcome();
        done.store(true, Ordering::SeqCst);
        assert_eq!(ended.code, Some(0), "{ended}");
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let mut times: Vec<_> = views.iter().flat_map(|(_, times)| times).copied().collect();
    times.sort();
    println!(
        "{backend}, {options}: {} requests meanwhile, half within {:?}, 99 % within {:?}, all within {:?}",
        times.len(),
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    );
    assert!(times.len() > 20, "{} requests", times.len());
    together(&f.plain, &views)
}
