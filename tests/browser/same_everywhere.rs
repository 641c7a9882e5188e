//! One conversation on two pages, a phone and a terminal at once: what one of them does, all of them show.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use aethon_tests::browser::keys::{CONTROL, ENTER};
use aethon_tests::{Server, Terminal, program};

use crate::page::{Page, Turn};

const SETTINGS: [&str; 3] = [
    "approval.enabled=true",
    "approval.requires_approval=[\"file_read\"]",
    "model.named.second={ model_id = \"fake-2\" }",
];
/// The limit for a busy machine; on a quiet one, everything is there within a second.
const LIMIT: Duration = Duration::from_secs(5);
const LAST: &str = "all('.reply .prose').at(-1)?.innerText";

/// Everything that shows the conversation.
struct Devices {
    /// The first belongs to the server, the last is a phone.
    pages: [Page; 3],
    terminal: Terminal,
    /// How long the slowest page took for each step.
    took: RefCell<Vec<(String, Duration)>>,
}

impl Devices {
    fn open() -> Option<Self> {
        let first = Page::beside(Server::start(&SETTINGS))?;
        let mut terminal =
            Terminal::start_sized(program("aethon-cli", first.server().home().path()).arg("chat"), 100, 60);
        terminal.wait_for_prompt();
        let (second, phone) = (first.another()?, first.another()?);
        phone.browser.become_phone(390, 844);
        let pages = [first, second, phone];
        for page in &pages {
            page.go("/#/default");
            page.until("the page is connected", "shown(one('#message')) && !one('.skeleton')");
        }
        Some(Self { pages, terminal, took: RefCell::default() })
    }

    /// Waits until every page shows this and all show the same exchanges.
    fn show(&self, what: &str, expression: &str) {
        let begun = Instant::now();
        for page in &self.pages {
            page.until(what, expression);
        }
        // A reply that streams is at another word on each.
        // Who allowed a call is "you" on one and "elsewhere" on the others.
        let of = |turn: Turn| Turn { state: String::new(), ..turn };
        let shown = || {
            [0, 1, 2].map(|number: usize| self.pages[number].turns().into_iter().map(of).collect::<Vec<_>>())
        };
        let is_same = |shown: &[Vec<Turn>; 3]| {
            let is_live = shown.iter().flatten().any(|turn| turn.is_live);
            is_live || shown[0] == shown[1] && shown[0] == shown[2]
        };
        while !is_same(&shown()) {
            assert!(begun.elapsed() < LIMIT, "{what}: {:#?}", shown());
        }
        let took = begun.elapsed();
        assert!(took < LIMIT, "{what}: {took:?}");
        self.took.borrow_mut().push((what.to_owned(), took));
    }

    /// The terminal shows this below what it has shown before.
    fn print(&mut self, text: &str) {
        let begun = Instant::now();
        self.terminal.wait_for_text(text);
        assert!(begun.elapsed() < LIMIT, "{text}: {:?}", begun.elapsed());
    }
}

fn stop_and_retry(devices: &mut Devices) {
    devices.pages[2].say("!say one");
    devices.show("what the phone asked", &format!("{LAST} === 'one' && !one('[data-live]')"));
    devices.print("elsewhere: !say one");

    devices.pages[0].say("!stream 3000 20");
    devices.show("a reply that streams", &format!("/token9 /.test({LAST}) && one('[data-live]')"));
    devices.pages[1].browser.click("[aria-label=Stop]");
    devices.show(
        "that it was stopped",
        "!one('[data-live]') && /You stopped this reply/.test(all('.turn').at(-1).innerText)",
    );
    devices.print("(stopped)");

    devices.pages[0].say("!say two");
    devices.show("the next reply", &format!("{LAST} === 'two' && !one('[data-live]')"));
    devices.print("elsewhere: !say two");
    devices.pages[2].browser.click(".turn:last-child .reply [aria-label='Answer again']");
    devices.show(
        "a second version",
        "/2 of 2/.test(one('.turn:last-child .versions')?.innerText) && !one('[data-live]')",
    );
    devices.print("two");
}

fn edit_and_turn_back(devices: &mut Devices) {
    let first = &devices.pages[0];
    first.browser.click(".turn:last-child [aria-label='Edit your message']");
    first.until("it is open", "document.activeElement.matches('.edit-box textarea')");
    first.browser.chord(&[CONTROL, 'a']);
    first.browser.type_keys("!say three");
    first.browser.chord(&[ENTER]);
    devices.show("what was edited", &format!("{LAST} === 'three' && !one('[data-live]')"));
    devices.print("elsewhere: !say three");
    devices.pages[1].browser.click(".turn:last-child [aria-label='Previous version']");
    devices.show("the version before", &format!("{LAST} === 'two' && all('.turn').length === 3"));
    devices.print("another version of a message was chosen");
}

fn model_and_approval(devices: &mut Devices) {
    devices.terminal.enter("/model second");
    devices.show("the model that the terminal chose", "one('.composer-model').innerText.trim() === 'second'");
    devices.terminal.wait_for_prompt();

    devices.terminal.enter("!tool file_read {\"path\": \"notes.txt\"}");
    devices.show("the question", "shown(one('.approval:not(.approval-settled) .approval-actions'))");
    devices.print("run it?");
    let allow = "(all('.approval-actions button').find((press) => press.innerText === 'Allow once')?.click(), !one('.approval-actions'))";
    devices.pages[2].until("the press counts", allow);
    devices.show(
        "the decision",
        "/You allowed this|Allowed elsewhere/.test(all('.approval').at(-1)?.innerText) && !one('[data-live]')",
    );
    devices.print("milk and honey");
    devices.terminal.wait_for_prompt();
}

#[test]
fn two_pages_a_phone_and_a_terminal_show_the_same() {
    let Some(mut devices) = Devices::open() else { return };
    let notes = devices.pages[0].server().home().path().join("workspace/notes.txt");
    std::fs::write(notes, "milk and honey\n").unwrap();
    stop_and_retry(&mut devices);
    edit_and_turn_back(&mut devices);
    model_and_approval(&mut devices);

    let home = devices.pages[0].kill_server();
    for page in &devices.pages {
        page.until("the page says so", "shown(one('.banner'))");
    }
    devices.pages[0].start_server_with(home, &SETTINGS);
    for page in &devices.pages {
        page.reconnect();
    }
    devices.show("the same after a restart", "all('.turn').length === 5 && !one('[data-live]')");
    devices.terminal.enter("!say after");
    devices.show("what the terminal says then", &format!("{LAST} === 'after' && !one('[data-live]')"));
    devices.terminal.wait_for_prompt();
    for page in &devices.pages {
        page.assert_clean();
    }
    for (what, took) in devices.took.take() {
        eprintln!("{what}: {} ms", took.as_millis());
    }
}
