//! The transmission phase of one connection: leader and followers.
//!
//! One thread, the leader, does all the receiving. It answers small requests itself, in batches, as
//! long as there is received data: no other thread is woken, and a batch costs two system calls.
//! When a request is worth a core of its own, or the storage blocks its callers, the leader keeps
//! the request and its payload and hands the lead over to a follower. So the data of a request
//! stays on one thread from the storage to the socket, and there are never more threads than were
//! once needed at the same time.

use super::deadline::Limits;
use super::handshake::Agreed;
use super::latency::Latency;
use super::order::{Order, Turn};
use super::replies::{Replies, Spaces};
use super::requests::{Requests, SMALL};
use super::wire::Wire;
use super::{Server, Socket};
use crate::Export;
use crate::nbd::protocol::transmission::{command, command_flags};
use crate::nbd::protocol::{Errno, Headers, MAX_PAYLOAD, Request};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

/// Serves a client until it disconnects or violates the protocol.
pub(super) fn serve(
    server: &Server,
    socket: &Socket,
    agreed: Agreed<'_>,
    stopping: &AtomicBool,
) -> io::Result<()> {
    let limits = Limits::new(socket, server.options.times(socket));
    let connection = Connection {
        export: agreed.export,
        headers: agreed.headers,
        allocation: agreed.allocation,
        stopping,
        socket,
        spaces: &server.spaces,
        requests: Mutex::new(Requests::new(agreed.incoming, agreed.headers, &server.polling, limits.clone())),
        wire: Wire::new(agreed.outgoing, limits),
        order: Order::default(),
        latency: Latency::of(agreed.export.storage.is_distant()),
        threads: server.options.threads.max(1),
        cores: thread::available_parallelism().map_or(1, usize::from),
        started: AtomicUsize::new(1),
        waiting: AtomicUsize::new(0),
        busy: AtomicUsize::new(0),
        taken: AtomicU64::new(0),
        end: Mutex::default(),
    };
    let _slot = agreed.slot;
    thread::scope(|scope| connection.work(scope));
    connection.end.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or(Ok(()))
}

/// What the threads of a connection share.
pub(super) struct Connection<'a> {
    pub(super) export: &'a Export,
    pub(super) headers: Headers,
    pub(super) allocation: bool,
    pub(super) stopping: &'a AtomicBool,
    socket: &'a Socket,
    spaces: &'a Spaces,
    /// Held by the leader.
    requests: Mutex<Requests<'a>>,
    wire: Wire,
    order: Order,
    latency: Latency,
    threads: usize,
    cores: usize,
    /// The number of threads; of those waiting for the lead; of those working without it.
    started: AtomicUsize,
    waiting: AtomicUsize,
    busy: AtomicUsize,
    /// The number of requests so far.
    taken: AtomicU64,
    /// How the connection ended.
    end: Mutex<Option<io::Result<()>>>,
}

