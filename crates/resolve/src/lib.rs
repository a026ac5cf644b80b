//! Host names to addresses: numeric addresses, localhost, `/etc/hosts`, DNS.
//!
//! The C library's getaddrinfo(3) loads the modules named in `/etc/nsswitch.conf`, even into a
//! static program, where they must be of the very version that it was linked with. Here a name is
//! resolved by this program's own code alone: a stub resolver (RFC 1034, 5.3.1), which asks the
//! servers in `/etc/resolv.conf`. Names known only to such modules (LDAP, containers, mDNS) cannot
//! be resolved; systemd-resolved also answers DNS queries. Resolver crates (hickory-resolver) come
//! with some twenty dependencies for caches, DNSSEC and transports, which a program with one
//! connection does not need.
#![forbid(unsafe_code)]

mod config;
pub mod message;
mod query;

use config::Config;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

/// The addresses of `host`, the most promising first. `limit` applies to the whole resolution.
///
/// # Errors
/// [`ErrorKind::NotFound`] for an unknown name, [`ErrorKind::TimedOut`] or the network's error when
/// no server answers, [`ErrorKind::InvalidInput`] for an invalid name.
pub fn resolve(host: &str, port: u16, limit: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = literal(host, port) {
        return Ok(vec![address]);
    }
    let read = |path: &str| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let config = Config::parse(&read("/etc/resolv.conf").unwrap_or_default());
    let found = look_up(host, &read("/etc/hosts").unwrap_or_default(), &config, limit)?;
    let mut found: Vec<SocketAddr> = found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    // Follows RFC 6724 as far as it matters: unreachable addresses come last, and IPv6 comes before
    // IPv4.
    found.sort_by_key(|address| (!has_route(address), address.is_ipv4()));
    Ok(found)
}

/// A numeric address, which needs no lookup. (A zone after `%` is a number, or the name of an
/// interface: RFC 4007, 11.)
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
    // RFC 6761, 6.3: no server is asked about localhost.
    if name == "localhost" || name.ends_with(".localhost") {
        return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    if !message::is_name(&name) {
        let why = format!("{host:?} is not a host name");
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

/// Whether there is a route to the address; no packets are sent.
fn has_route(address: &SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // The port does not matter, but 0 is refused.
    let address = SocketAddr::new(address.ip(), address.port().max(1));
    UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(address)).is_ok()
}

#[cfg(test)]
mod tests;
