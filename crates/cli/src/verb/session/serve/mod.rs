//! `serve`: serves volumes as exports of an NBD server in the foreground.

use crate::device::tls::{self, TlsOptions};
use crate::device::{self, explain, place, sessions};
use crate::door::risk::{Effect, Proof, risk};
use crate::door::{self, Args, Command, Example, Group, Kind, Offers, Operand, Opt, Request, groups, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable_lines;
use crate::output::{sentence, stdio};
use crate::session;
use crate::volume::{Data, Opening};
mod usage;
use keyway_attach::nbd::server::{Encryption, Options, Server, exposed};
use keyway_attach::session::{Gate, Moved, Pace, Work};
use keyway_attach::{Door, Export, Watched};
use keyway_volume::reencrypt::VolumeKeys;
use keyway_volume::{Rights, Storage};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use usage::{Told, usage, usage_with_tls};

/// `keyway serve`.
pub(crate) static COMMAND: Command = Command {
    name: "serve",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand {
        name: "VOLUME...",
        required: true,
        help: "The files or devices with the volumes; each becomes an export.",
        offers: Offers::Volumes,
    }],
    about: "Serve volumes to NBD clients: QEMU, libnbd, the kernel.",
    man: "Unlocks each volume and serves its plaintext as a network block device, in the foreground. When it \
          listens, it prints where, with command lines to use it. SIGINT and SIGTERM end it: requests under way are \
          answered, what was written reaches the device, the keys are wiped, the socket is removed, and the exit \
          code is 0.\n\nWithout --port it listens on a unix socket that only its user can connect to: the one that \
          --socket names, or keyway-serve/BASENAME.sock in the user's runtime directory ($XDG_RUNTIME_DIR). A socket \
          that a killed server left behind is replaced; one in use is refused.\n\nIf the device or store fails, \
          clients get errors; the reason is printed on standard error, once for each cause. One that does not answer \
          keeps the server from ending only while something is unwritten.\n\nA single volume is the export with the \
          empty name, which clients use by default. Several are named after their files; --export, once for each \
          volume in the same order, names them otherwise.\n\nWhoever can connect can read and write the plaintext. \
          On a TCP port that is everyone who can reach the address, unless --tls-verify-peer asks for a certificate. \
          An address other than this machine's own (127.0.0.1, ::1) needs TLS; --insecure-network serves it \
          unencrypted all the same, with a warning.\n\nA client has 10 seconds to choose an export, TLS included. At \
          most 64 may be doing so, 32 of them from one address (one /64 network of IPv6): when more come, the oldest \
          is dropped. 128 clients are served at a time; further ones are told so. All of them share 264 MiB for \
          requests and replies, half of it for those of more than 2 MiB; a client that needs more than is left \
          waits. A client on a TCP port that does not send the rest of a request within 10 seconds, or take a reply \
          within 60, is dropped (a megabit per second is fast enough), and so is one without a request for \
          --idle-timeout. Clients on a unix socket have no such limits.",
    options: &[
        &[
            &SOCKET,
            &PORT,
            &ADDRESS,
            &INSECURE_NETWORK,
            &IDLE_TIMEOUT,
            &EXPORT,
            &shared::READONLY,
            &THREADS,
            &ALLOW_DISCARDS,
            &RESUME_REENCRYPTION,
            &tls::TLS,
            &tls::TLS_CERTIFICATES,
            &tls::TLS_VERIFY_PEER,
            &tls::TLS_PSK,
            &shared::SHARED,
            &shared::DIRECT_IO,
        ],
        groups::KEY_INPUT,
        groups::UNLOCKING,
        groups::PROMPT,
        groups::LIMITS,
        groups::ADMISSION,
        groups::PLAIN_DATA,
        groups::TCRYPT,
        &[&shared::DEVICE_OFFSET],
    ],
    examples: &[
        Example { line: "keyway serve disk.luks", does: "serve on a private socket, and say how to use it" },
        Example {
            line: "keyway serve --export root --export data root.luks data.luks",
            does: "two disks for a virtual machine",
        },
        Example {
            line: "keyway serve --port 10809 --address :: --tls-certificates pki disk.luks",
            does: "over the network, encrypted; --tls-verify-peer asks clients for a certificate",
        },
    ],
    risks: &[
        risk(
            "VOLUME...",
            Effect::Mounts,
            Proof::Claim,
            "serve --type plain -c aes-xts-plain64 -s 512 -d KEY --socket NEW TARGET",
        ),
        risk("--socket PATH", Effect::Replaces, Proof::NewName, "serve -d KEY --socket TARGET VOLUME"),
    ],
    run: door::run::<Serve>,
};

static SOCKET: Opt = Opt {
    long: "socket",
    short: None,
    value: "PATH",
    kind: Kind::Path,
    help: "Listen on this unix socket.",
    man: "",
};

static PORT: Opt = Opt {
    long: "port",
    short: None,
    value: "N",
    kind: Kind::Number(u16::MAX as u64),
    help: "Listen on this TCP port, not on a unix socket.",
    man: "NBD's own is 10809; 0 takes a free one.",
};

