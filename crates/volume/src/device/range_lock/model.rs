//! The lock as a machine of single steps, taken through every order in which threads can take them:
//! nobody has a range beside a writer, and nobody is left waiting.
//!
//! A step is one access to what threads share: an atomic, or all that is done behind the mutex up to
//! where others could notice. All atomics of the lock are sequentially consistent, so that every run
//! is one of these orders. Whether the model would notice a fault is shown by putting some in.

use std::collections::HashSet;

#[test]
fn in_no_order_has_anybody_a_range_beside_a_writer_and_nobody_is_left_waiting() {
    let [left, right, both] = [0b01, 0b10, 0b11];
    let shared = |cells| Thread::new(Kind::Reader, cells);
    let alone = |cells| Thread::new(Kind::Writer, cells);
    // It found no slot.
    let standing = |cells| Thread { at: At::Locks(Inside::Enters), ..Thread::new(Kind::Reader, cells) };
    let casts = [
        vec![shared(left), alone(left), alone(left)],
        vec![shared(left), shared(left), alone(left), alone(left)],
        vec![shared(both), shared(left), shared(right), alone(left)],
        vec![standing(both), shared(left), alone(both), alone(left)],
        vec![shared(left), alone(both), alone(right), shared(right)],
        vec![shared(left), shared(both), alone(left), alone(right), shared(right)],
    ];
    for cast in casts {
        let seen = explore(cast, Fault::None).unwrap();
        assert!(seen > 500, "{seen} states");
    }
}

#[test]
fn the_model_notices_what_is_wrong() {
    let cast = || vec![Thread::new(Kind::Reader, 1), Thread::new(Kind::Writer, 1)];
    for (fault, told) in [
        (Fault::LooksBeforeItsSlot, "beside a writer"),
        (Fault::LooksBeforeItCounts, "beside a writer"),
        (Fault::LeavesSilently, "left waiting"),
    ] {
        let found = explore(cast(), fault).unwrap_err();
        assert!(found.starts_with(told), "{fault:?}: {found}");
    }
}

/// What is wrong with the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A reader looks at the number of writers before it takes its slot.
    LooksBeforeItsSlot,
    /// A writer looks at the slots before it adds itself to the number.
    LooksBeforeItCounts,
    /// A reader that leaves its slot wakes nobody.
    LeavesSilently,
}

/// The number of states; or what is wrong with one of them.
fn explore(threads: Vec<Thread>, fault: Fault) -> Result<usize, String> {
    let start = State { threads, mutex: None, writers: 0, queue: Vec::new() };
    let (mut seen, mut todo) = (HashSet::new(), vec![start]);
    while let Some(state) = todo.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        state.check()?;
        let next: Vec<State> =
            (0..state.threads.len()).filter_map(|thread| state.clone().step(thread, fault)).collect();
        if next.is_empty() && state.threads.iter().any(|thread| thread.at != At::Done) {
            return Err(format!("left waiting: {state:?}"));
        }
        todo.extend(next);
    }
    Ok(seen.len())
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    /// Who holds the mutex.
    mutex: Option<usize>,
    writers: usize,
    /// The threads in the queue.
    queue: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Thread {
    kind: Kind,
    /// A bit for each that it wants.
    cells: u8,
    at: At,
    has_slot: bool,
    saw_writers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Reader,
    Writer,
}

/// What a thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    TakesSlot,
    LooksForWriters,
    /// Goes to the mutex, and on from there.
    Locks(Inside),
    Holds(Inside),
    /// Looks at the slot of this thread, with the mutex.
    LooksAtSlot(usize),
    Sleeps,
    HasRange,
    LooksWhoWaits,
    Done,
}

/// What is done behind the mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Inside {
    /// Whether a writer excludes the slot.
    JudgesSlot,
    Counts,
    Enters,
    LooksAtQueue,
    Wakes,
    Leaves,
}

impl Thread {
    fn new(kind: Kind, cells: u8) -> Self {
        let at = if kind == Kind::Reader { At::TakesSlot } else { At::Locks(Inside::Counts) };
        Self { kind, cells, at, has_slot: false, saw_writers: false }
    }

    fn excludes(&self, other: &Self) -> bool {
        self.cells & other.cells != 0 && (self.kind == Kind::Writer || other.kind == Kind::Writer)
    }
}

