//! `/etc/hosts` and `/etc/resolv.conf` (hosts(5), resolv.conf(5)).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

/// Which servers to ask, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) servers: Vec<SocketAddr>,
    search: Vec<String>,
    /// A name with at least this many dots is first tried as it is.
    ndots: usize,
    /// The timeout for each query to each server.
    pub(crate) timeout: Duration,
    pub(crate) attempts: u32,
}

impl Config {
    pub(crate) fn parse(text: &str) -> Self {
        let mut config = Self {
            servers: Vec::new(),
            search: Vec::new(),
            ndots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
        };
        for line in text.lines().filter(|line| !line.starts_with(['#', ';'])) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => config.servers.extend(words.next().and_then(server)),
                Some("domain" | "search") => {
                    let names = words.map(|word| word.trim_end_matches('.').to_ascii_lowercase());
                    config.search =
                        names.filter(|name| crate::message::is_name(name)).take(SEARCHED).collect();
                }
                Some("options") => words.for_each(|word| config.option(word)),
                _ => {}
            }
        }
        config.servers.truncate(SERVERS);
        if config.servers.is_empty() {
            config.servers.push((Ipv4Addr::LOCALHOST, PORT).into());
        }
        config
    }

    fn option(&mut self, word: &str) {
        let Some((name, value)) = word.split_once(':') else { return };
        let Ok(value) = value.parse::<u32>() else { return };
        match name {
            "ndots" => self.ndots = value.min(15) as usize,
            "timeout" => self.timeout = Duration::from_secs(value.clamp(1, 30).into()),
            "attempts" => self.attempts = value.clamp(1, 5),
            _ => {}
        }
    }

    /// The names that `name` may stand for, in the order in which they are tried.
    pub(crate) fn candidates(&self, name: &str, is_whole: bool) -> Vec<String> {
        let plain = name.to_owned();
        if is_whole {
            return vec![plain];
        }
        let searched = self.search.iter().map(|domain| format!("{name}.{domain}"));
        let mut candidates: Vec<String> = searched.filter(|name| crate::message::is_name(name)).collect();
        let first = name.bytes().filter(|byte| *byte == b'.').count() >= self.ndots;
        candidates.insert(if first { 0 } else { candidates.len() }, plain);
        candidates
    }

    /// A configuration for tests.
    #[cfg(test)]
    pub(crate) fn of(servers: Vec<SocketAddr>) -> Self {
        Self { servers, timeout: Duration::from_secs(2), ..Self::parse("") }
    }
}

fn server(text: &str) -> Option<SocketAddr> {
    match text.split_once('%') {
        Some((address, zone)) => {
            Some(SocketAddrV6::new(address.parse().ok()?, PORT, 0, zone.parse().ok()?).into())
        }
        None => text.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, PORT)),
    }
}

/// The addresses assigned to `name` in `/etc/hosts`.
pub(crate) fn in_hosts(text: &str, name: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse) else { continue };
        if words.any(|word| word.eq_ignore_ascii_case(name)) && !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

const PORT: u16 = 53;

/// MAXNS and MAXDNSRCH of <resolv.h>.
const SERVERS: usize = 3;
const SEARCHED: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolv_conf_is_read() {
        let text = "; comment\n# nameserver 9.9.9.9\nnameserver 10.0.0.1\nnameserver fe80::1%3\nnameserver nonsense\n\
                    domain old.example\nsearch lab.example. Example ..bad\noptions ndots:2 timeout:1 attempts:99 rotate\n";
        let config = Config::parse(text);
        let link_local = SocketAddrV6::new("fe80::1".parse().unwrap(), 53, 0, 3).into();
        assert_eq!(config.servers, ["10.0.0.1:53".parse().unwrap(), link_local]);
        assert_eq!((config.timeout, config.attempts), (Duration::from_secs(1), 5));
        assert_eq!(config.candidates("a", false), ["a.lab.example", "a.example", "a"]);
        assert_eq!(config.candidates("a.b", false), ["a.b.lab.example", "a.b.example", "a.b"]);
        assert_eq!(config.candidates("a.b.c", false)[0], "a.b.c");
        assert_eq!(config.candidates("a", true), ["a"]);
        assert_eq!(Config::parse("").servers, ["127.0.0.1:53".parse().unwrap()]);
        assert_eq!(Config::parse("").candidates("a", false), ["a"]);
        let many = "nameserver 10.0.0.1\n".repeat(9);
        assert_eq!(Config::parse(&many).servers.len(), 3);
        let zero = Config::parse("options timeout:0 attempts:0");
        assert_eq!((zero.timeout, zero.attempts), (Duration::from_secs(1), 1));
    }

    #[test]
    fn hosts_is_read() {
        let text = "127.0.0.1 localhost\n10.1.2.3\tStore.example store # other\n::5 store\n10.1.2.3 store\nbad store\n";
        let found: Vec<IpAddr> = vec!["10.1.2.3".parse().unwrap(), "::5".parse().unwrap()];
        assert_eq!(in_hosts(text, "store"), found);
        assert_eq!(in_hosts(text, "store.example"), found[..1]);
        assert!(in_hosts(text, "other").is_empty() && in_hosts(text, "10.1.2.3").is_empty());
    }
}
