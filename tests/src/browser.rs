//! A real browser, driven over WebDriver: headless Chromium behind its own `chromedriver`.
//!
//! The protocol is JSON over HTTP, so this uses the raw client on one persistent connection. Each browser has an empty
//! profile, cannot resolve any name, and records its requests and console messages. If Chromium or chromedriver is missing,
//! tests fail under `CI=true` and print a loud message elsewhere.

use std::cell::RefCell;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::eventually;
use crate::http::{Request, Response};

/// The keys without a letter, as WebDriver encodes them.
pub mod keys {
    /// Tab.
    pub const TAB: char = '\u{E004}';
    /// Enter.
    pub const ENTER: char = '\u{E007}';
    /// Shift.
    pub const SHIFT: char = '\u{E008}';
    /// Control.
    pub const CONTROL: char = '\u{E009}';
    /// Alt.
    pub const ALT: char = '\u{E00A}';
    /// Escape.
    pub const ESCAPE: char = '\u{E00C}';
    /// End.
    pub const END: char = '\u{E010}';
    /// Up.
    pub const UP: char = '\u{E013}';
    /// Down.
    pub const DOWN: char = '\u{E015}';
}

const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ARGUMENTS: [&str; 16] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    // A microphone that hums, and a person who allows it.
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,860",
    // Pretends that there is a mouse, which a headless machine may lack.
    "--blink-settings=primaryPointerType=4,availablePointerTypes=4,primaryHoverType=2,availableHoverTypes=2",
    // Only this machine can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];
/// The time limit for starting; a browser on a busy machine may be slow.
const START: Duration = Duration::from_secs(60);
/// The prelude of every script: the first element of a selector, all of them, and whether one is visible.
const WORDS: &str = "const one = (s) => document.querySelector(s), all = (s) => [...document.querySelectorAll(s)], \
    shown = (e) => Boolean(e?.checkVisibility({visibilityProperty: true}));";
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window, closed on drop.
pub struct Browser {
    wire: RefCell<Wire>,
    session: String,
    /// The requests made since the start, and the console messages.
    asked: RefCell<Vec<String>>,
    complaints: RefCell<Vec<String>>,
    chromium: Option<rustix::process::Pid>,
    driver: Driver,
    profile: TempDir,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// WebDriver's code, such as `no such element`.
    pub code: String,
    /// The description.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.message)
    }
}

impl Browser {
    /// Starts a browser, or reports loudly why that is impossible.
    pub fn start() -> Option<Self> {
        let (chromium, driver) = Self::programs()?;
        Some(Self::start_with(&chromium, &driver, &[]))
    }

    fn programs() -> Option<(PathBuf, PathBuf)> {
        let found = CHROMIUM.iter().find_map(|name| program(name)).zip(program("chromedriver"));
        if found.is_none() {
            let is_asked_for = std::env::var_os("CI").is_some_and(|value| value == "true");
            assert!(!is_asked_for, "the browser tests need chromium and chromedriver on the PATH");
            eprintln!(
                "\n*** SKIPPED: chromium or chromedriver is not on the PATH, so the pages were NOT tested ***\n"
            );
        }
        found
    }

    /// Starts a browser whose microphone hears this WAV file again and again.
    pub fn start_hearing(sound: &Path) -> Option<Self> {
        let (chromium, driver) = Self::programs()?;
        let argument = format!("--use-file-for-fake-audio-capture={}", sound.display());
        Some(Self::start_with(&chromium, &driver, &[&argument]))
    }

