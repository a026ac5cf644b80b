//! A real headless browser: Chromium, controlled by chromedriver (W3C WebDriver, JSON over HTTP).

use crate::timeouts;
use crate::{Background, Run, Scratch, skip};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

/// A browser with one page. It is closed on drop.
#[derive(Debug)]
pub struct Browser {
    port: u16,
    session: String,
    // Kept for drop: ending the driver ends the browser too.
    _driver: Background,
    _profile: Scratch,
}

impl Browser {
    /// Starts a browser; call [`need!`](crate::need) for "chromium" and "chromedriver" first.
    #[track_caller]
    pub fn start() -> Self {
        let profile = Scratch::new();
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port").port();
        let run = Run::new("chromedriver", "--log-level=OFF").arg(format!("--port={port}"));
        let driver = Background::start(&run, || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).into();
        arguments.push(format!("--user-data-dir={}", profile.path("profile").display()));
        if rustix::process::geteuid().is_root() {
            arguments.push("--no-sandbox".to_owned());
        }
        let binary = skip::find("chromium").unwrap_or_default();
        let mut browser = Self { port, session: String::new(), _driver: driver, _profile: profile };
        let made = browser.post(
            "/session",
            &json!({"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"binary": binary, "args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"},
            }}}),
        );
        browser.session = made["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    /// Opens a file.
    #[track_caller]
    pub fn open(&self, page: &Path) {
        let url = format!("file://{}", page.display());
        self.tell("url", &json!({ "url": url }));
    }

    /// Sets the window's size, such as a phone's or a desktop's.
    #[track_caller]
    pub fn size(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets the preferred colour scheme ("light", "dark") and the medium ("screen", "print").
    #[track_caller]
    pub fn prefers(&self, scheme: &str, medium: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", &json!({"media": medium, "features": features}));
    }

    /// Presses and releases a key: "Tab", "Enter", "ArrowRight".
    #[track_caller]
    pub fn press(&self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "ArrowRight" => (39, ""),
            _ => panic!("no key is called {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.devtools("Input.dispatchKeyEvent", &event);
        }
    }

    /// Runs a function with this body in the page and returns its result.
    #[track_caller]
    pub fn script(&self, body: &str) -> Value {
        self.tell("execute/sync", &json!({"script": body, "args": []}))
    }

    /// All console messages of the page since the last call.
    #[track_caller]
    pub fn console(&self) -> Vec<Value> {
        self.tell("se/log", &json!({"type": "browser"})).as_array().cloned().unwrap_or_default()
    }

    #[track_caller]
    fn devtools(&self, command: &str, parameters: &Value) {
        self.tell("goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    #[track_caller]
    fn tell(&self, what: &str, body: &Value) -> Value {
        self.post(&format!("/session/{}/{what}", self.session), body)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.request("POST", path, &body.to_string())
    }

    #[track_caller]
    fn request(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = exchange(self.port, method, path, body).unwrap_or_else(|e| panic!("{path}: {e}"));
        let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let answer: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{path}: {e}: {answer}"));
        assert!(answer["value"]["error"].is_null(), "{path}: {answer}");
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without this the browser would outlive its driver.
        let _ = exchange(self.port, "DELETE", &format!("/session/{}", self.session), "");
    }
}

/// No window, no background traffic, no state from earlier runs.
const ARGUMENTS: [&str; 7] = [
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
];

/// Sends one request on a new connection; returns head and body of the answer.
fn exchange(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(timeouts::scaled(timeouts::EVENT)))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    let mut answer = Vec::new();
    let mut piece = [0; 65536];
    // The driver keeps the connection open regardless of the request's headers.
    while !is_whole(&answer) {
        match stream.read(&mut piece)? {
            0 => break,
            count => answer.extend_from_slice(&piece[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&answer[..head]).to_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    length.is_some_and(|length| answer.len() >= head + 4 + length)
}
