//! The chat page as a person sees it: messages, answers and buttons.

use std::sync::Arc;

use aethon_tests::browser::keys::{ENTER, SHIFT};
use aethon_tests::{Browser, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server and a browser that shows its chat.
pub(crate) struct Page {
    /// The browser; closed before the server ends.
    pub(crate) browser: Browser,
    server: Option<Server>,
    origin: String,
}

/// An exchange on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The person's message.
    pub(crate) said: String,
    /// The answer without tools and notes.
    pub(crate) reply: String,
    /// What stands under the message and under the reply.
    pub(crate) state: String,
    /// Whether the reply is still streaming.
    pub(crate) is_live: bool,
}

impl Page {
    /// Opens the chat of a new server with these settings; nothing where there is no browser.
    pub(crate) fn open(settings: &[&str]) -> Option<Self> {
        let page = Self::beside(Server::start(settings))?;
        page.go("/");
        page.until("the page is connected", "shown(one('#message')) && !one('.skeleton')");
        Some(page)
    }

    /// A browser beside this server, with nothing opened yet.
    pub(crate) fn beside(server: Server) -> Option<Self> {
        Some(Self::with(Browser::start()?, server))
    }

    /// This browser beside this server, with nothing opened yet.
    pub(crate) fn with(browser: Browser, server: Server) -> Self {
        let origin = format!("http://{}", server.address);
        Self { browser, server: Some(server), origin }
    }

    /// Another browser on the same server, with nothing opened yet.
    pub(crate) fn another(&self) -> Option<Self> {
        Some(Self { browser: Browser::start()?, server: None, origin: self.origin.clone() })
    }