    fn start_with(chromium: &Path, driver: &Path, more: &[&str]) -> Self {
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let driver = Driver::start(driver, profile.path());
        let mut wire = Wire::open(driver.address);
        let data = format!("--user-data-dir={}", profile.path().join("chromium").display());
        let arguments: Vec<&str> =
            ARGUMENTS.into_iter().chain([data.as_str()]).chain(more.iter().copied()).collect();
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "ignore",
            "timeouts": {"script": 60_000, "pageLoad": 30_000},
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"},
            "goog:chromeOptions": {"binary": chromium, "args": arguments},
        }}});
        let made = wire.command("POST", "/session", Some(&wanted));
        let made = made.unwrap_or_else(|failure| panic!("the browser does not start: {failure}"));
        let process = made["capabilities"]["goog:processID"].as_i64().and_then(|id| i32::try_from(id).ok());
        let browser = Self {
            wire: RefCell::new(wire),
            session: made["sessionId"].as_str().expect("a session").to_owned(),
            asked: RefCell::default(),
            complaints: RefCell::default(),
            chromium: process.and_then(rustix::process::Pid::from_raw),
            driver,
            profile,
        };
        browser.resize(1280, 860);
        browser
    }

    /// Sends a WebDriver command, with a path relative to the session.
    pub fn try_command(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        self.wire.borrow_mut().command(method, &format!("/session/{}{path}", self.session), body)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.try_command("POST", path, Some(body))
            .unwrap_or_else(|failure| panic!("{path} failed: {failure}\n{}", self.state()))
    }

    /// Sends a DevTools command.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Opens an address and waits until it has loaded.
    pub fn open(&self, address: &str) {
        self.post("/url", &json!({"url": address}));
    }

    /// Reloads the page.
    pub fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// Runs a function body in the page and returns its value, awaiting promises.
    pub fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.try_run(script, arguments)
            .unwrap_or_else(|failure| panic!("a script failed: {failure}\n{script}\n{}", self.state()))
    }

    fn try_run(&self, script: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let body = json!({"script": format!("{WORDS}\n{script}"), "args": arguments});
        self.try_command("POST", "/execute/sync", Some(&body))
    }

    /// Evaluates an expression as text.
    pub fn text(&self, expression: &str) -> String {
        let value = self.run(&format!("return String({expression})"), &[]);
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Returns whether an expression is true now.
    pub fn is(&self, expression: &str) -> bool {
        self.run(&format!("return Boolean({expression})"), &[]) == true
    }

    /// Waits until an expression is true, and returns its value.
    pub fn until(&self, what: &str, expression: &str) -> Value {
        let deadline = Instant::now() + crate::http::TIMEOUT;
        let script = format!("const seen = ({expression}); return seen && [seen];");
        loop {
            // A page that is being replaced cannot be queried.
            if let Ok(Value::Array(mut seen)) = self.try_run(&script, &[]) {
                return seen.pop().unwrap_or_default();
            }
            assert!(Instant::now() < deadline, "waited in vain until {what}\n{}", self.state());
            std::thread::sleep(Duration::from_millis(15));
        }
    }

    /// Clicks the first match of a CSS selector, or of an XPath that begins with `/`, once that is possible.
    pub fn click(&self, selector: &str) {
        let mut failure = String::new();
        let deadline = Instant::now() + crate::http::TIMEOUT;
        while Instant::now() < deadline {
            let clicked = self.find(selector).and_then(|element| {
                self.try_command("POST", &format!("/element/{element}/click"), Some(&json!({})))
            });
            match clicked {
                Ok(_) => return,
                Err(reason) => failure = reason.to_string(),
            }
            std::thread::sleep(Duration::from_millis(15));
        }
        panic!("cannot click {selector}: {failure}\n{}", self.state());
    }

    /// Clicks the button with exactly this label.
    pub fn click_words(&self, words: &str) {
        self.click(&format!("//button[normalize-space()='{words}']"));
    }

    /// Selects files in a file input.
    pub fn give_files(&self, selector: &str, files: &[PathBuf]) {
        let element = self.find(selector).unwrap_or_else(|failure| panic!("{selector}: {failure}"));
        let paths: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        self.post(&format!("/element/{element}/value"), &json!({"text": paths.join("\n")}));
    }

    fn find(&self, selector: &str) -> Result<String, Failure> {
        let using = if selector.starts_with(['/', '(']) { "xpath" } else { "css selector" };
        let found =
            self.try_command("POST", "/element", Some(&json!({"using": using, "value": selector})))?;
        Ok(found[ELEMENT].as_str().expect("an element has an id").to_owned())
    }

    /// Types into the focused element, key by key.
    pub fn type_keys(&self, text: &str) {
        let strokes = text.chars().flat_map(|key| [("keyDown", key), ("keyUp", key)]);
        self.strokes(strokes.collect());
    }

    /// Presses keys together: down in order, up in reverse order.
    pub fn chord(&self, keys: &[char]) {
        let down = keys.iter().map(|key| ("keyDown", *key));
        let up = keys.iter().rev().map(|key| ("keyUp", *key));
        self.strokes(down.chain(up).collect());
    }

    fn strokes(&self, strokes: Vec<(&str, char)>) {
        let actions: Vec<Value> =
            strokes.into_iter().map(|(kind, key)| json!({"type": kind, "value": key.to_string()})).collect();
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
    }

    /// Resizes the page.
    pub fn resize(&self, width: u32, height: u32) {
        self.metrics(width, height, false);
    }

    /// Emulates a phone: this size, and touch instead of a mouse.
    pub fn become_phone(&self, width: u32, height: u32) {
        self.metrics(width, height, true);
        self.devtools("Emulation.setTouchEmulationEnabled", &json!({"enabled": true}));
    }

    fn metrics(&self, width: u32, height: u32, is_phone: bool) {
        let ratio = if is_phone { 2 } else { 1 };
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": ratio, "mobile": is_phone});
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Sets system preferences, such as `("prefers-color-scheme", "dark")`.
    pub fn prefer(&self, features: &[(&str, &str)]) {
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        self.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// The cookies of the page, including those that scripts cannot see.
    pub fn cookies(&self) -> Vec<Value> {
        let cookies = self.try_command("GET", "/cookie", None).expect("cookies can be asked for");
        cookies.as_array().cloned().unwrap_or_default()
    }

    /// The text of a dialog opened by a script, such as `alert`.
    pub fn alert(&self) -> Option<String> {
        let text = self.try_command("GET", "/alert/text", None).ok()?;
        text.as_str().map(str::to_owned)
    }

    /// Every address requested since the start, including WebSockets.
    pub fn asked(&self) -> Vec<String> {
        for entry in self.log("performance") {
            let Some(event) =
                entry["message"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok())
            else {
                continue;
            };
            let parameters = &event["message"]["params"];
            let address = match event["message"]["method"].as_str() {
                Some("Network.requestWillBeSent") => &parameters["request"]["url"],
                Some("Network.webSocketCreated") => &parameters["url"],
                _ => continue,
            };
            // Ignores requests of the browser's own pages.
            let address = address.as_str().filter(|address| !address.starts_with("chrome:"));
            self.asked.borrow_mut().extend(address.map(str::to_owned));
        }
        self.asked.borrow().clone()
    }

    /// Errors reported since the start: failed scripts and policy violations. Error responses do not count, nor does a blocked
    /// confirmation when leaving an untouched page.
    pub fn complaints(&self) -> Vec<String> {
        for entry in self.log("browser") {
            if entry["level"] == "SEVERE"
                && !["network", "intervention"].iter().any(|source| entry["source"] == *source)
            {
                self.complaints.borrow_mut().push(format!("{}: {}", entry["source"], entry["message"]));
            }
        }
        self.complaints.borrow().clone()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.post("/se/log", &json!({"type": kind}));
        entries.as_array().cloned().unwrap_or_default()
    }

    /// Saves a screenshot as PNG.
    pub fn shoot(&self, path: &Path) {
        let picture = self.try_command("GET", "/screenshot", None).expect("a picture is taken");
        let bytes = BASE64_STANDARD.decode(picture.as_str().expect("base64")).expect("base64");
        std::fs::write(path, bytes).expect("the picture can be written");
    }

    /// A folder that is removed with the browser.
    pub fn folder(&self) -> &Path {
        self.profile.path()
    }

    /// The state of the page and the console messages, for failure messages.
    fn state(&self) -> String {
        let shown = "return `${location.href} “${document.title}”\\n${document.body?.innerText}`";
        let page = self.try_run(shown, &[]).ok().and_then(|text| text.as_str().map(str::to_owned));
        let said: Vec<String> = match self.try_command("POST", "/se/log", Some(&json!({"type": "browser"}))) {
            Ok(entries) => {
                entries.as_array().into_iter().flatten().map(|entry| entry["message"].to_string()).collect()
            }
            Err(failure) => vec![failure.to_string()],
        };
        format!("--- the page\n{}\n--- its console\n{}", page.unwrap_or_default(), said.join("\n"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let wire = self.wire.get_mut();
        // On this request Chromium exits with all its processes; if the request fails, they are killed.
        if wire.command("DELETE", &format!("/session/{}", self.session), None).is_err()
            && let Some(chromium) = self.chromium
        {
            let _ = rustix::process::kill_process(chromium, rustix::process::Signal::KILL);
        }
        self.driver.stop();
    }
}

/// A running `chromedriver`.
struct Driver {
    child: Child,
    address: SocketAddr,
    /// Held open so that chromedriver can keep writing.
    _stdout: BufReader<ChildStdout>,
}

impl Driver {
    fn start(path: &Path, folder: &Path) -> Self {
        let mut child = Command::new(path)
            .arg("--port=0")
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let port = loop {
            let mut line = String::new();
            let length = stdout.read_line(&mut line).expect("stdout can be read");
            assert!(length > 0, "chromedriver ended before it listened");
            let Some((_, port)) = line.split_once("started successfully on port ") else { continue };
            break port.trim().trim_end_matches('.').parse().expect("a port");
        };
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), _stdout: stdout }
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A persistent connection to `chromedriver`.
struct Wire {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Wire {
    fn open(address: SocketAddr) -> Self {
        let stream = eventually("chromedriver accepts connections", || TcpStream::connect(address).ok());
        stream.set_read_timeout(Some(START)).expect("a time-out can be set");
        stream.set_nodelay(true).expect("TCP_NODELAY can be set");
        Self { address, stream: BufReader::new(stream) }
    }

    fn command(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let mut request = Request::new(method, path);
        if let Some(body) = body {
            request =
                request.header("Content-Type", "application/json; charset=utf-8").body(body.to_string());
        }
        let answer = self.stream.get_mut().write_all(&request.bytes(self.address));
        let answer = answer.and_then(|()| Response::read(&mut self.stream, false));
        let answer =
            answer.map_err(|error| Failure { code: "no answer".into(), message: error.to_string() })?;
        let value = answer.json()["value"].take();
        if answer.status < 400 {
            return Ok(value);
        }
        let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Err(Failure { code: word("error"), message: word("message") })
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}
