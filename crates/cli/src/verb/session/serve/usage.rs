//! What `serve` prints once it listens: where each export is, with command lines that use it.

use keyway_attach::Export;
use keyway_attach::nbd::server::percent_encoded;
use std::fmt::{self, Write};
use std::path::Path;

/// What the user is told about an export.
pub(super) struct Told {
    name: String,
    volume: String,
    size: u64,
    read_only: bool,
}

impl Told {
    pub(super) fn new(export: &Export) -> Self {
        Self {
            name: export.name.clone(),
            volume: export.description.clone(),
            size: export.storage.len(),
            read_only: export.rights.read_only,
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.read_only { "read-only" } else { "read/write" };
        write!(f, "Serving {} ({mode}, {} bytes)", self.volume, self.size)
    }
}

/// Where each export is, with command lines that use it.
pub(super) fn usage(place: &str, socket: Option<&Path>, exports: &[Told]) -> String {
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

/// The same for encrypted connections, where clients use a certificate directory of their own.
pub(super) fn usage_with_tls(place: &str, exports: &[Told]) -> String {
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
