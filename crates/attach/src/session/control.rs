//! How other processes of the user talk to a session: the socket `control` in its directory.
//!
//! A question is one line; after `resume` and `reencrypt` as many key bytes follow as its last word
//! says. The answer
//! starts with `ok`, or with `failed`, an exit code and a sentence, and ends when the connection is
//! closed. After `close`, the connection is closed when the process has ended.
//!
//! ```text
//! status | close | close deferred | close cancel | suspend | resume 64
//! size all | size 1073741824 | rights DISCARDS READ-ONLY        (true or false each)
//! reencrypt OLD-KEY-BYTES ZONE LIMIT 128 | reencrypt stop         (0: no zone or limit is given)
//! ```

use super::Session;
use super::error::{Answer, Error, Result};
use super::facts::{Facts, Status};
use super::life::{Close, Life};
use super::work::Throttle;
use crate::local::{Directory, peer};
use keyway_crypto::Secret;
use keyway_volume::Rights;
use keyway_volume::reencrypt::VolumeKeys;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

impl Session {
    /// The session's facts and its current state.
    ///
    /// # Errors
    /// [`Error::Silent`]
    pub fn status(&self) -> Result<Status> {
        self.ask("status", None).map(|answer| Status::from_text(&answer))
    }

    /// Closes the session. Returns when its process has ended or, if deferred, when the process has
    /// taken note; in both cases with the message to show.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn close(&self, when: Close) -> Result<String> {
        let question = match when {
            Close::Now => "close",
            Close::Deferred => "close deferred",
            Close::CancelDeferred => "close cancel",
        };
        self.ask(question, None)
    }

    /// Wipes the session's volume key; its clients wait.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn suspend(&self) -> Result<()> {
        self.ask("suspend", None).map(drop)
    }

    /// Gives the session its volume key again.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn resume(&self, volume_key: &Secret) -> Result<()> {
        self.ask("resume", Some(volume_key)).map(drop)
    }

    /// Gives the session's volume `size` bytes, or all that the device has if `size` is `None`.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn resize(&self, size: Option<u64>) -> Result<()> {
        let size = size.map_or("all".to_owned(), |size| size.to_string());
        self.ask(&format!("size {size}"), None).map(drop)
    }

    /// Turns discards on or off; makes the session read-only, for good.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn set_rights(&self, rights: Rights) -> Result<()> {
        self.ask(&format!("rights {} {}", rights.discards, rights.read_only), None).map(drop)
    }

    /// Has the session go on with the re-encryption that the volume's header describes by now, while
    /// the volume is used. Returns when it has begun; [`Session::status`] says how far it is.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn reencrypt(&self, keys: &VolumeKeys, throttle: Throttle) -> Result<()> {
        let bytes = |key: Option<&Secret>| key.map_or(0, Secret::len);
        let old = bytes(keys.old());
        let mut both = Secret::zeroed(old + bytes(keys.new_key()));
        let (first, second) = both.expose_mut().split_at_mut(old);
        for (part, key) in [(first, keys.old()), (second, keys.new_key())] {
            part.copy_from_slice(key.map_or(&[], Secret::expose));
        }
        let (zone, limit) = (throttle.zone.unwrap_or(0), throttle.limit.unwrap_or(0));
        self.ask(&format!("reencrypt {old} {zone} {limit}"), Some(&both)).map(drop)
    }

    /// Stops that. The volume stays in use, as it is then.
    ///
    /// # Errors
    /// [`Error::Answered`] with the session's refusal; [`Error::Silent`].
    pub fn stop_reencrypting(&self) -> Result<()> {
        self.ask("reencrypt stop", None).map(drop)
    }

    fn ask(&self, question: &str, key: Option<&Secret>) -> Result<String> {
        // The connection is checked: a process of another user listening there gets no key, and its
        // answer is ignored.
        let stream = self.directory.connect(SOCKET).map_err(|e| silent(&self.facts, e))?;
        let answer = exchange(stream, question, key).map_err(|e| silent(&self.facts, e))?;
        let (first, rest) = answer.split_once('\n').unwrap_or((&answer, ""));
        if first == "ok" {
            return Ok(rest.to_owned());
        }
        let parts = first.strip_prefix("failed ").and_then(|parts| parts.split_once(' '));
        match parts {
            Some((code, sentence)) => {
                let (code, sentence) = (code.parse().unwrap_or(1), sentence.to_owned());
                Err(Error::Answered(Answer { code, sentence }))
            }
            None => Err(silent(&self.facts, io::Error::from(io::ErrorKind::UnexpectedEof))),
        }
    }
}

