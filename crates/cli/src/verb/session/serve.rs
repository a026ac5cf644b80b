//! `serve`: volumes as the exports of an NBD server in the foreground.

use crate::device::{self, place, tls};
use crate::door::{Args, Command, Example, Group, Kind, Operand, Opt, groups, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::printable_lines;
use crate::say::{output, sentence};
use crate::session::{self, directory};
use crate::volume::{Data, Opening};
use keyway_attach::nbd::server::{Encryption, Options, Server, exposed, percent_encoded};
use keyway_attach::{Door, Export, Watched};
use keyway_volume::Storage;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// `keyway serve`.
pub(crate) static COMMAND: Command = Command {
    name: "serve",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand {
        name: "VOLUME...",
        required: true,
        help: "The files or devices with the volumes; each becomes an export.",
    }],
    about: "Serve volumes to NBD clients: QEMU, libnbd, the kernel.",
    man: "Unlocks each volume and serves its plaintext as a network block device, in the foreground. Once it listens, it says \
          where, with the command lines to use it. SIGINT and SIGTERM end it: requests under way are answered, what was \
          written reaches the device, the keys are wiped, the socket is removed, and the exit status is 0.\n\n\
          Without --port it listens on a unix socket that its user alone may connect to: the one that --socket names, or \
          keyway-serve/BASENAME.sock in the user's runtime directory ($XDG_RUNTIME_DIR). A socket that a killed server \
          left behind is replaced; one that is listened on is refused.\n\n\
          When the device or store fails, clients get errors; why is said on standard error, once for each cause. One that \
          does not answer keeps the server from ending only while something is unwritten.\n\n\
          A single volume is the export with the empty name, which clients take when they name none. Several are named \
          like their files; --export, once a volume in the same order, names them otherwise.\n\n\
          Whoever can connect reads the plaintext, and writes it. On a TCP port that is everybody who reaches the \
          address, unless --tls-verify-peer asks them for a certificate. An address other than this machine's own \
          (127.0.0.1, ::1) needs TLS; --insecure-network serves it in the clear nevertheless, with a warning.\n\n\
          A client has 10 seconds to choose an export, TLS included. At most 64 may be doing so, 32 of them from one \
          address (one /64 network of IPv6): the oldest has to go when more come. 128 clients are served at a time; \
          further ones are told so. All of them share 264 MiB for requests and replies, half of it for those of more \
          than 2 MiB; who needs more than is left waits. A client on a TCP port that does not send the rest of a \
          request within 10 seconds, or take a reply within 60, is dropped (a megabit a second is fast enough), and so \
          is one without a request for --idle-timeout. Those on a unix socket are waited for.",
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
            &tls::TLS,
            &tls::TLS_CERTIFICATES,
            &tls::TLS_VERIFY_PEER,
            &tls::TLS_PSK,
            &shared::SHARED,
            &shared::DIRECT_IO,
        ],
        groups::UNLOCKING,
        groups::ADMISSION,
        groups::PLAIN,
    ],
    examples: &[
        Example { line: "keyway serve disk.luks", does: "serve on a private socket, and say how to use it" },
        Example {
            line: "keyway serve --socket /tmp/vm.sock --export root --export data root.luks data.luks",
            does: "two disks for a virtual machine",
        },
        Example {
            line: "keyway serve --port 10809 --address :: --tls-certificates pki --tls-verify-peer disk.luks",
            does: "over the network: encrypted, to clients with a certificate",
        },
    ],
    run,
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
    man: "Whoever reaches --address reads and writes the plaintext, and whoever is on the way reads and changes it. Without \
          this option only this machine's own addresses are served in the clear.",
};

static IDLE_TIMEOUT: Opt = Opt {
    long: "idle-timeout",
    short: None,
    value: "SECONDS",
    kind: Kind::Number(u32::MAX as u64),
    help: "Drop idle clients of a TCP port (3600).",
    man: "A client that sends no request for so long is dropped. 0 waits for ever, as for a machine whose disk may lie idle \
          for days. Clients on a unix socket always may.",
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
    help: "Most threads that work for one client.",
    man: "",
};

