//! Which proxy a request goes through, according to the environment as curl and most programs
//! interpret it.
//!
//! `http_proxy` and `https_proxy` name a proxy for URLs of that scheme, `all_proxy` one for both,
//! and `no_proxy` the hosts that are accessed without a proxy: `.example.org` and `example.org`
//! stand for the domain and its subdomains, `192.0.2.0/24` for a network, `*` for every host.
//! Upper-case names take precedence. In a program run by a web server (CGI), `HTTP_PROXY` is set by
//! the client of that server, so no proxy is used there.

use crate::credentials::Login;
use crate::error::Cause;
use std::env;
use std::net::IpAddr;
use url::Url;

/// The proxies in this process's environment.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    http: Option<String>,
    https: Option<String>,
    direct: Vec<String>,
}

/// A proxy for one request.
pub(super) struct Proxy {
    /// The proxy's URL.
    pub(super) url: Url,
    /// The login sent to the proxy.
    pub(super) login: Option<Login>,
}

impl Proxies {
    pub(super) fn from_env() -> Self {
        match env::var_os("REQUEST_METHOD") {
            Some(_) => Self::default(),
            None => Self::read(|name| env::var(name).ok()),
        }
    }

    /// Reads the proxies from the environment; `variable` looks up a variable by name.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let named = |name: &str| {
            let value = variable(&name.to_ascii_uppercase()).or_else(|| variable(name));
            value.filter(|value| !value.is_empty())
        };
        let direct = named("no_proxy").unwrap_or_default();
        Self {
            http: named("http_proxy").or_else(|| named("all_proxy")),
            https: named("https_proxy").or_else(|| named("all_proxy")),
            direct: direct.split(',').map(|host| host.trim().to_owned()).collect(),
        }
    }

    /// The proxy for `url`, if there is one.
    pub(super) fn of(&self, url: &Url) -> Result<Option<Proxy>, Cause> {
        let named = if url.scheme() == "https" { &self.https } else { &self.http };
        let host = url.host_str().unwrap_or_default();
        match named {
            Some(text) if !self.direct.iter().any(|direct| is_meant(direct, host)) => {
                Proxy::parse(text).map(Some)
            }
            _ => Ok(None),
        }
    }
}

impl Proxy {
    fn parse(text: &str) -> Result<Self, Cause> {
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        // The value may contain a password, so it is not shown.
        let wrong = || Cause::Unreachable("the proxy that the environment names is not an HTTP proxy".into());
        let mut url = url.ok_or_else(wrong)?;
        Ok(Self { login: Login::take_from(&mut url), url })
    }
}

/// Whether an item of `no_proxy` matches `host`.
fn is_meant(item: &str, host: &str) -> bool {
    if item == "*" {
        return true;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => is_in(address, item),
        Err(_) => is_below(host, item.strip_prefix('.').unwrap_or(item)),
    }
}

/// Whether `host` is `domain` or a subdomain of it.
fn is_below(host: &str, domain: &str) -> bool {
    let Some(split) = host.len().checked_sub(domain.len()).filter(|_| !domain.is_empty()) else {
        return false;
    };
    let same = host.get(split..).is_some_and(|end| end.eq_ignore_ascii_case(domain));
    same && (split == 0 || host.as_bytes()[split - 1] == b'.')
}

/// Whether `address` is in `network`: an address, optionally with a prefix length (RFC 4632).
fn is_in(address: IpAddr, network: &str) -> bool {
    let (base, length) = network.split_once('/').unwrap_or((network, "128"));
    let (Ok(base), Ok(length)) = (base.parse::<IpAddr>(), length.parse::<u32>()) else { return false };
    let (one, other, bits) = match (address, base) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits().into(), other.to_bits().into(), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let different: u128 = one ^ other;
    different.checked_shr(bits - length.min(bits)).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let value = |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
        Proxies::read(|name| value(name).map(str::to_owned))
    }

    fn of(proxies: &Proxies, url: &str) -> String {
        match proxies.of(&Url::parse(url).unwrap()) {
            Ok(None) => "none".into(),
            Ok(Some(Proxy { url, login: None })) => url.into(),
            Ok(Some(Proxy { url, login: Some(login) })) => format!("{url} for {}", login.user),
            Err(cause) => cause.to_string(),
        }
    }

    #[test]
    fn the_scheme_decides_which_proxy() {
        let none = proxies(&[("http_proxy", "")]);
        assert_eq!(of(&none, "http://h/"), "none");
        let http = proxies(&[("http_proxy", "one:3128")]);
        assert_eq!(of(&http, "http://h/x"), "http://one:3128/");
        assert_eq!(of(&http, "https://h/x"), "none");
        let both = proxies(&[("ALL_PROXY", "http://me:x%40y@all"), ("https_proxy", "https://two:1/")]);
        assert_eq!(of(&both, "http://h/"), "http://all/ for me");
        assert_eq!(of(&both, "https://h/"), "https://two:1/");
        let capitals = proxies(&[("HTTP_PROXY", "large"), ("http_proxy", "small")]);
        assert_eq!(of(&capitals, "http://h/"), "http://large/");
        let socks = of(&proxies(&[("all_proxy", "socks5://me:secret@s:1080")]), "http://h/");
        assert!(socks.contains("not an HTTP proxy") && !socks.contains("secret"), "{socks}");
    }

    #[test]
    fn hosts_are_reached_without() {
        let direct = "example.org, .lab , 192.0.2.0/24,198.51.100.7,2001:db8::/32,10.0.0.0/8x";
        let proxies = proxies(&[("all_proxy", "p"), ("no_proxy", direct)]);
        let goes_direct = |host: &str| of(&proxies, &format!("http://{host}/")) == "none";
        for host in
            ["example.org", "a.Example.org", "lab", "a.lab", "192.0.2.9", "198.51.100.7", "[2001:db8::1]"]
        {
            assert!(goes_direct(host), "{host}");
        }
        for host in
            ["badexample.org", "org", "xlab", "192.0.3.9", "198.51.100.8", "[2001:db9::1]", "10.1.1.1"]
        {
            assert!(!goes_direct(host), "{host}");
        }
        assert!(is_in("10.1.1.1".parse().unwrap(), "0.0.0.0/0") && is_meant("*", "10.1.1.1"));
        assert!(!is_meant("", "host") && is_in("::1".parse().unwrap(), "::/0"));
    }
}
