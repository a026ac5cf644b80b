//! One connection, shared by many threads.
//!
//! A thread sends its request and waits for the reply. One of the waiting threads reads from the
//! socket on behalf of all of them: its own data goes directly into its buffer, the others' data
//! into buffers that their threads copy. When its own reply is complete, it wakes another thread to
//! take over reading. So a single thread never has to be switched, and nobody reads when nobody
//! waits.

use super::handshake::{Agreed, garbage};
use super::reply::{Arrival, Inbox, Reply};
use super::timeouts::Timeouts;
use super::transport::Transport;
use crate::nbd::protocol::Request;
use crate::nbd::protocol::transmission::{self, MAX_HEADER, command};
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// A connection in the transmission phase.
pub(super) struct Connection {
    transport: Transport,
    agreed: Agreed,
    /// Held while a request is being sent.
    sending: Mutex<()>,
    /// Held by the thread that reads.
    inbox: Mutex<Inbox>,
    limits: Limits,
    state: Mutex<State>,
}

/// How long a server may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For requests that can be repeated.
    pub(super) asked: Duration,
    /// For requests that change something, or flush changes.
    pub(super) changed: Duration,
}

impl Limits {
    fn of(&self, kind: u16) -> Duration {
        match kind {
            command::READ | command::BLOCK_STATUS => self.asked,
            _ => self.changed.max(self.asked),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server refused the request, or failed.
    Refused(io::Error),
    /// The connection is lost, and no part of the request was sent.
    NotSent(io::Error),
    /// The connection is lost; it is unknown whether the server executed the request.
    Lost(io::Error),
}

struct State {
    waiting: HashMap<u64, Slot>,
    next_cookie: u64,
    /// Whether a thread is reading.
    is_read: bool,
    broken: Option<(io::ErrorKind, String)>,
}

/// A request that has not been answered completely.
struct Slot {
    request: Request,
    reply: Reply,
    thread: Thread,
    /// The request has been sent, so its thread can read for others.
    is_sent: bool,
    is_complete: bool,
}

impl Connection {
    pub(super) fn new(transport: Transport, agreed: Agreed, limits: Limits) -> Self {
        let state = State { waiting: HashMap::new(), next_cookie: 1, is_read: false, broken: None };
        Self {
            transport,
            agreed,
            sending: Mutex::new(()),
            inbox: Mutex::new(Inbox::new()),
            limits,
            state: Mutex::new(state),
        }
    }

    pub(super) fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// How many requests are pending.
    pub(super) fn load(&self) -> usize {
        self.state().waiting.len()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state().broken.is_some()
    }

    /// Sends a request with its payload and waits for the reply. The data of a read goes into
    /// `buf`, whose length must match the request. The cookie is chosen here.
    pub(super) fn ask(&self, mut request: Request, payload: &[u8], buf: &mut [u8]) -> Result<Reply, Trouble> {
        request.cookie = self.register(request)?;
        if let Err(trouble) = self.send(&request, payload) {
            self.state().waiting.remove(&request.cookie);
            return Err(trouble);
        }
        let mut reply = self.wait(request.cookie, buf)?;
        if let Some(error) = reply.error.take() {
            return Err(Trouble::Refused(error));
        }
        if let Some(data) = reply.data.take() {
            buf.copy_from_slice(&data);
        }
        Ok(reply)
    }

    /// Sends the disconnect request; called when no request is pending.
    pub(super) fn close(&self) {
        let goodbye = Request { flags: 0, kind: command::DISC, cookie: 0, offset: 0, length: 0 };
        let mut header = Vec::with_capacity(MAX_HEADER);
        goodbye.put(self.agreed.headers, &mut header);
        self.timeouts().begin(0, 0, GOODBYE);
        if !self.is_broken() && self.transport.send(&header, &[], &mut false).is_ok() {
            self.transport.close();
        }
    }

    fn register(&self, request: Request) -> Result<u64, Trouble> {
        let mut state = self.state();
        // Checks whether an idle connection is still alive, because a write cannot be repeated once
        // it has been sent.
        if state.broken.is_none() && state.waiting.is_empty() && self.transport.has_ended() {
            state.broken =
                Some((io::ErrorKind::UnexpectedEof, "the server closed the connection".to_owned()));
        }
        if let Some((kind, text)) = &state.broken {
            return Err(Trouble::NotSent(io::Error::new(*kind, text.clone())));
        }
        let cookie = state.next_cookie;
        state.next_cookie += 1;
        let slot = Slot {
            request: Request { cookie, ..request },
            reply: Reply::default(),
            thread: thread::current(),
            is_sent: false,
            is_complete: false,
        };
        state.waiting.insert(cookie, slot);
        let has_data = matches!(request.kind, command::READ | command::WRITE);
        let data = if has_data { request.length } else { 0 };
        self.timeouts().begin(cookie, data, self.limits.of(request.kind));
        Ok(cookie)
    }

    fn send(&self, request: &Request, payload: &[u8]) -> Result<(), Trouble> {
        let mut header = Vec::with_capacity(MAX_HEADER);
        request.put(self.agreed.headers, &mut header);
        let turn = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent = false;
        let result = self.transport.send(&header, payload, &mut sent);
        drop(turn);
        result.map_err(|error| {
            self.break_off(&error);
            if sent { Trouble::Lost(error) } else { Trouble::NotSent(error) }
        })
    }

    /// Waits until the reply is complete, reading if no other thread does.
    fn wait(&self, cookie: u64, buf: &mut [u8]) -> Result<Reply, Trouble> {
        let mut state = self.state();
        if let Some(slot) = state.waiting.get_mut(&cookie) {
            slot.is_sent = true;
        }
        loop {
            match state.waiting.get(&cookie) {
                Some(slot) if slot.is_complete => break,
                Some(_) if state.broken.is_none() => {}
                _ => break,
            }
            if state.is_read {
                drop(state);
                thread::park();
                state = self.state();
                continue;
            }
            state.is_read = true;
            drop(state);
            let result = self.read_until_complete(cookie, buf);
            state = self.state();
            state.is_read = false;
            match result {
                Ok(()) => state.wake_a_reader(cookie),
                Err(error) => {
                    drop(state);
                    self.break_off(&error);
                    state = self.state();
                }
            }
        }
        match state.waiting.remove(&cookie) {
            Some(slot) if slot.is_complete => Ok(slot.reply),
            _ => Err(Trouble::Lost(state.why_broken())),
        }
    }

    /// Receives messages for any request until the reply to `own` is complete.
    fn read_until_complete(&self, own: u64, buf: &mut [u8]) -> io::Result<()> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (cookie, is_complete) = self.take_message(&mut inbox, own, buf)?;
            if is_complete && cookie == own {
                return Ok(());
            }
        }
    }