static ALLOW_DISCARDS: Opt = Opt {
    long: "allow-discards",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Pass clients' discards on to the device.",
    man: "Which sectors are unused then shows in the encrypted file or device. Without this option discards are accepted \
          and nothing happens.",
};

fn run(args: &Args) -> Result<()> {
    let names = export_names(args)?;
    let socket = socket(args)?;
    let options = options(args)?;
    let encrypted = !matches!(options.encryption, Encryption::Off);
    let addresses = if socket.is_none() { tcp_addresses(args)? } else { Vec::new() };
    check_exposure(&addresses, &options)?;
    let exports = (0..).zip(&names).map(|(operand, name)| export(args, operand, name));
    let exports = exports.collect::<Result<Vec<Export>>>()?;
    let volumes: Vec<Arc<dyn Storage>> = exports.iter().map(|export| Arc::clone(&export.storage)).collect();
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
    session::serve_until_stopped(&door, &volumes, || output::print(&printable_lines(&listening)))
}

/// Refuses, before anything is asked for, what would show the
/// plaintext to a network; says so where that is wanted.
fn check_exposure(addresses: &[SocketAddr], options: &Options) -> Result<()> {
    let Some(open) = exposed(addresses, &options.encryption) else { return Ok(()) };
    if options.insecure_network {
        say!("WARNING: {open} is served without TLS: whoever reaches it reads and writes the plaintext.");
        return Ok(());
    }
    let message = format!(
        "Refusing to serve {open} without TLS: whoever reaches it would read and write the plaintext. Give \
         --tls-certificates and --tls-verify-peer, or --insecure-network if that is wanted."
    );
    Err(Failure::new(Exit::Parameters, message))
}