impl State {
    fn check(&self) -> Result<(), String> {
        let inside: Vec<_> = self.threads.iter().filter(|thread| thread.at == At::HasRange).collect();
        let meets = |number: usize| inside[..number].iter().any(|other| other.excludes(inside[number]));
        match (0..inside.len()).any(meets) {
            true => Err(format!("beside a writer: {self:?}")),
            false => Ok(()),
        }
    }

    /// `None` where this thread can do nothing.
    fn step(mut self, me: usize, fault: Fault) -> Option<Self> {
        let late = fault == Fault::LooksBeforeItCounts;
        match self.threads[me].at {
            At::TakesSlot if fault == Fault::LooksBeforeItsSlot && !self.threads[me].saw_writers => {
                // It has its slot when it has looked.
                self.threads[me].saw_writers = true;
                self.threads[me].at =
                    if self.writers == 0 { At::TakesSlot } else { At::Locks(Inside::Enters) };
            }
            At::TakesSlot => {
                self.threads[me].has_slot = true;
                let has_looked = fault == Fault::LooksBeforeItsSlot;
                self.threads[me].at = if has_looked { At::HasRange } else { At::LooksForWriters };
            }
            At::LooksForWriters => {
                let none = self.writers == 0;
                self.threads[me].at = if none { At::HasRange } else { At::Locks(Inside::JudgesSlot) };
            }
            At::Locks(then) => {
                if self.mutex.is_some() {
                    return None;
                }
                self.mutex = Some(me);
                self.threads[me].at = At::Holds(then);
            }
            At::Holds(Inside::JudgesSlot) => {
                let own = &self.threads[me];
                let excluded = self.queue.iter().any(|other| self.threads[*other].excludes(own));
                if excluded {
                    // (Waking is behind the mutex too; who is woken needs it.)
                    self.threads[me].has_slot = false;
                    self.wake();
                    self.threads[me].at = At::Holds(Inside::Enters);
                } else {
                    self.release(me, At::HasRange);
                }
            }
            At::Holds(Inside::Counts) => {
                self.writers += usize::from(!late);
                self.threads[me].at = At::Holds(Inside::Enters);
            }
            At::Holds(Inside::Enters) => {
                self.queue.push(me);
                self.threads[me].at = At::Holds(Inside::LooksAtQueue);
            }
            At::Holds(Inside::LooksAtQueue) => {
                let own = self.queue.iter().position(|other| *other == me)?;
                let waits =
                    self.queue[..own].iter().any(|other| self.threads[*other].excludes(&self.threads[me]));
                match (waits, self.threads[me].kind) {
                    (true, _) => self.release(me, At::Sleeps),
                    (false, Kind::Reader) => self.release(me, At::HasRange),
                    (false, Kind::Writer) => self.threads[me].at = At::LooksAtSlot(0),
                }
            }
            At::LooksAtSlot(number) => match self.threads.get(number) {
                Some(other) if other.has_slot && other.excludes(&self.threads[me]) => {
                    self.release(me, At::Sleeps);
                }
                Some(_) => self.threads[me].at = At::LooksAtSlot(number + 1),
                None => {
                    self.writers += usize::from(late);
                    self.release(me, At::HasRange);
                }
            },
            At::Sleeps | At::Done => return None,
            At::HasRange if self.threads[me].has_slot => {
                self.threads[me].has_slot = false;
                let silent = fault == Fault::LeavesSilently;
                self.threads[me].at = if silent { At::Done } else { At::LooksWhoWaits };
            }
            At::HasRange => self.threads[me].at = At::Locks(Inside::Leaves),
            At::LooksWhoWaits => {
                self.threads[me].at = if self.writers == 0 { At::Done } else { At::Locks(Inside::Wakes) };
            }
            At::Holds(Inside::Wakes) => {
                self.wake();
                self.release(me, At::Done);
            }
            At::Holds(Inside::Leaves) => {
                self.queue.retain(|other| *other != me);
                self.writers -= usize::from(self.threads[me].kind == Kind::Writer);
                self.wake();
                self.release(me, At::Done);
            }
        }
        Some(self)
    }

    fn release(&mut self, me: usize, at: At) {
        self.mutex = None;
        self.threads[me].at = at;
    }

    fn wake(&mut self) {
        for thread in &mut self.threads {
            if thread.at == At::Sleeps {
                thread.at = At::Locks(Inside::LooksAtQueue);
            }
        }
    }
}