    /// Receives one message; returns its cookie and whether that reply is now complete.
    fn take_message(&self, inbox: &mut Inbox, own: u64, buf: &mut [u8]) -> io::Result<(u64, bool)> {
        let message = self.take_header(inbox)?;
        let cookie = match message {
            transmission::Reply::Simple { cookie, .. } => cookie,
            transmission::Reply::Chunk(chunk) => chunk.cookie,
        };
        let (request, mut reply) = self.state().take_reply(cookie)?;
        // If another thread has begun to receive this thread's data, the rest goes into the same
        // buffer.
        let mut elsewhere = match reply.data.take() {
            None if cookie != own && request.kind == command::READ => Some(vec![0; request.length as usize]),
            data => data,
        };
        let mut from = Arrival {
            inbox,
            transport: &self.transport,
            request: &request,
            headers: self.agreed.headers,
            allocation: self.agreed.allocation,
            buf: elsewhere.as_deref_mut().unwrap_or(if cookie == own { buf } else { &mut [] }),
        };
        let is_complete = match message {
            transmission::Reply::Simple { error, .. } => {
                reply.take_simple(&mut from, error)?;
                true
            }
            transmission::Reply::Chunk(chunk) => {
                reply.take_chunk(&mut from, &chunk)?;
                chunk.is_last()
            }
        };
        if is_complete {
            self.timeouts().end(cookie);
        }
        reply.data = elsewhere;
        self.state().put_reply(cookie, reply, is_complete, cookie != own);
        Ok((cookie, is_complete))
    }

    fn take_header(&self, inbox: &mut Inbox) -> io::Result<transmission::Reply> {
        let headers = self.agreed.headers;
        let mut bytes = [0; MAX_HEADER];
        let (magic, rest) = bytes.split_at_mut(4);
        inbox.read_exact(&self.transport, magic)?;
        let size = transmission::Reply::size(headers, [magic[0], magic[1], magic[2], magic[3]]);
        let size = size.ok_or_else(|| garbage("a reply lacks its magic number"))?;
        inbox.read_exact(&self.transport, &mut rest[..size - 4])?;
        transmission::Reply::parse(headers, &bytes[..size])
            .ok_or_else(|| garbage("a reply cannot be understood"))
    }

    fn timeouts(&self) -> &Timeouts {
        self.transport.socket().timeouts()
    }

    /// Marks the connection as broken and wakes all waiting threads.
    fn break_off(&self, error: &io::Error) {
        let mut state = self.state();
        state.broken.get_or_insert_with(|| (error.kind(), error.to_string()));
        state.waiting.values().for_each(|slot| slot.thread.unpark());
        drop(state);
        self.transport.hang_up();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A pending request and its reply so far, for the thread that reads.
    fn take_reply(&mut self, cookie: u64) -> io::Result<(Request, Reply)> {
        match self.waiting.get_mut(&cookie) {
            Some(slot) if !slot.is_complete => Ok((slot.request, std::mem::take(&mut slot.reply))),
            _ => Err(garbage("a reply to a request that was not sent")),
        }
    }

    fn put_reply(&mut self, cookie: u64, reply: Reply, is_complete: bool, wake: bool) {
        // The request's thread may be gone because sending failed.
        let Some(slot) = self.waiting.get_mut(&cookie) else { return };
        slot.reply = reply;
        slot.is_complete = is_complete;
        if is_complete && wake {
            slot.thread.unpark();
        }
    }

    /// Wakes another waiting thread, which has to read from now on.
    fn wake_a_reader(&self, own: u64) {
        let others = self.waiting.iter().filter(|(cookie, slot)| **cookie != own && slot.is_sent);
        if let Some((_, slot)) = others.into_iter().find(|(_, slot)| !slot.is_complete) {
            slot.thread.unpark();
        }
    }

    fn why_broken(&self) -> io::Error {
        match &self.broken {
            Some((kind, text)) => io::Error::new(*kind, text.clone()),
            None => io::ErrorKind::ConnectionAborted.into(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

/// How long sending the disconnect request may take.
const GOODBYE: Duration = Duration::from_secs(1);
