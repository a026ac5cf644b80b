//! The suspendable device as a machine of single steps, taken through every order in which requests and those who
//! suspend, resume and close the volume can take them. No request waits for a volume that is there, or
//! asks more often than something has changed; none is answered without the volume; and what was
//! wiped stays away.
//!
//! Whether the model would notice a fault is shown by putting some in: the first is how the device once was.

use std::collections::HashSet;

#[test]
fn in_no_order_does_a_request_hang_or_spin_and_what_is_wiped_stays_away() {
    use Role::*;
    let casts: [&[Role]; 8] = [
        &[Request, Suspend, Resume],
        &[Request, Request, Suspend, Resume, Suspend],
        &[Request, Suspend, Resume, Suspend, Resume],
        &[Request, Suspend, Suspend, Resume, Resume],
        &[Request, Request, Suspend, Shut],
        &[Request, Suspend, Shut, Stay, Resume],
        &[Request, Suspend, Resume, Wipe],
        &[Request, Request, Suspend, Resume, Shut, Wipe],
    ];
    for cast in casts {
        explore(cast, Fault::None).unwrap_or_else(|why| panic!("{cast:?}: {why}"));
    }
}

#[test]
fn the_model_notices_what_is_wrong() {
    use Role::*;
    let spins = explore(&[Request, Suspend, Resume, Suspend], Fault::TwoTruths).unwrap_err();
    assert!(spins.starts_with("spins"), "{spins}");
    let returns = explore(&[Suspend, Resume, Wipe], Fault::TwoTruths).unwrap_err();
    assert!(returns.starts_with("wiped"), "{returns}");
    for fault in [Fault::TellsBefore, Fault::RemembersAfter] {
        let hangs = explore(&[Request, Suspend, Resume], fault).unwrap_err();
        assert!(hangs.starts_with("hangs"), "{fault:?}: {hangs}");
    }
}

/// What is wrong with the suspendable device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A word beside the volume says whether it is open; who resumes it changes one after the other,
    /// and looks only before whether it is suspended at all.
    TwoTruths,
    /// Who changes something tells it before.
    TellsBefore,
    /// A request remembers the count of changes after it has looked.
    RemembersAfter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Request,
    Suspend,
    Resume,
    Shut,
    Stay,
    Wipe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Word {
    Open,
    Suspended,
    Wiped,
}

/// What a thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Remembers,
    Looks,
    /// With the lock shared.
    Works,
    Waits,
    Sleeps,
    /// Who resumes looks, without keeping the lock, whether there is something to do.
    Asks,
    Changes,
    /// [`Fault::TwoTruths`]: the volume is there, the word not yet.
    ChangesWord,
    Tells,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Thread {
    role: Role,
    at: At,
    seen: u8,
    looks: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    has_volume: bool,
    word: Word,
    closing: bool,
    /// How many were made, and told.
    made: u8,
    told: u8,
    was_wiped: bool,
}

fn explore(cast: &[Role], fault: Fault) -> Result<(), String> {
    let thread = |role: &Role| {
        let at = match role {
            Role::Request => At::Remembers,
            Role::Resume => At::Asks,
            _ if fault == Fault::TellsBefore => At::Tells,
            _ => At::Changes,
        };
        Thread { role: *role, at, seen: 0, looks: 0 }
    };
    let threads = cast.iter().map(thread).collect();
    let (word, closing, was_wiped) = (Word::Open, false, false);
    let start = State { threads, has_volume: true, word, closing, made: 0, told: 0, was_wiped };
    let (mut seen, mut todo) = (HashSet::new(), vec![start]);
    while let Some(state) = todo.pop() {
        if seen.insert(state.clone()) {
            let next: Vec<_> = (0..cast.len()).filter_map(|me| state.clone().step(me, fault)).collect();
            state.check(next.is_empty())?;
            todo.extend(next);
        }
    }
    Ok(())
}

impl State {
    fn check(&self, is_end: bool) -> Result<(), String> {
        for thread in &self.threads {
            if thread.at == At::Works && !self.has_volume {
                return Err(format!("works without the volume: {self:?}"));
            }
            // Each change may make it look once more.
            if thread.looks > self.made + 1 {
                return Err(format!("spins: {self:?}"));
            }
            let is_away = !self.has_volume && self.word == Word::Suspended && !self.closing;
            let may_stay = thread.at == At::Done || (thread.at == At::Sleeps && is_away);
            if is_end && !may_stay {
                return Err(format!("hangs: {self:?}"));
            }
        }
        match is_end && self.was_wiped && self.has_volume {
            true => Err(format!("wiped, and back: {self:?}")),
            false => Ok(()),
        }
    }

    /// `None` where this thread can do nothing.
    fn step(mut self, me: usize, fault: Fault) -> Option<Self> {
        let two = fault == Fault::TwoTruths;
        let late = fault == Fault::RemembersAfter;
        let before = fault == Fault::TellsBefore;
        let Thread { role, at, seen, .. } = self.threads[me];
        let is_used = self.threads.iter().any(|thread| thread.at == At::Works);
        self.threads[me].at = match at {
            At::Remembers => {
                self.threads[me].seen = self.told;
                if late && self.threads[me].looks > 0 { At::Waits } else { At::Looks }
            }
            At::Looks => {
                self.threads[me].looks += 1;
                match self.word {
                    _ if self.has_volume => At::Works,
                    Word::Wiped => At::Done,
                    _ if self.closing => At::Done,
                    Word::Open if two => At::Looks,
                    _ if late => At::Remembers,
                    _ => At::Waits,
                }
            }
            At::Works => At::Done,
            At::Waits if two && self.word != Word::Suspended => At::Looks,
            At::Waits if !two && seen != self.told => At::Remembers,
            At::Waits => At::Sleeps,
            At::Sleeps | At::Done => return None,
            At::Asks if self.has_volume || self.word == Word::Wiped => At::Done,
            At::Asks if before => At::Tells,
            At::Asks => At::Changes,
            At::Changes if matches!(role, Role::Shut | Role::Stay) => {
                self.closing = role == Role::Shut;
                self.made += 1;
                if before { At::Done } else { At::Tells }
            }
            At::Changes if is_used => return None,
            At::Changes => match self.change(role, two) {
                true if two && role == Role::Resume => At::ChangesWord,
                true if !before => At::Tells,
                _ => At::Done,
            },
            At::ChangesWord => {
                self.word = Word::Open;
                self.made += 1;
                At::Tells
            }
            At::Tells => {
                self.told += 1;
                let sleepers = self.threads.iter_mut().filter(|thread| thread.at == At::Sleeps);
                sleepers.for_each(|thread| thread.at = if two { At::Waits } else { At::Remembers });
                if before { At::Changes } else { At::Done }
            }
        };
        Some(self)
    }

    /// With the lock alone; whether something has changed.
    fn change(&mut self, role: Role, two: bool) -> bool {
        let (has_volume, word) = match role {
            Role::Suspend if self.has_volume => (false, Word::Suspended),
            Role::Resume if two => (true, self.word),
            Role::Resume if self.word == Word::Suspended => (true, Word::Open),
            Role::Wipe => (false, Word::Wiped),
            _ => return false,
        };
        (self.has_volume, self.word) = (has_volume, word);
        self.made += 1;
        self.was_wiped |= role == Role::Wipe;
        true
    }
}
