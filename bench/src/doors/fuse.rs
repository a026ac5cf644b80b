//! FUSE: the plaintext as a file, beside a pass-through of the raw
//! file and nbdkit's luks filter behind nbdfuse.

use crate::doors::fio::Job;
use crate::doors::server::Server;
use crate::options::Options;
use crate::peers::volumes::{Place, milliseconds, program};
use crate::rounds::{Case, Goal, Unit};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    if !options.wants(READ) {
        return Vec::new();
    }
    let mounts = Rc::new(Mounts::start(options.mib));
    let sample = |file: &PathBuf| {
        let (mounts, file) = (Rc::clone(&mounts), file.clone());
        move || Job { rw: "read", bs: "1m", depth: 1, jobs: 1 }.through_file(&file, mounts.mib).megabytes
    };
    let case = Case::new(READ, Unit::Megabytes, 5)
        .with("keyway mount", sample(&mounts.files[0]))
        .with("bindfs of the raw file", sample(&mounts.files[1]))
        .wanting(Goal::RatioAtLeast(0.8))
        .with("nbdfuse of nbdkit luks", sample(&mounts.files[2]))
        .wanting(Goal::RatioAtLeast(2.0));
    vec![case]
}

const READ: &str = "FUSE sequential read, 1 MiB at a time";

/// Three mounted directories.
struct Mounts {
    // (In this order: nbdfuse ends before its server, and all before the volumes go.)
    _mounts: [Server; 3],
    _nbdkit: Server,
    files: [PathBuf; 3],
    mib: u64,
    _place: Place,
}

impl Mounts {
    fn start(mib: u64) -> Self {
        let place = Place::new("fuse");
        let (key, volume) = (place.file("key", b"secret"), place.path("volume.luks"));
        let [ours, raw, theirs, source] = ["ours", "raw", "theirs", "source"].map(|name| {
            let directory = place.path(name);
            fs::create_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
            directory
        });
        let image = place.image("source/image", mib);
        let build = "keyway build --type luks1 --pbkdf-force-iterations 1000 --key-file {} {} {}";
        milliseconds(&mut program(build, &[&key, &image, &volume]));
        let copy = place.path("nbdkit.luks");
        milliseconds(&mut program("cp {} {}", &[&volume, &copy]));

        let socket = place.path("luks.sock");
        let mut luks = program("nbdkit -f -U {} --filter=luks file {}", &[&socket, &copy]);
        luks.arg(format!("passphrase=+{}", key.display()));
        let nbdkit = Server::listening(luks, &socket);

        let files = [ours.join("plain"), raw.join("image"), theirs.join("nbd")];
        let mount = program("keyway mount --foreground --key-file {} {} {}", &[&key, &volume, &ours]);
        let bindfs = program("bindfs -f {} {}", &[&source, &raw]);
        let mut nbdfuse = program("nbdfuse {}", &[&theirs]);
        nbdfuse.arg(format!("nbd+unix:///?socket={}", socket.display()));
        let mounts = [(mount, &ours, &files[0]), (bindfs, &raw, &files[1]), (nbdfuse, &theirs, &files[2])]
            .map(|(command, directory, file)| Server::mounting(command, directory, file));
        Self { _mounts: mounts, _nbdkit: nbdkit, files, mib, _place: place }
    }
}