/// What clients call each volume.
fn export_names(args: &Args) -> Result<Vec<String>> {
    let refuse = |message: String| Err(Failure::new(Exit::Parameters, message));
    let (volumes, given) = (args.operands().len(), args.texts(&EXPORT));
    if volumes > 1 && args.given(&shared::HEADER) {
        return refuse("--header goes with one volume, not with several.".into());
    }
    if !given.is_empty() && given.len() != volumes {
        let message = format!("--export: {} names for {volumes} volumes; give one for each.", given.len());
        return refuse(message);
    }
    let base = |index| {
        let name = args.operand(index).and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let names: Vec<String> = match (given.is_empty(), volumes) {
        (false, _) => given.into_iter().map(str::to_owned).collect(),
        (true, 1) => vec![String::new()],
        (true, _) => (0..volumes).map(base).collect(),
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

/// The unix socket; `None` when a TCP port was asked for.
fn socket(args: &Args) -> Result<Option<PathBuf>> {
    match (args.path(&SOCKET), args.given(&PORT)) {
        (Some(_), true) => {
            Err(Failure::new(Exit::Parameters, "Options --socket and --port are mutually exclusive."))
        }
        (_, false) if args.given(&ADDRESS) => {
            Err(Failure::new(Exit::Parameters, "Option --address goes with --port."))
        }
        // After no link that others could have put in its way.
        (Some(path), false) => place::existing(path).map(|_| Some(path.to_owned())),
        (None, true) => Ok(None),
        (None, false) => {
            let base = args.operand(0).and_then(Path::file_name).unwrap_or_default();
            let name = format!("{}.sock", base.to_string_lossy());
            directory::directory(SOCKETS).map(|directory| Some(directory.path().join(name)))
        }
    }
}

/// All that the address's name stands for.
fn tcp_addresses(args: &Args) -> Result<Vec<SocketAddr>> {
    let port = args.number(&PORT).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
    let host = args.text(&ADDRESS).unwrap_or("127.0.0.1");
    keyway_resolve::resolve(host, port, LOOKS_UP_WITHIN)
        .map_err(|e| Failure::new(Exit::Parameters, format!("Cannot listen at {host}: {e}.")))
}

/// A name to listen at is one of this machine's.
const LOOKS_UP_WITHIN: Duration = Duration::from_secs(10);

fn options(args: &Args) -> Result<Options> {
    let mut options = Options {
        encryption: tls::from_args(args)?,
        insecure_network: args.given(&INSECURE_NETWORK),
        ..Options::default()
    };
    if let Some(threads) = args.number(&THREADS) {
        options.threads = (threads as usize).max(1);
    }
    if let Some(seconds) = args.number(&IDLE_TIMEOUT) {
        options.idle = (seconds > 0).then(|| Duration::from_secs(seconds));
    }
    Ok(options)
}

/// Unlocks one volume.
fn export(args: &Args, operand: usize, name: &str) -> Result<Export> {
    let read_only = args.given(&shared::READONLY) || args.operand(operand).is_some_and(device::is_read_only);
    let data = if read_only { Data::Show } else { Data::Write };
    let plain = Opening::from_args(args, operand)?.open(data)?;
    let description = args.operand(operand).map(device::resolve).unwrap_or_default().display().to_string();
    let place = description.clone();
    // Clients learn no more than a number.
    let report = move |line: &str| say!("{place}: {line}.");
    Ok(Export {
        name: name.to_owned(),
        description,
        read_only: read_only || plain.volume.is_read_only(),
        storage: Arc::new(Watched::new(plain.volume, report)),
        discards: args.given(&ALLOW_DISCARDS),
    })
}

/// What the user is told about an export.
struct Told {
    name: String,
    volume: String,
    size: u64,
    read_only: bool,
}

impl Told {
    fn new(export: &Export) -> Self {
        Self {
            name: export.name.clone(),
            volume: export.description.clone(),
            size: export.storage.len(),
            read_only: export.read_only,
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.read_only { "read-only" } else { "read/write" };
        write!(f, "Serving {} ({mode}, {} bytes)", self.volume, self.size)
    }
}

/// Where each export is, and the command lines that use it.
fn usage(place: &str, socket: Option<&Path>, exports: &[Told]) -> String {
    let mut text = String::new();
    for export in exports {
        let uri = if exports.len() == 1 { place.to_owned() } else { with_name(place, &export.name) };
        let _ = writeln!(text, "{export} at {uri}");
        let _ = writeln!(text, "  nbdinfo '{uri}'");
        let _ = writeln!(text, "  nbdcopy '{uri}' copy.img");
        let read_only = if export.read_only { ",read-only=on" } else { "" };
        let _ = writeln!(text, "  qemu-system-x86_64 -drive 'file={uri},format=raw,if=virtio{read_only}'");
        let name = if export.name.is_empty() { String::new() } else { format!(" -N '{}'", export.name) };
        let at = match socket {
            Some(path) => format!("-unix '{}'", path.display()),
            None => host_and_port(place),
        };
        let _ = writeln!(text, "  nbd-client {at}{name} /dev/nbd0    (as root)");
    }
    text
}

/// The same for encrypted connections, with the clients' own directory of certificates.
fn usage_with_tls(place: &str, exports: &[Told]) -> String {
    let mut text = String::new();
    for export in exports {
        let uri = if exports.len() == 1 { place.to_owned() } else { with_name(place, &export.name) };
        let separator = if uri.contains('?') { '&' } else { '?' };
        let _ = writeln!(text, "{export} at {uri}");
        let _ = writeln!(text, "  nbdinfo '{uri}{separator}tls-certificates=DIR'");
        let _ = writeln!(text, "  nbdcopy '{uri}{separator}tls-certificates=DIR' copy.img");
    }
    text
}

/// The URI of one export among several.
fn with_name(place: &str, name: &str) -> String {
    let name = percent_encoded(name.as_bytes());
    match place.split_once('?') {
        Some((server, socket)) => format!("{server}{name}?{socket}"),
        None => format!("{place}{name}"),
    }
}

/// "127.0.0.1 10809" of "nbd://127.0.0.1:10809/".
fn host_and_port(place: &str) -> String {
    let authority = place.split('/').nth(2).unwrap_or_default();
    authority.rsplit_once(':').map_or_else(String::new, |(host, port)| format!("{host} {port}"))
}

/// Where default sockets are, in the runtime directory.
const SOCKETS: &str = "keyway-serve";

/// NBD's limit for a string, in bytes (doc/proto.md, "Values").
const LONGEST_NAME: usize = 4096;
