//! NBD servers of the same LUKS1 volume (the format that nbdkit
//! knows): fio's and libnbd's clients on a Unix socket.

use crate::doors::fio::{Job, Outcome};
use crate::doors::server::Server;
use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every server with one client.
pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let wanted = ROWS.iter().map(|row| row.title).chain([COPY]).any(|title| options.wants(title));
    if !wanted {
        return Vec::new();
    }
    let servers = Rc::new(Servers::start(options.mib));
    let mut cases: Vec<Case> = ROWS.iter().map(|row| row.case(&servers)).collect();
    cases.push(copy(&servers));
    cases
}

/// Four clients of Keyway beside one.
pub(crate) fn connections(options: &Options) -> Vec<Case> {
    let title = |row: &Row| format!("{}, four connections", row.title);
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.job.depth > 1 && options.wants(&title(row))).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let keyway = Rc::new(Keyway::start(options.mib));
    let case = |row: &&Row| {
        let (four, one) = (Rc::clone(&keyway), Rc::clone(&keyway));
        let (job, value) = (row.job, row.value);
        let four_jobs = Job { jobs: 4, depth: job.depth / 4, ..job };
        Case::new(title(row), row.unit, ROUNDS)
            .with("keyway", move || value(four_jobs.over_nbd(&four.socket, four.mib)))
            .with("one connection", move || value(job.over_nbd(&one.socket, one.mib)))
            .wanting(Goal::RatioAtLeast(1.0))
    };
    rows.iter().map(case).collect()
}

/// What the server takes while 64 requests of 1 MiB are in flight,
/// over one connection and over four.
pub(crate) fn memory(options: &Options) -> Vec<Case> {
    let title = |jobs: u32| format!("NBD peak memory, 64 × 1 MiB in flight, {jobs} connections");
    let case = |jobs: u32| {
        let mib = options.mib;
        Case::new(title(jobs), Unit::Mebibytes, 3)
            .with("keyway", move || {
                let keyway = Keyway::start(mib.min(512));
                for rw in ["read", "write"] {
                    Job { rw, bs: "1m", depth: 64 / jobs, jobs }.over_nbd(&keyway.socket, keyway.mib);
                }
                keyway.server.peak_memory()
            })
            .wanting(Goal::Below(96.0))
    };
    [1, 4].into_iter().filter(|jobs| options.wants(&title(*jobs))).map(case).collect()
}

/// Keyway beside another build of it, `--beside PROGRAM`: neither requests nor their latency may get worse by
/// more than 2 %.
pub(crate) fn beside(options: &Options) -> Vec<Case> {
    let Some(other) = &options.beside else { return Vec::new() };
    let title = |row: &Row| format!("{}, beside {other}", row.title);
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.wants(&title(row))).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let [new, old] = ["keyway", other].map(|program| Rc::new(Keyway::of(program, options.mib)));
    let case = |row: &&Row| {
        let (new, old) = (Rc::clone(&new), Rc::clone(&old));
        let (job, value) = (row.job, row.value);
        let goal = match row.unit {
            Unit::Microseconds => Goal::RatioAtMost(1.02),
            _ => Goal::RatioAtLeast(0.98),
        };
        Case::new(title(row), row.unit, options.rounds)
            .with("keyway", move || value(job.over_nbd(&new.socket, new.mib)))
            .with("the other", move || value(job.over_nbd(&old.socket, old.mib)))
            .wanting(goal)
    };
    rows.iter().map(case).collect()
}

/// A row of the table: a job, which of its figures counts, and what is wanted beside whom.
struct Row {
    title: &'static str,
    unit: Unit,
    job: Job,
    value: fn(Outcome) -> f64,
    raw: Option<Goal>,
    luks: Option<Goal>,
    qemu: Option<Goal>,
}

const fn job(rw: &'static str, bs: &'static str, depth: u32) -> Job {
    Job { rw, bs, depth, jobs: 1 }
}

const fn at_least(ratio: f64) -> Option<Goal> {
    Some(Goal::RatioAtLeast(ratio))
}

const ROWS: [Row; 5] = [
    Row {
        title: "NBD 4K random read, queue depth 32",
        unit: Unit::KiloIops,
        job: job("randread", "4k", 32),
        value: |outcome| outcome.kilo_iops,
        raw: at_least(1.0),
        luks: at_least(1.4),
        qemu: at_least(3.5),
    },
    Row {
        title: "NBD 4K random write, queue depth 32",
        unit: Unit::KiloIops,
        job: job("randwrite", "4k", 32),
        value: |outcome| outcome.kilo_iops,
        raw: None,
        luks: at_least(1.4),
        qemu: None,
    },
    Row {
        title: "NBD 128K read",
        unit: Unit::Megabytes,
        job: job("read", "128k", 32),
        value: |outcome| outcome.megabytes,
        raw: at_least(0.8),
        luks: at_least(3.0),
        qemu: None,
    },
    Row {
        title: "NBD 128K write",
        unit: Unit::Megabytes,
        job: job("write", "128k", 32),
        value: |outcome| outcome.megabytes,
        raw: at_least(0.8),
        luks: at_least(3.0),
        qemu: None,
    },
    Row {
        title: "NBD latency of one 4K read",
        unit: Unit::Microseconds,
        job: job("randread", "4k", 1),
        value: |outcome| outcome.microseconds,
        raw: Some(Goal::RatioAtMost(1.1)),
        luks: None,
        qemu: None,
    },
];

