//! Hosts' names to addresses: numbers, this machine, `/etc/hosts`, DNS.
//!
//! The C library's getaddrinfo(3) loads whatever modules `/etc/nsswitch.conf` names, into a static
//! program too, where they have to be of the very version that it was linked with. Here a name is
//! looked up by code of this program alone: a stub resolver (RFC 1034, 5.3.1), which asks the
//! servers in `/etc/resolv.conf`. What only modules know (LDAP, containers, mDNS) has no name here;
//! systemd-resolved answers DNS, too. Crates that resolve (hickory-resolver) bring some twenty
//! others along for caches, DNSSEC and transports that a program of one connection has no use for.
#![forbid(unsafe_code)]

mod config;
pub mod message;
mod query;

use config::Config;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

/// The addresses of `host`, the ones to be tried first in front.
/// `limit` is for everything together.
///
/// # Errors
/// [`ErrorKind::NotFound`] for a name that nobody knows, [`ErrorKind::TimedOut`] or the network's
/// error when no server answers, [`ErrorKind::InvalidInput`] for what is no name.
pub fn resolve(host: &str, port: u16, limit: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = literal(host, port) {
        return Ok(vec![address]);
    }
    let read = |path: &str| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let config = Config::parse(&read("/etc/resolv.conf").unwrap_or_default());
    let found = look_up(host, &read("/etc/hosts").unwrap_or_default(), &config, limit)?;
    let mut found: Vec<SocketAddr> = found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    // As RFC 6724 asks, as far as it matters: what cannot be reached at
    // all is not tried first, and IPv6 before IPv4.
    found.sort_by_key(|address| (!has_route(address), address.is_ipv4()));
    Ok(found)
}

/// Numbers, for which nobody is asked. (A zone behind `%` is a
/// number, or the name of an interface: RFC 4007, 11.)
fn literal(host: &str, port: u16) -> Option<SocketAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Some((address, zone)) = bare.split_once('%') {
        let index = || {
            let safe = !zone.is_empty() && !zone.contains('/') && !zone.starts_with('.');
            let text = safe.then(|| fs::read_to_string(format!("/sys/class/net/{zone}/ifindex")).ok())?;
            text?.trim().parse().ok()
        };
        let index = zone.parse().ok().or_else(index)?;
        return Some(SocketAddrV6::new(address.parse().ok()?, port, 0, index).into());
    }
    bare.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, port))
}

fn look_up(host: &str, hosts: &str, config: &Config, limit: Duration) -> io::Result<Vec<IpAddr>> {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    // RFC 6761, 6.3: no server is asked where this machine is.
    if name == "localhost" || name.ends_with(".localhost") {
        return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    if !message::is_name(&name) {
        let why = format!("{host:?} is no host's name");
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    let found = config::in_hosts(hosts, &name);
    if !found.is_empty() {
        return Ok(found);
    }
    let deadline = Instant::now() + limit;
    for candidate in config.candidates(&name, host.ends_with('.')) {
        let found = query::ask(config, &candidate, deadline)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(io::Error::new(ErrorKind::NotFound, format!("no host is called {host}")))
}

/// Whether packets could be sent there; none are.
fn has_route(address: &SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // The port matters to nobody, but 0 is refused.
    let address = SocketAddr::new(address.ip(), address.port().max(1));
    UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(address)).is_ok()
}

#[cfg(test)]
mod tests;