static ADDRESS: Opt = Opt {
    long: "address",
    short: None,
    value: "ADDRESS",
    kind: Kind::Text,
    help: "The TCP port's address (127.0.0.1).",
    man: "",
};

static INSECURE_NETWORK: Opt = Opt {
    long: "insecure-network",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Serve a network without TLS.",
    man: "Whoever can reach --address can read and write the plaintext, and whoever is on the network path can \
          read and change it. Without this option only this machine's own addresses are served unencrypted.",
};

static IDLE_TIMEOUT: Opt = Opt {
    long: "idle-timeout",
    short: None,
    value: "SECONDS",
    kind: Kind::Number(u32::MAX as u64),
    help: "Drop idle clients of a TCP port (3600).",
    man: "A client that sends no request for this long is dropped. 0 means no limit, as for a machine whose \
          disk may be idle for days. Clients on a unix socket have no limit.",
};

static EXPORT: Opt = Opt {
    long: "export",
    short: None,
    value: "NAME",
    kind: Kind::Text,
    help: "The export's name; once for each volume.",
    man: "",
};

static THREADS: Opt = Opt {
    long: "threads",
    short: None,
    value: "N",
    kind: Kind::Number(256),
    help: "Maximum number of threads for one client.",
    man: "",
};

static RESUME_REENCRYPTION: Opt = Opt {
    long: "resume-reencryption",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Go on with a reencryption meanwhile.",
    man: "A volume in the middle of a re-encryption is re-encrypted to its end while clients use it, as \
          \"keyway reencrypt --active-name NAME\" does for a session; without this option it stays as it is. How that ends is \
          said on standard error.",
};

static ALLOW_DISCARDS: Opt = Opt {
    long: "allow-discards",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Pass clients' discards on to the device.",
    man: "The encrypted file or device then shows which sectors are unused. Without this option discards are \
          accepted and ignored.",
};

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
        let listen = Listen::from_args(args)?;
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
        let door: Arc<dyn Door> = Arc::new(match &socket {
            Some(path) => server.unix(path).map_err(|e| sentence::door(&e))?,
            None => server.tcp(&addresses).map_err(|e| sentence::door(&e))?,
        });
        let listening = if encrypted {
            usage_with_tls(&door.place(), &told)
        } else {
            usage(&door.place(), socket.as_deref(), &told)
        };
        let ended =
            session::serve_until_stopped(&door, &volumes, || stdio::print(&printable_lines(&listening)));
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
    fn from_args(args: &Args) -> Result<Self> {
        match (args.path(&SOCKET), args.given(&PORT)) {
            (Some(_), true) => {
                Err(Failure::new(Exit::Parameters, "Options --socket and --port are mutually exclusive."))
            }
            (_, false) if args.given(&ADDRESS) => {
                Err(Failure::new(Exit::Parameters, "Option --address goes with --port."))
            }
            (Some(path), false) => Ok(Self::At(path.to_owned())),
            (None, true) => {
                let port = args.number(&PORT).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
                let host = args.text(&ADDRESS).unwrap_or("127.0.0.1").to_owned();
                Ok(Self::Tcp { host, port })
            }
            (None, false) => {
                let base = args.operands().first().map(|volume| base_name(volume)).unwrap_or_default();
                Ok(Self::Usual(format!("{base}.sock")))
            }
        }
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
        let unlocked = self.opening.unlock(data)?;
        let description = self.opening.target.device.display().to_string();
        let rights = Rights { read_only: self.read_only, discards: self.discards };
        let keys = if self.resumes { session::keys_under_way(&unlocked)? } else { None };
        let (gate, _) = session::behind_gate(unlocked, rights)?;
        let gate = Arc::new(gate);
        let work = keys.map(|keys| resume(&gate, keys, description.clone())).transpose()?;
        let place = description.clone();
        // Clients get only an error number.
        let report = move |line: &str| say!("{place}: {line}.");
        let export = Export {
            name: self.name.clone(),
            description,
            rights: gate.rights(),
            storage: Arc::new(Watched::over(gate, report)),
        };
        Ok((export, work))
    }
}

/// Goes on with the re-encryption of a volume while it is served, and says how that ends.
fn resume(gate: &Arc<Gate>, keys: VolumeKeys, place: String) -> Result<Work> {
    let work = Work::default();
    let ended = move |moved: &Moved| match (moved.is_done(), moved.failure()) {
        (true, _) => say!("{place}: its reencryption is complete."),
        (false, Some(why)) => {
            say!("{place}: its reencryption has failed: {why}. Nothing is lost, and the rest stays in use.")
        }
        (false, None) => {}
    };
    work.start(gate, keys, Pace::default(), ended).map_err(explain::session)?;
    Ok(work)
}

/// The directory of default sockets, in the runtime directory.
const SOCKETS: &str = "keyway-serve";

/// NBD's limit for a string, in bytes (doc/proto.md, "Values").
const LONGEST_NAME: usize = 4096;