const COPY: &str = "nbdcopy of the volume to null";
const ROUNDS: usize = 5;

impl Row {
    fn case(&self, servers: &Rc<Servers>) -> Case {
        let (job, value) = (self.job, self.value);
        let sample = |who: Who| {
            let servers = Rc::clone(servers);
            move || value(job.over_nbd(servers.socket(who), servers.keyway.mib))
        };
        Case::new(self.title, self.unit, ROUNDS)
            .with("keyway", sample(Who::Keyway))
            .with("nbdkit, raw file", sample(Who::Raw))
            .wanting(self.raw)
            .with("nbdkit luks", sample(Who::Luks))
            .wanting(self.luks)
            .with("qemu-nbd luks", sample(Who::Qemu))
            .wanting(self.qemu)
    }
}

fn copy(servers: &Rc<Servers>) -> Case {
    let sample = |who: Who| {
        let servers = Rc::clone(servers);
        move || {
            let uri = format!("nbd+unix:///?socket={}", servers.socket(who).display());
            let mut command = program("nbdcopy", &[]);
            command.arg(uri).arg("null:");
            (servers.keyway.mib << 20) as f64 / 1e3 / milliseconds(&mut command)
        }
    };
    Case::new(COPY, Unit::Megabytes, ROUNDS)
        .with("keyway", sample(Who::Keyway))
        .with("nbdkit, raw file", sample(Who::Raw))
        .wanting(at_least(0.9))
        .with("nbdkit luks", sample(Who::Luks))
        .wanting(at_least(2.0))
        .with("qemu-nbd luks", sample(Who::Qemu))
}

#[derive(Clone, Copy)]
enum Who {
    Keyway,
    Raw,
    Luks,
    Qemu,
}

/// `keyway serve` of a volume in memory.
struct Keyway {
    // Ends before its volume goes.
    server: Server,
    socket: PathBuf,
    mib: u64,
    place: Place,
}

impl Keyway {
    fn start(mib: u64) -> Self {
        Self::of("keyway", mib)
    }

    /// The volume is made by `keyway`, and served by `server`: another build of it.
    fn of(server: &str, mib: u64) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let place = Place::new(&format!("doors-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let (key, image) = (place.file("key", b"secret"), place.image("image", mib));
        let (volume, socket) = (place.path("volume.luks"), place.path("keyway.sock"));
        let build = "keyway build --type luks1 --pbkdf-force-iterations 1000 --key-file {} {} {}";
        milliseconds(&mut program(build, &[&key, &image, &volume]));
        let serve = format!("{server} serve --key-file {{}} --socket {{}} {{}}");
        let serve = program(&serve, &[&key, &socket, &volume]);
        let server = Server::listening(serve, &socket);
        Self { server, socket, mib, place }
    }
}

/// Keyway and its peers, each with a copy of its own: programs refuse
/// to share a volume that they write.
struct Servers {
    _peers: [Server; 3],
    sockets: [PathBuf; 3],
    keyway: Keyway,
}

impl Servers {
    fn start(mib: u64) -> Self {
        let keyway = Keyway::start(mib);
        let place = &keyway.place;
        let key = place.path("key");
        let copy = |name: &str| {
            let path = place.path(name);
            milliseconds(&mut program("cp {} {}", &[&place.path("volume.luks"), &path]));
            path
        };
        let sockets = ["raw.sock", "luks.sock", "qemu.sock"].map(|name| place.path(name));
        let raw = program("nbdkit -f -U {} file {}", &[&sockets[0], &place.path("image")]);
        let mut luks = program("nbdkit -f -U {} --filter=luks file {}", &[&sockets[1], &copy("nbdkit.luks")]);
        luks.arg(format!("passphrase=+{}", key.display()));
        let mut qemu = program("qemu-nbd -t -e 8 -k {}", &[&sockets[2]]);
        let (secret, file) = (key.display(), copy("qemu.luks"));
        qemu.arg("--object").arg(format!("secret,id=key,file={secret}")).arg("--image-opts");
        let file = file.display();
        qemu.arg(format!("driver=luks,key-secret=key,file.driver=file,file.filename={file}"));
        let peers = [(raw, 0), (luks, 1), (qemu, 2)]
            .map(|(command, socket)| Server::listening(command, &sockets[socket]));
        Self { _peers: peers, sockets, keyway }
    }

    fn socket(&self, who: Who) -> &PathBuf {
        match who {
            Who::Keyway => &self.keyway.socket,
            Who::Raw => &self.sockets[0],
            Who::Luks => &self.sockets[1],
            Who::Qemu => &self.sockets[2],
        }
    }
}
