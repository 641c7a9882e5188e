//! A mail channel between a mailbox and an SMTP server of our own.

use std::time::Duration;

use aethon_channels::email::{self, Options, Server};
use aethon_channels::{Messenger, Rules};
use aethon_core::channel::{Channel as _, Delivery, NewDelivery};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::secret::Secret;
use aethon_core::shutdown::ShutdownTrigger;
use jiff::Timestamp;

use super::{Mailbox, PASSWORD, PROVEN, Post, letter};
use crate::common::{TestServices, rules, soon};

pub fn options(mailbox: &Mailbox, post: &Post) -> Options {
    Options {
        imap: Server { host: "127.0.0.1".into(), port: mailbox.port },
        smtp: Server { host: "localhost".into(), port: post.port },
        tls: false,
        username: "bot@home.example".into(),
        password: Secret::new(PASSWORD),
        tokens: None,
        from: "Aethon <bot@home.example>".into(),
        authserv_id: "mx.home.example".into(),
        trust_from: false,
        poll: Duration::from_millis(20),
        folder: "INBOX".into(),
    }
}

pub fn known() -> Rules {
    Rules { allowed: Live::new(vec!["ada@x.example".into()]), streams: false, ..rules("email") }
}

pub struct Bench {
    pub services: TestServices,
    pub mailbox: Mailbox,
    pub post: Post,
}

impl Bench {
    pub async fn new() -> Self {
        Self { services: TestServices::new(), mailbox: Mailbox::start().await, post: Post::start().await }
    }

    pub fn channel(&self) -> Messenger {
        self.channel_with(known(), |options| options)
    }

    pub fn channel_with(&self, rules: Rules, change: impl FnOnce(Options) -> Options) -> Messenger {
        email::channel(change(options(&self.mailbox, &self.post)), rules, self.services.services())
    }

    /// Runs the channel until so many messages were submitted in all and the mailbox is idle.
    pub async fn run_until(&self, count: usize) -> Vec<String> {
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (channel, assistant) = (self.channel(), self.services.assistant.clone());
        let running = tokio::spawn(async move { channel.run(assistant, shutdown).await });
        soon("the messages arrive", || self.services.assistant.count() >= count).await;
        self.mailbox.quiet().await;
        trigger.trigger();
        running.await.unwrap().unwrap();
        self.services.assistant.texts()
    }
}

impl Bench {
    /// Runs the channel until a mail of another sender, which comes last, has arrived.
    pub async fn run_to_marker(&self, number: u32) {
        let text = format!("marker {number}");
        self.mailbox.put(&letter(number, PROVEN, "bob@x.example", &text));
        let rules = Rules {
            allowed: Live::new(vec![
                "ada@x.example".into(),
                "bob@x.example".into(),
                email::canonical("Ada@Bücher.example"),
                email::canonical("jürgen@x.example"),
            ]),
            home: Some("owner@home.example".into()),
            stale_after: Duration::from_secs(24 * 3600),
            ..known()
        };
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (channel, assistant) =
            (self.channel_with(rules, |options| options), self.services.assistant.clone());
        let running = tokio::spawn(async move { channel.run(assistant, shutdown).await });
        soon("the last one arrives", || {
            self.services.assistant.texts().iter().any(|said| said.contains(&text))
        })
        .await;
        trigger.trigger();
        running.await.unwrap().unwrap();
    }
}

pub fn delivery(id: i64, to: &str, text: &str) -> Delivery {
    let content = NewDelivery::new("email", text, Timestamp::MAX).with_recipient(Some(to.into()));
    let session = SessionId::of("email", to).unwrap();
    Delivery::new(id, session, TurnId::existing("0198"), content.as_reply(true))
}
