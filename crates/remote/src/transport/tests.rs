//! Requests to a local server that answers from a script.

use super::*;
use crate::credentials::Lender;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};
use tokio::runtime::Builder;

/// A server that records the requests it receives. A response with `Connection: close`, or an empty
/// one, closes the connection; a response prefixed with `cut ` closes it without notice.
struct Scripted {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Scripted {
    fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heads, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let (noted, counted, answer) = (Arc::clone(&heads), Arc::clone(&connections), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let (noted, answer) = (Arc::clone(&noted), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream);
                    while let Some(head) = head(&mut stream) {
                        let text = answer(&head);
                        noted.lock().unwrap().push(head);
                        let sent = text.strip_prefix("cut ").unwrap_or(&text);
                        stream.get_mut().write_all(sent.as_bytes()).unwrap();
                        if sent.len() < text.len() || text.contains("Connection: close") || text.is_empty() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, heads, connections }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn head(stream: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

fn with_body(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}

fn transport(proxies: Proxies) -> Transport {
    Transport { proxies, ..Transport::new(false, Duration::from_secs(20)).unwrap() }
}

/// The texts at `urls`, one after the other.
fn texts(transport: &Transport, urls: &[Url]) -> Vec<String> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let one = |url: &Url| {
        thread::sleep(Duration::from_millis(20));
        let text = runtime.block_on(transport.text(Request::new(Method::GET, url.clone())));
        text.unwrap_or_else(|cause| cause.to_string())
    };
    urls.iter().map(one).collect()
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let server = Scripted::start(|_| with_body("bytes"));
    assert_eq!(texts(&transport(Proxies::default()), &[server.url("/a"), server.url("/b")]), ["bytes"; 2]);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    assert!(server.heads()[1].starts_with("GET /b HTTP/1.1\r\n"), "{:?}", server.heads());
    assert!(server.heads()[1].contains("user-agent: keyway/"), "{:?}", server.heads());

    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbytes".to_owned();
    for answer in [closing, format!("cut {}", with_body("bytes"))] {
        let server = Scripted::start(move |_| answer.clone());
        assert_eq!(texts(&transport(Proxies::default()), &[server.url("/"), server.url("/")]), ["bytes"; 2]);
        assert_eq!(server.connections.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn pieces_of_unknown_length_come_together() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\n two\r\n0\r\n\r\n";
    let server = Scripted::start(move |_| chunked.to_owned());
    assert_eq!(texts(&transport(Proxies::default()), &[server.url("/"), server.url("/")]), ["one two"; 2]);
    let server = Scripted::start(|_| with_body("").replace(": 0", ": 5") + "three, and more");
    assert_eq!(texts(&transport(Proxies::default()), &[server.url("/")]), ["three"]);
    let server = Scripted::start(|_| with_body(&"x".repeat(LONGEST_TEXT + 1)));
    assert!(texts(&transport(Proxies::default()), &[server.url("/")])[0].contains("more of them"));
    let server = Scripted::start(|_| String::new());
    assert!(texts(&transport(Proxies::default()), &[server.url("/")])[0].contains("the connection failed"));
}

#[test]
fn proxies_are_asked() {
    let proxy = Scripted::start(|head| match head.starts_with("CONNECT") {
        true => "HTTP/1.1 403 Forbidden\r\n\r\n".to_owned(),
        false => with_body("by proxy"),
    });
    let named = proxy.url("/").as_str().replace("http://", "http://me:x@");
    let value = move |name: &str| (name == "all_proxy").then(|| named.clone());
    let transport = transport(Proxies::read(value));
    let urls = ["http://far.example/x?y", "https://far.example/"].map(|url| Url::parse(url).unwrap());
    let said = texts(&transport, &urls);
    assert_eq!(said, ["by proxy", "the server cannot be reached: the proxy refuses (status 403)"]);
    let heads = proxy.heads();
    assert!(
        heads[0].starts_with("GET http://far.example/x?y HTTP/1.1\r\nhost: far.example\r\n"),
        "{heads:?}"
    );
    assert!(
        heads[1].starts_with("CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n"),
        "{heads:?}"
    );
    for head in heads {
        assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic bwu6ea=="), "{head}");
    }
}

const LENT: &str = r#"{"AccessKeyId": "AKI", "SecretAccessKey": "s", "Token": "t",
    "Expiration": "9999-01-01T00:00:00Z"}"#;

/// The keys issued by `lender`, or the error.
fn lent(lender: &Lender) -> String {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    match runtime.block_on(lender.ask(&transport(Proxies::default()))) {
        Ok((keys, _)) => format!("{} {}", keys.id, keys.token().unwrap_or("-")),
        Err(cause) => cause.to_string(),
    }
}

#[test]
fn a_machine_in_the_cloud_gets_keys() {
    let role = "/latest/meta-data/iam/security-credentials/";
    let answer = move |head: &str| match head.split(' ').collect::<Vec<_>>()[..2] {
        ["PUT", "/latest/api/token"] => with_body("token"),
        ["GET", path] if path == role => with_body("lab"),
        ["GET", path] if path.strip_prefix(role) == Some("lab") => with_body(LENT),
        _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
    };
    let instance = |server: &Scripted, without_token| Lender::Instance {
        service: format!("http://{}", server.address),
        without_token,
    };
    let server = Scripted::start(answer);
    assert_eq!(lent(&instance(&server, false)), "AKI t");
    let heads = server.heads();
    assert!(heads[0].contains("x-aws-ec2-metadata-token-ttl-seconds: 600"), "{heads:?}");
    assert!(heads[1..].iter().all(|head| head.contains("x-aws-ec2-metadata-token: token")), "{heads:?}");

    let old = Scripted::start(move |head| match head.starts_with("PUT") {
        true => "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_owned(),
        false => answer(head),
    });
    assert_eq!(lent(&instance(&old, true)), "AKI t");
    assert!(!old.heads()[1].contains("x-aws-ec2-metadata-token"));
    assert!(lent(&instance(&old, false)).contains("denies access (status 403"));
}

#[test]
fn containers_and_other_providers_tokens_get_keys() {
    let file = env::temp_dir().join(format!("keyway-token-{}", std::process::id()));
    fs::write(&file, "pod/token\n").unwrap();
    let token_file = file.to_str().unwrap().to_owned();
    let server = Scripted::start(|head| match head.starts_with("POST") {
        true => with_body(
            "<Credentials><SessionToken>t</SessionToken><SecretAccessKey>s</SecretAccessKey>\
             <Expiration>9999-01-01T00:00:00Z</Expiration><AccessKeyId>STS</AccessKeyId></Credentials>",
        ),
        false => with_body(LENT),
    });
    let url = server.url("/v2/keys").to_string();
    assert_eq!(lent(&Lender::Container { url: url.clone(), token_file: None }), "AKI t");
    assert_eq!(lent(&Lender::Container { url, token_file: Some(token_file.clone()) }), "AKI t");
    let service = format!("http://{}", server.address);
    let (role, session) = ("arn:aws:iam::1:role/lab".to_owned(), "me".to_owned());
    assert_eq!(lent(&Lender::WebIdentity { service, token_file, role, session }), "STS t");
    fs::remove_file(&file).unwrap();
    let heads = server.heads();
    assert!(heads[0].starts_with("GET /v2/keys HTTP/1.1") && !heads[0].contains("authorization"));
    assert!(heads[1].contains("authorization: pod/token\r\n"), "{heads:?}");
    let asked = "POST /?Action=AssumeRoleWithWebIdentity&DurationSeconds=3600&\
                 RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Flab&RoleSessionName=me&Version=2011-06-15&\
                 WebIdentityToken=pod%2Ftoken%0A HTTP/1.1\r\n";
    assert!(heads[2].starts_with(asked) && heads[2].contains("content-length: 0"), "{heads:?}");
    let lender = Lender::Container { url: "http://h/".into(), token_file: Some("/nowhere".into()) };
    assert!(lent(&lender).starts_with("/nowhere cannot be read"));
}

#[test]
fn of_a_refusal_only_the_code_is_kept() {
    let text = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
    assert_eq!(s3_code(text).as_deref(), Some("SignatureDoesNotMatch"));
    assert_eq!(s3_code("<Code>\u{1b}[31m</Code>"), None);
    assert_eq!(s3_code("<html>Forbidden</html>"), None);
}

#[test]
fn a_proxy_is_asked_by_whole_urls() {
    let asked = |url: &str, by_proxy: bool| {
        let login = crate::credentials::Login::take_from(&mut Url::parse("http://me:x@p/").unwrap());
        let proxy = by_proxy.then(|| Proxy { url: Url::parse("http://p/").unwrap(), login });
        let request = Request::range(Url::parse(url).unwrap(), &(5..10), None);
        let message = message(&request, proxy.as_ref()).unwrap();
        let field = |name| message.headers().get(name).map_or("", |value| value.to_str().unwrap());
        let (host, login) = (field(HOST), field(PROXY_AUTHORIZATION));
        assert_eq!(field(RANGE), "bytes=5-9");
        format!("{} {host} {login}", message.uri())
    };
    assert_eq!(asked("http://h:81/a%20b?c#d", false), "/a%20b?c h:81 ");
    assert_eq!(asked("http://[::1]:80/", false), "/ [::1] ");
    assert_eq!(asked("http://h:81/a?c#d", true), "http://h:81/a?c h:81 Basic bWU6eA==");
    // Through a tunnel a request is sent as it would be without a proxy.
    assert_eq!(asked("https://h/a", true), "/a h ");
}