fn exchange(mut stream: UnixStream, question: &str, key: Option<&Secret>) -> io::Result<String> {
    match key {
        Some(key) => {
            stream.write_all(format!("{question} {}\n", key.len()).as_bytes())?;
            stream.write_all(key.expose())?;
        }
        None => stream.write_all(format!("{question}\n").as_bytes())?,
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn silent(facts: &Facts, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Silent { name: facts.name.clone(), pid: facts.pid, source: why.into() }
}

/// A session's end of its socket.
pub struct Control {
    socket: UnixListener,
    in_words: fn(Error) -> Answer,
}

impl Control {
    /// Opens the socket in a session's directory. `in_words` puts refusals into words.
    ///
    /// # Errors
    /// [`Error::Socket`]
    pub fn listen(directory: &Directory, in_words: fn(Error) -> Answer) -> Result<Self> {
        let path = directory.path().join(SOCKET);
        let socket = directory.listen(SOCKET).map_err(|source| Error::Socket { path, source })?;
        Ok(Self { socket, in_words })
    }

    /// Serves until the session is closed: questions are answered meanwhile. Flushes and wipes at the
    /// end.
    ///
    /// # Errors
    /// The front end's, and [`Error::Lost`].
    pub fn serve(self, life: &Arc<Life>) -> Result<()> {
        let asked = Arc::clone(life);
        thread::spawn(move || self.answer(&asked));
        life.last()
    }

    /// Answers until the process ends.
    fn answer(&self, life: &Arc<Life>) {
        // Connections of clients that wait for the process to end.
        let leaving = Arc::new(Mutex::new(Vec::new()));
        let in_words = self.in_words;
        for stream in self.socket.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let (life, leaving) = (Arc::clone(life), Arc::clone(&leaving));
            thread::spawn(move || {
                if let Some(stream) = answer_one(stream, &life, in_words) {
                    leaving.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
                }
            });
        }
    }
}

/// Answers one question. Returns the connection if it is to stay open until the process ends.
fn answer_one(mut stream: UnixStream, life: &Arc<Life>, in_words: fn(Error) -> Answer) -> Option<UnixStream> {
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    // The directory already keeps other users out.
    peer::check(&stream).ok()?;
    let question = read_line(&mut stream)?;
    let words: Vec<&str> = question.split(' ').collect();
    let closes = match words[..] {
        ["close"] => Some(Close::Now),
        ["close", "deferred"] => Some(Close::Deferred),
        ["close", "cancel"] => Some(Close::CancelDeferred),
        _ => None,
    };
    if let Some(when) = closes {
        let mut stays = false;
        life.close(when, |result| {
            stays = when == Close::Now && result.is_ok();
            answer_with(&mut stream, result.map_err(in_words));
        });
        return stays.then_some(stream);
    }
    let answer = match words[..] {
        ["status"] => Ok(life.status().to_text()),
        ["suspend"] => life.suspend().map(|()| String::new()),
        ["resume", len] => life.resume(&read_key(&mut stream, len)?).map(|()| String::new()),
        ["reencrypt", "stop"] => life.stop_reencrypting().map(|()| String::new()),
        ["reencrypt", old, zone, limit, len] => {
            let given = |number: &str| number.parse().ok().map(|number| Some(number).filter(|n| *n > 0));
            let throttle = Throttle { zone: given(zone)?, limit: given(limit)? };
            let keys = both_keys(&read_key(&mut stream, len)?, old.parse().ok()?)?;
            life.reencrypt(keys, throttle).map(|()| String::new())
        }
        ["size", "all"] => life.resize(None).map(|()| String::new()),
        ["size", size] => life.resize(Some(size.parse().ok()?)).map(|()| String::new()),
        ["rights", discards, read_only] => {
            let rights = Rights { discards: discards.parse().ok()?, read_only: read_only.parse().ok()? };
            life.set_rights(rights).map(|()| String::new())
        }
        _ => Err(Error::OtherVersion),
    };
    answer_with(&mut stream, answer.map_err(in_words));
    None
}

fn answer_with(stream: &mut UnixStream, answer: std::result::Result<String, Answer>) {
    let text = match answer {
        Ok(text) => format!("ok\n{text}"),
        Err(Answer { code, sentence }) => format!("failed {code} {sentence}\n"),
    };
    let _ = stream.write_all(text.as_bytes());
}

/// Reads one byte at a time: a key may follow the line, and no buffer may keep it.
fn read_line(stream: &mut UnixStream) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST_LINE {
        stream.read_exact(&mut byte).ok()?;
        if byte == *b"\n" {
            return String::from_utf8(line).ok();
        }
        line.push(byte[0]);
    }
    None
}

fn read_key(stream: &mut UnixStream, len: &str) -> Option<Secret> {
    let len = len.parse().ok().filter(|len| *len <= LONGEST_KEY)?;
    let mut key = Secret::zeroed(len);
    stream.read_exact(key.expose_mut()).ok()?;
    Some(key)
}

/// The keys of a re-encryption, of which the first has `old` bytes.
fn both_keys(both: &Secret, old: usize) -> Option<VolumeKeys> {
    let (old, new) = both.expose().split_at_checked(old)?;
    let key = |bytes: &[u8]| (!bytes.is_empty()).then(|| Secret::copy_from(bytes));
    Some(VolumeKeys::new(key(old), key(new)))
}

const SOCKET: &str = "control";

/// A client sends its question right after connecting.
const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST_LINE: usize = 64;

/// In bytes; longer than any cipher's key.
const LONGEST_KEY: usize = 1024;