impl<'a> Connection<'a> {
    /// The main loop of a thread.
    fn work<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let _broken = EndOnPanic(self);
        loop {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            if self.has_ended() {
                return;
            }
            if let Err(e) = self.lead(requests, scope) {
                self.finish(Err(e));
            }
        }
    }

    /// Answers requests until one has to be taken along while another thread gets the lead, or
    /// until the client disconnects.
    fn lead<'s>(
        &'s self,
        mut requests: MutexGuard<'s, Requests<'a>>,
        scope: &'s Scope<'s, '_>,
    ) -> io::Result<()> {
        loop {
            let Some(request) = requests.next()? else {
                self.finish(Ok(()));
                return Ok(());
            };
            // Allocated only now, so that an idle connection holds no buffer.
            let mut replies = Replies::new(self.headers, &self.wire, self.spaces);
            let Some(request) = self.answer_small(request, &mut requests, &mut replies)? else { continue };
            if request.kind == command::DISC {
                self.finish(Ok(()));
                return Ok(());
            }
            let task = self.receive_payload(request, &mut requests, &mut replies)?;
            if self.hand_over(&request, &requests, scope) {
                let turn = self.turn(&request);
                let _busy = Busy::new(&self.busy);
                drop(requests);
                return self.answer_large(task, turn, &mut replies);
            }
            let turn = if self.busy.load(Ordering::SeqCst) > 0 { self.turn(&request) } else { None };
            self.answer_large(task, turn, &mut replies)?;
        }
    }

    /// Answers `request` and those that were received with it, as long as they are small; returns
    /// the first that is not.
    fn answer_small(
        &self,
        first: Request,
        requests: &mut Requests<'_>,
        replies: &mut Replies<'_>,
    ) -> io::Result<Option<Request>> {
        let mut request = first;
        let mut look = self.latency.look();
        loop {
            if !self.is_small(&request) || self.latency.is_slow() {
                look.end();
                replies.send()?;
                return Ok(Some(request));
            }
            let turn = if self.busy.load(Ordering::SeqCst) > 0 { self.turn(&request) } else { None };
            if let Some(turn) = turn {
                turn.wait();
            }
            let payload = requests.small_payload(request.payload(self.headers) as usize)?;
            self.perform(&request, payload, replies)?;
            look.add(request.length);
            let more = requests.is_next_here();
            if !more || replies.is_full() {
                look.end();
                replies.send()?;
                look = self.latency.look();
            }
            if !more {
                return Ok(None);
            }
            request = requests.next()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        }
    }

    /// Answers one request on its own.
    fn answer_large(&self, task: Task, turn: Option<Turn<'_>>, replies: &mut Replies<'_>) -> io::Result<()> {
        if let Some(turn) = &turn {
            turn.wait();
        }
        let request = &task.request;
        let mut look = self.latency.look();
        look.add(request.length);
        match task.payload {
            Payload::Refused(errno, message) => replies.error(request, errno, message),
            Payload::None => self.perform(request, &mut [], replies)?,
            Payload::Room(len) => self.perform_in_room(request, len, replies)?,
        }
        drop(turn);
        // Long reads have waited for the client as well, and a flush waits on any storage.
        if request.kind == command::WRITE {
            look.end();
        }
        replies.send()
    }

    /// Receives the payload into the room of `replies`, for which it may have to wait.
    fn receive_payload(
        &self,
        request: Request,
        requests: &mut Requests<'_>,
        replies: &mut Replies<'_>,
    ) -> io::Result<Task> {
        let len = request.payload(self.headers);
        if len > MAX_PAYLOAD {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a payload of more than 32 MiB"));
        }
        let payload = if let Some((errno, message)) = self.refusal(&request) {
            requests.skip_payload(len)?;
            Payload::Refused(errno, message)
        } else if len == 0 {
            Payload::None
        } else {
            requests.large_payload(replies.room(len as usize)?)?;
            Payload::Room(len as usize)
        };
        Ok(Task { request, payload })
    }

    /// Whether the request is to be answered without the lead. If so, there is a follower to take
    /// the lead.
    fn hand_over<'s>(&'s self, request: &Request, requests: &Requests<'_>, scope: &'s Scope<'s, '_>) -> bool {
        let waits = self.latency.is_slow() || may_wait(request);
        let most = if waits { self.threads } else { self.threads.min(self.cores) };
        // Nothing is gained unless there is other work to do.
        if self.busy.load(Ordering::SeqCst) + 1 >= most || !(waits || requests.has_more()) {
            return false;
        }
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return true;
        }
        let started = self.started.fetch_add(1, Ordering::SeqCst);
        let follower = thread::Builder::new().name("nbd".to_owned());
        if started < self.threads && follower.spawn_scoped(scope, || self.work(scope)).is_ok() {
            return true;
        }
        self.started.fetch_sub(1, Ordering::SeqCst);
        false
    }

    /// The request's place in the order of writes.
    fn turn(&self, request: &Request) -> Option<Turn<'_>> {
        let writes = matches!(request.kind, command::WRITE | command::WRITE_ZEROES | command::TRIM);
        let range = request.offset..request.offset.saturating_add(request.length);
        writes.then(|| self.order.enter(self.taken.fetch_add(1, Ordering::Relaxed), range))
    }

    fn is_small(&self, request: &Request) -> bool {
        let len = request.length;
        match request.kind {
            command::READ => len <= SMALL as u64,
            command::WRITE => len <= SMALL as u64 && !request.has(command_flags::FUA),
            _ => false,
        }
    }

    /// Makes all threads end. Only the first result counts.
    fn finish(&self, result: io::Result<()>) {
        let failed = result.is_err();
        self.end.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(result);
        if failed {
            // A thread may still be waiting for the client.
            self.socket.end();
        }
    }

    fn has_ended(&self) -> bool {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// A request and its payload, to be answered.
struct Task {
    request: Request,
    payload: Payload,
}

enum Payload {
    None,
    /// The payload's length; it is in the room of the replies.
    Room(usize),
    /// The payload was discarded, for this reason.
    Refused(Errno, &'static str),
}

/// Whether this request may block even on a fast storage.
fn may_wait(request: &Request) -> bool {
    let reads = matches!(request.kind, command::READ | command::CACHE);
    request.has(command_flags::FUA) || !(reads || request.kind == command::WRITE)
}

/// Counts a thread that works without the lead.
struct Busy<'a>(&'a AtomicUsize);

impl<'a> Busy<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// If a thread panics, ends the whole connection, not only the thread.
struct EndOnPanic<'a, 'b>(&'a Connection<'b>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.finish(Err(io::Error::other("a thread panicked")));
        }
    }
}
