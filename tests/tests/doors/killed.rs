//! A server that is killed at any time loses nothing that was acknowledged and flushed.

use crate::served::{Served, Volume};
use keyway_tests::nbd::Nbd;
use keyway_tests::{Scratch, random};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Blocks lie across sectors, so that neighbours share one: each write reads, changes and writes back.
const BLOCK: usize = 3000;
const BLOCKS: u64 = 300;
const KILLS: u64 = 200;

/// When slow machines stop killing.
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn flushed_blocks_survive_every_kill() {
    let scratch = Scratch::new();
    let volume = Volume::new(&scratch, "disk.luks", 1);
    let socket = scratch.path("nbd.sock");
    let run = volume.serve().arg("--socket").arg(&socket);
    let mut written = Written::default();
    let (started, mut kills, mut flushes) = (Instant::now(), 0, 0);
    while kills < KILLS && started.elapsed() < LONGEST {
        let mut served = Served::start(&run);
        let client = Nbd::connect_soon(&socket, "");
        let after = Duration::from_micros(u64::from(random(kills, 2)[0]) * 100);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| written.write_until_cut(client));
            std::thread::sleep(after);
            served.kill();
            flushes += writer.join().expect("a writer");
        });
        kills += 1;
        written.check(&volume.read(0, BLOCK * BLOCKS as usize), kills);
    }
    println!("{kills} kills, {} writes, {flushes} flushes", written.number);
    assert!(kills >= 20 && flushes > kills / 2, "{kills} kills, {flushes} flushes: nothing was tested");
}

/// What was written where: numbers, each of which gives its block's content.
#[derive(Default)]
struct Written {
    number: u64,
    /// The number that was flushed last in each place.
    flushed: BTreeMap<u64, u64>,
    /// Numbers written since, acknowledged or not.
    since: BTreeMap<u64, Vec<u64>>,
}

impl Written {
    /// Writes and flushes until the server is gone; how many flushes were acknowledged.
    fn write_until_cut(&mut self, mut client: Nbd) -> u64 {
        let mut flushes = 0;
        loop {
            for _ in 0..1 + self.number % 7 {
                self.number += 1;
                let place = u64::from(random(self.number, 1)[0]) * BLOCKS / 256;
                self.since.entry(place).or_default().push(self.number);
                if client.write(place * BLOCK as u64, &random(self.number, BLOCK)).is_err() {
                    return flushes;
                }
            }
            if client.flush().is_err() {
                return flushes;
            }
            flushes += 1;
            let done = std::mem::take(&mut self.since);
            self.flushed.extend(done.into_iter().filter_map(|(place, all)| Some((place, *all.last()?))));
        }
    }

    /// Each place holds what was flushed last, or something newer.
    fn check(&mut self, plaintext: &[u8], kills: u64) {
        for (place, block) in (0..).zip(plaintext.chunks(BLOCK)) {
            let newer = self.since.remove(&place).unwrap_or_default();
            let flushed = self.flushed.get(&place).copied();
            let found = newer.iter().copied().chain(flushed).find(|number| random(*number, BLOCK) == block);
            assert!(
                found.is_some()
                    || flushed.is_none() && newer.is_empty()
                    || flushed.is_none() && !newer.is_empty(),
                "kill {kills}: block {place} holds neither {flushed:?}, which was flushed, nor {newer:?}, written since"
            );
            if let Some(found) = found {
                // It was read from the disk's cache: what comes after must not be older.
                self.flushed.insert(place, found);
            }
        }
        self.since.clear();
    }
}
