//! What the command takes, and what its page says.

use super::Serve;
use crate::args::risk::{Effect, Proof, risk};
use crate::args::rule::Rule;
use crate::args::{self, Command, Example, Group, Kind, Offers, Operand, Opt, groups, shared};
use crate::device::tls;

/// `keyway serve`.
pub(crate) static COMMAND: Command = Command {
    name: "serve",
    aliases: &[],
    group: Group::First,
    operands: &[Operand {
        name: "VOLUME...",
        required: true,
        help: "The files or devices with the volumes; each becomes an export.",
        offers: Offers::Volumes,
    }],
    about: "Serve volumes to NBD clients: QEMU, libnbd, the kernel.",
    man: "Unlocks each volume and serves its plaintext as a network block device, in the foreground. When it \
          listens, it prints where, with command lines to use it. SIGINT and SIGTERM end it: requests under \
          way are answered, what was written reaches the device, the keys are wiped, the socket is removed, \
          and the exit code is 0.\n\nWithout --port it listens on a unix socket that only its user can \
          connect to: the one that --socket names, or keyway-serve/BASENAME.sock in the user's runtime \
          directory ($XDG_RUNTIME_DIR). A socket that a killed server left behind is replaced; one in use is \
          refused.\n\nIf the device or store fails, clients get errors; the reason is printed on standard \
          error, once for each cause. A device that does not answer delays the server's exit only while \
          writes are pending.\n\nA single volume is the export with the empty name, which clients use by \
          default. Several are named after their files; --export, once for each volume in the same order, \
          names them otherwise.\n\nWhoever can connect can read and write the plaintext. On a TCP port that \
          is everyone who can reach the address, unless --tls-verify-peer asks for a certificate. An address \
          other than this machine's own (127.0.0.1, ::1) needs TLS; --insecure-network serves it unencrypted \
          anyway, with a warning.\n\nA client has 10 seconds to choose an export, TLS included. At most 64 \
          may be doing so, 32 of them from one address (one /64 network of IPv6): when more come, the oldest \
          is dropped. 128 clients are served at a time; further ones are refused with an error. All of them \
          share 264 MiB for requests and replies, half of it for those of more than 2 MiB; a client that \
          needs more than is left waits. A client on a TCP port that does not send the rest of a request \
          within 10 seconds, or take a reply within 60, is dropped (a megabit per second is fast enough), and \
          so is one without a request for --idle-timeout. Clients on a unix socket have no such limits.",
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
        groups::BITLK,
        groups::PROTECTION,
        &[&shared::DEVICE_OFFSET],
    ],
    rules: &[
        Rule::excludes(&SOCKET, &[&PORT]).saying("Options --socket and --port are mutually exclusive."),
        Rule::needs(&ADDRESS, &PORT),
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
    run: args::run::<Serve>,
};

pub(super) static SOCKET: Opt = Opt {
    long: "socket",
    short: None,
    value: "PATH",
    kind: Kind::Path,
    help: "Listen on this unix socket.",
    man: "",
};

pub(super) static PORT: Opt = Opt {
    long: "port",
    short: None,
    value: "N",
    kind: Kind::Number(u16::MAX as u64),
    help: "Listen on this TCP port, not on a unix socket.",
    man: "NBD's own is 10809; 0 takes a free one.",
};

pub(super) static ADDRESS: Opt = Opt {
    long: "address",
    short: None,
    value: "ADDRESS",
    kind: Kind::Text,
    help: "The TCP port's address (127.0.0.1).",
    man: "",
};

pub(super) static INSECURE_NETWORK: Opt = Opt {
    long: "insecure-network",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Serve a network without TLS.",
    man: "Whoever can reach --address can read and write the plaintext, and whoever is on the network path can \
          read and change it. Without this option only this machine's own addresses are served unencrypted.",
};

pub(super) static IDLE_TIMEOUT: Opt = Opt {
    long: "idle-timeout",
    short: None,
    value: "SECONDS",
    kind: Kind::Number(u32::MAX as u64),
    help: "Drop idle clients of a TCP port (3600).",
    man: "A client that sends no request for this long is dropped. 0 means no limit, as for a machine whose \
          disk may be idle for days. Clients on a unix socket have no limit.",
};

pub(super) static EXPORT: Opt = Opt {
    long: "export",
    short: None,
    value: "NAME",
    kind: Kind::Text,
    help: "The export's name; once for each volume.",
    man: "",
};

pub(super) static THREADS: Opt = Opt {
    long: "threads",
    short: None,
    value: "N",
    kind: Kind::Number(256),
    help: "Maximum number of threads for one client.",
    man: "",
};

pub(super) static RESUME_REENCRYPTION: Opt = Opt {
    long: "resume-reencryption",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Resume a reencryption while serving.",
    man: "A reencryption under way is completed while clients use the volume, as \"keyway reencrypt \
          --active-name NAME\" does for a session; without this option it stays as it is. The result is \
          printed on standard error.",
};

pub(super) static ALLOW_DISCARDS: Opt = Opt {
    long: "allow-discards",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Pass clients' discards on to the device.",
    man: "The encrypted file or device then shows which sectors are unused. Without this option discards are \
          accepted and ignored.",
};