    /// The server.
    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("the server runs")
    }

    /// Kills the server as a power cut would.
    pub(crate) fn kill_server(&mut self) -> Arc<TempDir> {
        self.server.take().expect("the server runs").kill()
    }

    /// Ends the server as an update would, and waits until it is gone.
    pub(crate) fn terminate_server(&mut self) -> Arc<TempDir> {
        let server = self.server.take().expect("the server runs");
        let home = server.home();
        assert!(server.terminate().success(), "it ends in order");
        home
    }

    /// Starts it again in its home, where it was.
    pub(crate) fn start_server(&mut self, home: Arc<TempDir>) {
        self.start_server_with(home, &[]);
    }

    /// The same with these settings.
    pub(crate) fn start_server_with(&mut self, home: Arc<TempDir>, settings: &[&str]) {
        let port = self.origin.rsplit(':').next().expect("an origin has a port");
        let port = format!("channels.webchat.port={port}");
        let settings: Vec<&str> = settings.iter().copied().chain([port.as_str()]).collect();
        self.server = Some(Server::start_in(home, &settings));
    }

    /// Waits until the page is connected again, by its button where it has not found the server by itself.
    pub(crate) fn reconnect(&self) {
        let connected = "(shown(one('.banner')) && one('.banner button').click(), !shown(one('.banner')))";
        self.until("the page is connected", connected);
    }

    /// Opens a path of the server.
    pub(crate) fn go(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.origin));
    }

    /// Waits until an expression is true, and returns its value.
    pub(crate) fn until(&self, what: &str, expression: &str) -> Value {
        self.browser.until(what, expression)
    }

    /// Says something: written at once, sent by Enter, or on a phone by the button.
    pub(crate) fn say(&self, text: &str) {
        self.fill("#message", text);
        if self.browser.is("matchMedia('(pointer: coarse)').matches") {
            self.browser.click(".send");
        } else {
            self.browser.chord(&[ENTER]);
        }
    }

    /// Says something that is answered by a long stream, and waits until that has begun.
    pub(crate) fn begin_stream(&self, text: &str) {
        self.say(text);
        self.until("it begins", "one('.turn[data-live] .prose')?.innerText.includes('token3')");
    }

    /// Shows the chat as a phone of this size does.
    pub(crate) fn become_phone(&self, width: u32, height: u32) {
        self.browser.become_phone(width, height);
        self.browser.reload();
        self.until("the page is there", "shown(one('.welcome')) && matchMedia('(pointer: coarse)').matches");
    }

    /// Says something and waits for the end of the reply.
    pub(crate) fn ask(&self, text: &str) -> Turn {
        let before = self.turns().len();
        self.say(text);
        self.until("the message is on the page", &format!("all('.turn').length > {before}"));
        self.settled()
    }

    /// Waits until no reply streams, and returns the last turn.
    pub(crate) fn settled(&self) -> Turn {
        self.until("every reply has ended", "all('.turn').length > 0 && !one('.turn[data-live]')");
        self.turns().pop().expect("there is a turn")
    }

    /// Puts text into a box and the focus as well.
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        self.until("the box is there", &format!("shown(one('{selector}'))"));
        let script = "const box = one(arguments[0]); box.focus(); box.value = arguments[1];
            box.dispatchEvent(new Event('input', {bubbles: true}));";
        self.browser.run(script, &[json!(selector), json!(text)]);
    }

    /// Types a message of several lines, key by key, and leaves it unsent.
    pub(crate) fn type_lines(&self, text: &str) {
        for (number, line) in text.lines().enumerate() {
            if number > 0 {
                self.browser.chord(&[SHIFT, ENTER]);
            }
            self.browser.type_keys(line);
        }
    }

    /// Reads the conversation from the view to the end, as far as messages begin with `message N`, and returns the numbers.
    pub(crate) fn read_down(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        // Piece by piece, because a script has a limit of time.
        for _ in 0..30 {
            let read = self.browser.run(
                "const view = one('.transcript'), until = performance.now() + 10000;
                const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                const numbers = new Set();
                for (let before = -1; performance.now() < until;) {
                    for (const said of all('.said-text')) {
                        const { top, bottom } = said.getBoundingClientRect(), edge = view.getBoundingClientRect();
                        const number = Number(/^message ([0-9]+)/.exec(said.textContent)?.[1]);
                        if (number && bottom > edge.top - 20 && top < edge.bottom + 20) numbers.add(number);
                    }
                    if (view.scrollTop === before) return { numbers: [...numbers], isEnd: true };
                    before = view.scrollTop;
                    view.scrollTop += view.clientHeight * 0.7;
                    await drawn();
                }
                return { numbers: [...numbers], isEnd: false };",
                &[],
            );
            for number in read["numbers"].as_array().expect("a list").iter().filter_map(Value::as_u64) {
                // The next piece begins where the last one ended.
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            if read["isEnd"] == true {
                return numbers;
            }
        }
        panic!("the end was not reached");
    }

    /// The exchanges on the page.
    pub(crate) fn turns(&self) -> Vec<Turn> {
        let script = "const words = (root, s) => [...root.querySelectorAll(s)].map((e) => e.innerText.trim()).join('\\n');
            return all('.turn').map((turn) => [words(turn, '.said .said-text'), words(turn, '.reply-parts > .prose'),
                words(turn, '.said-state, .aside-line, .reply > div:last-child > :not(.actions)'), turn.hasAttribute('data-live')])";
        let turns = self.browser.run(script, &[]);
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let read = |turn: &Value| Turn {
            said: word(&turn[0]),
            reply: word(&turn[1]),
            state: word(&turn[2]),
            is_live: turn[3] == true,
        };
        turns.as_array().expect("a list of turns").iter().map(read).collect()
    }

    /// The focused element: its tag, and its name or its words.
    pub(crate) fn focused(&self) -> String {
        let script = "const e = document.activeElement;
            return `${e.tagName.toLowerCase()} ${e.ariaLabel ?? e.innerText}`.trim()";
        self.browser.run(script, &[]).as_str().unwrap_or_default().to_owned()
    }

    /// Every test ends with this: all requests went to the server, no script failed, and nothing had to be
    /// stopped by the policy.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.browser.alert(), None, "a dialog of a script is open");
        let socket = self.origin.replacen("http", "ws", 1);
        // The browser's own start page asks for things as well; no page of ours can ask at this scheme.
        let start_page = "chrome-untrusted:".to_owned();
        let own =
            [format!("{}/", self.origin), format!("{socket}/"), "data:".into(), "blob:".into(), start_page];
        let foreign = |address: &String| !own.iter().any(|own| address.starts_with(own));
        let foreign: Vec<String> = self.browser.asked().into_iter().filter(foreign).collect();
        assert!(foreign.is_empty(), "the page asked for {foreign:?}");
        let complaints = self.browser.complaints();
        assert!(complaints.is_empty(), "the browser complained: {complaints:#?}");
    }
}

/// What `!stream COUNT MS` answers.
pub(crate) fn tokens(count: u32) -> String {
    let tokens: Vec<String> = (1..=count).map(|number| format!("token{number}")).collect();
    tokens.join(" ")
}
