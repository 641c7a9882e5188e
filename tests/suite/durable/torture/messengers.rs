//! The messengers: three fake services, and people who write there and look at what stands in their chats.

use aethon_tests::connection_faults::ConnectionFaults;
use aethon_tests::discord::Discord;
use aethon_tests::matrix::Matrix;
use aethon_tests::telegram::Telegram;

/// How many people there are on each.
pub(super) const PEOPLE: usize = 4;

/// A messenger as people see it.
pub(super) trait Messenger: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether it shows a repeated message once.
    fn knows_repetitions(&self) -> bool;

    /// A person writes.
    fn say(&self, person: usize, text: &str);

    /// Whether a message of the assistant to a person ends like this.
    fn shows(&self, person: usize, ending: &str) -> bool;

    /// What stands there of the assistant, oldest first.
    fn shown(&self, person: usize) -> Vec<String>;

    /// Its connections that break.
    fn faults(&self) -> &ConnectionFaults;
}

/// All of them.
pub(super) struct Messengers {
    pub(super) telegram: Telegram,
    pub(super) matrix: Matrix,
    pub(super) discord: Discord,
}

impl Messengers {
    pub(super) fn start() -> Self {
        let own = Self { telegram: Telegram::start(), matrix: Matrix::start(), discord: Discord::start() };
        for person in 0..PEOPLE {
            own.matrix.room(&room(person), &format!("@person{person}:test"));
        }
        own
    }

    pub(super) fn all(&self) -> [&dyn Messenger; 3] {
        [&self.telegram, &self.matrix, &self.discord]
    }

    /// The settings by which a server uses them.
    pub(super) fn settings(&self) -> Vec<String> {
        let list = |one: &dyn Fn(usize) -> String| (0..PEOPLE).map(one).collect::<Vec<_>>().join(",");
        let mut settings =
            [self.telegram.settings(), self.matrix.settings(), self.discord.settings()].concat();
        settings.extend([
            format!(
                "security.allowed_senders.telegram=[{}]",
                list(&|person| format!("\"{}\"", chat(person)))
            ),
            format!(
                "security.allowed_senders.matrix=[{}]",
                list(&|person| format!("\"@person{person}:test\""))
            ),
            format!("security.allowed_senders.discord=[{}]", list(&|person| format!("\"{}\"", user(person)))),
        ]);
        settings
    }

    /// Waits until messages count: those from before the first start are history.
    pub(super) fn await_all(&self) {
        self.telegram.await_poll();
        self.matrix.await_sync();
        self.discord.await_session();
    }
}

fn chat(person: usize) -> i64 {
    42 + i64::try_from(person).expect("a few people")
}

fn room(person: usize) -> String {
    format!("!room{person}:test")
}

fn user(person: usize) -> String {
    (100 + person).to_string()
}

fn channel(person: usize) -> String {
    (7000 + person).to_string()
}

impl Messenger for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn knows_repetitions(&self) -> bool {
        false
    }

    fn say(&self, person: usize, text: &str) {
        Self::say(self, chat(person), text);
    }

    fn shows(&self, person: usize, ending: &str) -> bool {
        Self::shows(self, chat(person), ending)
    }

    fn shown(&self, person: usize) -> Vec<String> {
        self.chat(chat(person)).iter().map(|posted| posted.text().trim_end().to_owned()).collect()
    }

    fn faults(&self) -> &ConnectionFaults {
        &self.faults
    }
}

impl Messenger for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn knows_repetitions(&self) -> bool {
        true
    }

    fn say(&self, person: usize, text: &str) {
        Self::say(self, &room(person), text);
    }

    fn shows(&self, person: usize, ending: &str) -> bool {
        Self::shows(self, &room(person), ending)
    }

    fn shown(&self, person: usize) -> Vec<String> {
        self.posted(&room(person)).iter().map(|posted| posted.text().trim_end().to_owned()).collect()
    }

    fn faults(&self) -> &ConnectionFaults {
        &self.faults
    }
}

impl Messenger for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn knows_repetitions(&self) -> bool {
        true
    }

    fn say(&self, person: usize, text: &str) {
        Self::say(self, &channel(person), &user(person), text);
    }

    fn shows(&self, person: usize, ending: &str) -> bool {
        Self::shows(self, &channel(person), ending)
    }

    fn shown(&self, person: usize) -> Vec<String> {
        self.posted(&channel(person)).iter().map(|posted| posted.text().trim_end().to_owned()).collect()
    }

    fn faults(&self) -> &ConnectionFaults {
        &self.faults
    }
}
