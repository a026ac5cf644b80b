//! A server that is killed at any time loses nothing that was acknowledged and flushed.

use crate::served::{Served, Volume};
use keyway_tests::nbd::Nbd;
use keyway_tests::{Scratch, random};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Blocks span sectors, so adjacent blocks share one: each write reads, changes and writes back.
const BLOCK: usize = 3000;
const BLOCKS: u64 = 300;
const KILLS: u64 = 200;

/// The time limit for the kills on slow machines.
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
    /// The content of each place after the last flush, or when it was last read.
    flushed: BTreeMap<u64, Vec<u8>>,
    /// Numbers written since, acknowledged or not.
    since: BTreeMap<u64, Vec<u64>>,
}

impl Written {
    /// Writes and flushes until the server is gone; returns the number of acknowledged flushes.
    fn write_until_cut(&mut self, mut client: Nbd) -> u64 {
        let mut flushes = 0;
        loop {
            for _ in 0..1 + self.number % 7 {
                self.number += 1;
                let place = u64::from(random(self.number, 1)[0]) * BLOCKS / 256;
                self.since.entry(place).or_default().push(self.number);
                if client.write(place * BLOCK as u64, &content(self.number)).is_err() {
                    return flushes;
                }
            }
            if client.flush().is_err() {
                return flushes;
            }
            flushes += 1;
            let done = std::mem::take(&mut self.since);
            self.flushed
                .extend(done.into_iter().filter_map(|(place, all)| Some((place, content(*all.last()?)))));
        }
    }

    /// Asserts that each place holds what was last flushed, or something newer. The one unanswered
    /// write may have reached only some of its sectors.
    fn check(&mut self, plaintext: &[u8], kills: u64) {
        for (place, block) in (0..).zip(plaintext.chunks(BLOCK)) {
            let newer = self.since.remove(&place).unwrap_or_default();
            let Some(flushed) = self.flushed.get(&place) else { continue };
            let whole: Vec<_> = newer.iter().map(|n| content(*n)).chain([flushed.clone()]).collect();
            let unanswered =
                newer.last().filter(|number| **number == self.number).map(|number| content(*number));
            let torn = unanswered.is_some_and(|new| whole.iter().any(|old| is_mixture(block, old, &new)));
            assert!(
                torn || whole.iter().any(|one| one == block),
                "kill {kills}: block {place} holds neither what was flushed nor any of {newer:?}, written since"
            );
            // It was read from the page cache: later content must not be older.
            self.flushed.insert(place, block.to_vec());
        }
        self.since.clear();
    }
}

fn content(number: u64) -> Vec<u8> {
    random(number, BLOCK)
}

fn is_mixture(block: &[u8], old: &[u8], new: &[u8]) -> bool {
    block.iter().zip(old).zip(new).all(|((byte, old), new)| byte == old || byte == new)
}
