//! `serve`: serves volumes as exports of an NBD server in the foreground.

mod command;
mod usage;

use crate::args::{Args, Request, shared};
use crate::device::tls::TlsOptions;
use crate::device::{self, explain, place, sessions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable_lines;
use crate::output::{sentence, stdio};
use crate::session;
use crate::volume::{Data, Opening};
pub(crate) use command::COMMAND;
use command::{
    ADDRESS, ALLOW_DISCARDS, EXPORT, IDLE_TIMEOUT, INSECURE_NETWORK, PORT, RESUME_REENCRYPTION, SOCKET,
    THREADS,
};
use keyway::parts::VolumeKeys;
use keyway::storage::Storage;
use keyway_attach::nbd::server::{Encryption, Options, Server, exposed};
use keyway_attach::session::{Moved, SuspendableDevice, Throttle, Work};
use keyway_attach::{Export, FrontEnd, Watched};
use keyway_volume::Rights;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use usage::{Told, usage, usage_with_tls};

struct Serve {
    volumes: Vec<Shown>,
    listen: Listen,
    tls: TlsOptions,
    insecure_network: bool,
    threads: Option<usize>,
    /// How long clients may be idle, if given; the inner `None` means without limit.
    idle: Option<Option<Duration>>,
}

/// A volume, and how it is shown to clients.
struct Shown {
    name: String,
    opening: Opening,
    read_only: bool,
    discards: bool,
    /// `--resume-reencryption`.
    resumes: bool,
}

/// Where the server listens.
enum Listen {
    /// On this Unix socket.
    At(PathBuf),
    /// On a socket of this name in the user's runtime directory.
    Usual(String),
    /// On a TCP port.
    Tcp { host: String, port: u16 },
}

impl Request for Serve {
    fn from_args(args: &Args) -> Result<Self> {
        let names = export_names(args.operands(), &args.texts(&EXPORT), args.given(&shared::HEADER))?;
        let listen = Listen::from_args(args);
        let tls = TlsOptions::from_args(args)?;
        let volumes = names.into_iter().enumerate().map(|(operand, name)| {
            let opening = Opening::from_args(args, operand)?;
            let read_only = args.given(&shared::READONLY) || device::is_read_only(&opening.target.device);
            let (discards, resumes) = (args.given(&ALLOW_DISCARDS), args.given(&RESUME_REENCRYPTION));
            Ok(Shown { name, opening, read_only, discards, resumes })
        });
        let seconds = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
        Ok(Self {
            volumes: volumes.collect::<Result<_>>()?,
            listen,
            tls,
            insecure_network: args.given(&INSECURE_NETWORK),
            threads: args.number(&THREADS).map(|threads| (threads as usize).max(1)),
            idle: args.number(&IDLE_TIMEOUT).map(seconds),
        })
    }

    fn run(self) -> Result<()> {
        let socket = self.listen.socket()?;
        let options = self.options()?;
        let encrypted = !matches!(options.encryption, Encryption::Off);
        let addresses = self.listen.addresses()?;
        check_exposure(&addresses, &options)?;
        let mut works = Vec::new();
        let export = |shown: &Shown| {
            let (export, work) = shown.export()?;
            works.extend(work);
            Ok(export)
        };
        let exports = self.volumes.iter().map(export).collect::<Result<Vec<Export>>>()?;
        let volumes: Vec<Arc<dyn Storage>> =
            exports.iter().map(|export| Arc::clone(&export.storage)).collect();
        let told: Vec<Told> = exports.iter().map(Told::new).collect();
        let server = Server::new(exports, options);
        let front_end: Arc<dyn FrontEnd> = Arc::new(match &socket {
            Some(path) => server.unix(path).map_err(|e| sentence::attaching(&e))?,
            None => server.tcp(&addresses).map_err(|e| sentence::attaching(&e))?,
        });
        let listening = if encrypted {
            usage_with_tls(&front_end.place(), &told)
        } else {
            usage(&front_end.place(), socket.as_deref(), &told)
        };
        let ended =
            session::serve_until_stopped(&front_end, &volumes, || stdio::print(&printable_lines(&listening)));
        // Between two parts. What was not going on any more needs no stop.
        works.iter().for_each(|work: &Work| drop(work.stop()));
        ended
    }
}

impl Serve {
    fn options(&self) -> Result<Options> {
        let mut options = Options {
            encryption: self.tls.encryption()?,
            insecure_network: self.insecure_network,
            ..Options::default()
        };
        options.threads = self.threads.unwrap_or(options.threads);
        options.idle = self.idle.unwrap_or(options.idle);
        Ok(options)
    }
}

/// Refuses, before anything is asked for, to show the plaintext to a network; only warns if the
/// user has permitted it.
fn check_exposure(addresses: &[SocketAddr], options: &Options) -> Result<()> {
    let Some(open) = exposed(addresses, &options.encryption) else { return Ok(()) };
    if options.insecure_network {
        say!("WARNING: {open} is served without TLS: whoever can reach it can read and write the plaintext.");
        return Ok(());
    }
    let message = format!(
        "Refusing to serve {open} without TLS: whoever can reach it could read and write the plaintext. Give \
         --tls-certificates and --tls-verify-peer, or --insecure-network if this is intended."
    );
    Err(Failure::new(Exit::Parameters, message))
}

/// The export name of each volume.
fn export_names(volumes: &[OsString], given: &[&str], has_header: bool) -> Result<Vec<String>> {
    let refuse = |message: String| Err(Failure::new(Exit::Parameters, message));
    if volumes.len() > 1 && has_header {
        return refuse("--header works with one volume, not with several.".into());
    }
    if !given.is_empty() && given.len() != volumes.len() {
        let (names, volumes) = (given.len(), volumes.len());
        return refuse(format!("--export: {names} names for {volumes} volumes; give one for each."));
    }
    let names: Vec<String> = match (given, volumes) {
        ([], [_]) => vec![String::new()],
        ([], _) => volumes.iter().map(|volume| base_name(volume)).collect(),
        (given, _) => given.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        return refuse(format!("Two exports would be called \"{twice}\"; name them with --export."));
    }
    match names.iter().find(|name| name.len() > LONGEST_NAME) {
        Some(long) => refuse(format!("--export {long}: a name has at most {LONGEST_NAME} bytes.")),
        None => Ok(names),
    }
}

fn base_name(volume: &OsStr) -> String {
    Path::new(volume).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Listen {
    fn from_args(args: &Args) -> Self {
        if let Some(path) = args.path(&SOCKET) {
            return Self::At(path.to_owned());
        }
        if args.given(&PORT) {
            let port = args.number(&PORT).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
            let host = args.text(&ADDRESS).unwrap_or("127.0.0.1").to_owned();
            return Self::Tcp { host, port };
        }
        let base = args.operands().first().map(|volume| base_name(volume)).unwrap_or_default();
        Self::Usual(format!("{base}.sock"))
    }

    /// The Unix socket to listen on.
    fn socket(&self) -> Result<Option<PathBuf>> {
        match self {
            // Links that another user could have planted are not followed.
            Self::At(path) => place::existing(path).map(|_| Some(path.clone())),
            Self::Usual(name) => {
                let directory = sessions::runtime().directory(SOCKETS).map_err(explain::session)?;
                Ok(Some(directory.path().join(name)))
            }
            Self::Tcp { .. } => Ok(None),
        }
    }

    /// All addresses that the host name stands for.
    fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let Self::Tcp { host, port } = self else { return Ok(Vec::new()) };
        keyway_resolve::resolve(host, *port, LOOKS_UP_WITHIN)
            .map_err(|e| Failure::new(Exit::Parameters, format!("Cannot listen at {host}: {e}.")))
    }
}

/// The time limit for resolving the host name to listen on, which is one of this machine's.
const LOOKS_UP_WITHIN: Duration = Duration::from_secs(10);

impl Shown {
    /// Unlocks the volume, and goes on with its re-encryption if that was asked for.
    fn export(&self) -> Result<(Export, Option<Work>)> {
        let data = if self.read_only { Data::Show } else { Data::Write };
        if self.discards && !self.read_only {
            self.opening.warn_of_discards();
        }
        let unlocked = self.opening.unlock(data)?;
        let description = self.opening.target.device.display().to_string();
        let rights = Rights { read_only: self.read_only, discards: self.discards };
        let keys = if self.resumes { session::keys_under_way(&unlocked)? } else { None };
        let (device, _) = session::suspendable(unlocked, rights)?;
        let device = Arc::new(device);
        let work = keys.map(|keys| resume(&device, keys, description.clone())).transpose()?;
        let place = description.clone();
        // Clients get only an error number.
        let report = move |line: &str| say!("{place}: {line}.");
        let export = Export {
            name: self.name.clone(),
            description,
            rights: device.rights(),
            storage: Arc::new(Watched::over(device, report)),
        };
        Ok((export, work))
    }
}

/// Goes on with the re-encryption of a volume while it is served, and says how that ends.
fn resume(device: &Arc<SuspendableDevice>, keys: VolumeKeys, place: String) -> Result<Work> {
    let work = Work::default();
    let ended = move |moved: &Moved| match (moved.is_done(), moved.failure()) {
        (true, _) => say!("{place}: its reencryption is complete."),
        (false, Some(why)) => {
            say!("{place}: its reencryption has failed: {why}. Nothing is lost, and the rest stays in use.")
        }
        (false, None) => {}
    };
    work.start(device, keys, Throttle::default(), ended).map_err(explain::session)?;
    Ok(work)
}

/// The directory of default sockets, in the runtime directory.
const SOCKETS: &str = "keyway-serve";

/// NBD's limit for a string, in bytes (doc/proto.md, "Values").
const LONGEST_NAME: usize = 4096;
