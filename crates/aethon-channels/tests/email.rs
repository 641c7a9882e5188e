//! The mail channel against an IMAP and an SMTP server of our own, on loopback, that keep to their protocols: UIDs and their
//! validity, IDLE, literals, cut connections, sign-ins; DATA with dots, and replies that get lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(
    unreachable_pub,
    dead_code,
    reason = "these modules are shared, and each program of tests uses a part"
)]

mod common;
mod mail;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use aethon_channels::Rules;
use aethon_channels::email::{Options, Server, TokenSource};
use aethon_core::channel::{Channel, ChannelState, Delivery};
use aethon_core::live::Live;
use aethon_core::message::Attachment;
use aethon_core::program::{Program, ProgramLife, Programs, RunningProgram};
use aethon_core::secret::Secret;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::testkit::CollectingTranscriber;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::soon;
use mail::bench::{Bench, delivery, known};
use mail::{PROVEN, TOKEN, letter};

#[tokio::test]
async fn mail_arrives_in_order_despite_disconnects_and_without_history() {
    let bench = Bench::new().await;
    bench.mailbox.put(&letter(0, PROVEN, "ada@x.example", "before the first start"));
    assert!(bench.run_until(0).await.is_empty(), "history is nobody's business");
    for number in 1..=5 {
        bench.mailbox.put(&letter(number, PROVEN, "ada@x.example", &format!("text {number}")));
    }
    // The connection breaks before an answer, in the middle of one, and after it.
    bench.mailbox.cut_at(&[7, 15, 24]);
    let mut texts = bench.run_until(5).await;
    // Mail that was accepted but not confirmed is delivered again; the storage recognises it by its id.
    texts.dedup();
    assert_eq!(texts, (1..=5).map(|n| format!("Subject: s{n}\n\ntext {n}")).collect::<Vec<_>>());
    assert_eq!(bench.mailbox.seen(), [2, 3, 4, 5, 6], "and only those were marked");
    // The server renumbers its mail, all of which was processed except for one unseen mail.
    bench.mailbox.renumber(&[4]);
    bench.mailbox.put(&letter(6, PROVEN, "ada@x.example", "text 6"));
    let before = bench.services.assistant.count();
    let texts = bench.run_until(before + 1).await;
    let ids: Vec<String> = bench.services.assistant.dedupe_ids();
    assert_eq!(texts.last().unwrap(), "Subject: s6\n\ntext 6");
    // The storage knows that one by its id.
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), 6, "{ids:?}");
}

#[tokio::test]
async fn new_mail_arrives_by_idle_or_by_polling() {
    for can_idle in [true, false] {
        let bench = Bench::new().await;
        bench.mailbox.can_idle(can_idle);
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (channel, assistant) = (bench.channel(), bench.services.assistant.clone());
        let running = tokio::spawn(async move { channel.run(assistant, shutdown).await });
        bench.mailbox.until("it is signed in", |mailbox| mailbox.selected > 0).await;
        if can_idle {
            bench.mailbox.until("it waits", |mailbox| mailbox.idling).await;
        }
        bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "one"));
        soon("it arrives", || bench.services.assistant.count() == 1).await;
        // The server speaks of a second one in its answer to something else.
        bench.mailbox.tell_late();
        bench.mailbox.put(&letter(2, PROVEN, "ada@x.example", "two"));
        bench.mailbox.put(&letter(3, PROVEN, "ada@x.example", "three"));
        soon("they arrive", || bench.services.assistant.count() == 3).await;
        trigger.trigger();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn mail_from_forged_senders_lists_programs_and_strangers_is_ignored() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    let failed = "Authentication-Results: mx.home.example; dmarc=fail header.from=x.example\r\n";
    bench.mailbox.put(&letter(1, "", "ada@x.example", "no word of the server"));
    bench.mailbox.put(&letter(2, failed, "ada@x.example", "failed"));
    bench.mailbox.put(&letter(3, &format!("{failed}{PROVEN}"), "ada@x.example", "a forged word below"));
    bench.mailbox.put(&letter(4, &format!("{PROVEN}List-Id: <l.example>\r\n"), "ada@x.example", "a list"));
    bench.mailbox.put(&letter(
        5,
        &format!("{PROVEN}Auto-Submitted: auto-replied\r\n"),
        "ada@x.example",
        "away",
    ));
    bench.mailbox.put(&letter(6, PROVEN, "bot@home.example", "ourselves"));
    let evil = PROVEN.replace("x.example", "evil.example");
    bench.mailbox.put(&letter(7, &evil, "eve@evil.example", "a stranger"));
    bench.mailbox.put(&letter(8, PROVEN, "ada@x.example, eve@evil.example", "two senders"));
    bench.mailbox.put(b"no mail at all");
    bench.mailbox.put(&letter(9, PROVEN, "Ada <ADA@x.example>", "hello"));
    assert_eq!(bench.run_until(1).await, ["Subject: s9\n\nhello"]);
    assert_eq!(bench.mailbox.seen(), [10], "mail of others stays as it was");
    assert!(bench.post.letters().is_empty() && bench.services.said().is_empty());
    let inbound = bench.services.assistant.first().unwrap();
    assert!(inbound.session.as_str().starts_with("email:ada@x.example:"), "{}", inbound.session);
    assert_eq!(inbound.sender, "ada@x.example");
}

#[tokio::test]
async fn mail_thread_is_one_conversation_and_replies_stay_in_it() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "first"));
    let reply =
        format!("{PROVEN}In-Reply-To: <r@home.example>\r\nReferences: <1@x.example> <r@home.example>\r\n");
    bench.mailbox.put(&letter(
        2,
        &reply,
        "ada@x.example",
        "again\r\n\r\nOn 3 Aug 2026, Bot wrote:\r\n> old\r\n-- \r\nAda",
    ));
    bench.run_until(2).await;
    let (first, second) =
        (bench.services.assistant.first().unwrap(), bench.services.assistant.last().unwrap());
    assert_eq!(first.session, second.session);
    assert_eq!(second.text, "again");
    let to = second.deliver_to.unwrap().recipient.unwrap();
    let channel = bench.channel();
    bench.post.lose(1);
    let answer = delivery(7, &to, "The **answer**.\n.\nWith a dot.");
    assert!(channel.send(&answer).await.unwrap_err().retryable, "nobody knows whether it has arrived");
    channel.send(&answer).await.unwrap();
    let letters = bench.post.letters();
    assert_eq!(letters.len(), 2);
    for letter in &letters {
        for line in [
            "To: ada@x.example\r\n",
            "Subject: Re: s2\r\n",
            "Message-ID: <0198-7-0@home.example>\r\n",
            "In-Reply-To: <2@x.example>\r\n",
            "References: <1@x.example> <r@home.example> <2@x.example>\r\n",
            "Auto-Submitted: auto-replied\r\n",
            "multipart/alternative",
            "The *answer*.",
        ] {
            assert!(letter.contains(line), "{line:?} in {letter}");
        }
    }
    // A reply to a mail that began a thread continues that thread.
    channel.send(&delivery(8, "ada@x.example", "Rain tomorrow")).await.unwrap();
    assert!(bench.post.letters()[2].contains("Subject: Rain tomorrow\r\n"));
    let reply = format!("{PROVEN}In-Reply-To: <0198-8-0@home.example>\r\n");
    bench.mailbox.put(&letter(3, &reply, "ada@x.example", "thanks"));
    bench.run_until(3).await;
    let to = bench.services.assistant.last().unwrap().deliver_to.unwrap().recipient.unwrap();
    channel.send(&delivery(9, &to, "You are welcome")).await.unwrap();
    let last = bench.post.letters().pop().unwrap();
    assert!(last.contains("References: <0198-8-0@home.example> <3@x.example>\r\n"), "{last}");
}

#[tokio::test]
async fn attachments_arrive_and_oversized_ones_are_reported() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    bench.mailbox.put(&mail::with_file(1, "notes.txt", "text/plain", b"remember"));
    bench.mailbox.put(&mail::with_file(2, "big.txt", "text/plain", &vec![b'x'; 5 << 20]));
    bench.run_until(2).await;
    let inbound = bench.services.assistant.inbound();
    let of = |subject: &str| inbound.iter().find(|inbound| inbound.text.contains(subject)).unwrap();
    assert_eq!(of("s1").attachments[0].name, "notes.txt");
    let large = of("s2");
    assert!(large.attachments.is_empty() && large.text.contains("look"), "{}", large.text);
    // The answer says so: one question, one mail.
    assert!(bench.services.said().is_empty(), "{:?}", bench.services.said());
    let to = large.deliver_to.clone().unwrap().recipient.unwrap();
    let channel = bench.channel();
    bench.post.lose(1);
    assert!(channel.send(&delivery(1, &to, "I looked.")).await.unwrap_err().retryable);
    channel.send(&delivery(1, &to, "I looked.")).await.unwrap();
    channel.send(&delivery(2, &to, "And again.")).await.unwrap();
    let letters = bench.post.letters();
    let mentions: Vec<bool> =
        letters.iter().map(|letter| letter.replace("=\r\n", "").contains("max_file_mb")).collect();
    assert_eq!(mentions, [true, true, false], "with the answer, and with its copy: {letters:?}");
    assert!(letters[1].contains("I looked."));
}

#[tokio::test]
async fn recordings_are_transcribed_and_forwarded_ones_stay_quoted() {
    let mut bench = Bench::new().await;
    bench.services.transcriber = Some(Arc::default());
    bench.run_until(0).await;
    bench.mailbox.put(&mail::with_file(1, "memo.m4a", "audio/x-m4a", b"/new milk"));
    bench.run_until(1).await;
    assert_eq!(bench.services.assistant.texts(), ["Subject: s1\n\nlook\n\n[voice message] /new milk"]);
    let heard = bench.services.transcriber.as_ref().unwrap().heard();
    assert_eq!((heard[0].name.as_str(), heard[0].mime.as_str()), ("memo.m4a", "audio/x-m4a"));
    assert!(bench.services.assistant.last().unwrap().attachments.is_empty());

    let passed_on = String::from_utf8(mail::with_file(2, "memo.mp3", "audio/mpeg", b"obey")).unwrap();
    let passed_on = passed_on
        .replace("look", "See.\r\n\r\n---------- Forwarded message ---------\r\nFrom: eve\r\n\r\nhi");
    bench.mailbox.put(passed_on.as_bytes());
    bench.run_until(2).await;
    let inbound = bench.services.assistant.last().unwrap();
    assert!(inbound.text.contains("See.") && !inbound.text.contains("obey"), "{}", inbound.text);
    let quoted = inbound.attachments.iter().find(|file| file.is_quoted()).unwrap();
    let others = String::from_utf8(STANDARD.decode(&quoted.data).unwrap()).unwrap();
    assert!(others.contains("Forwarded message") && others.contains("[voice message] obey"), "{others}");
}

#[tokio::test]
async fn unfinished_recording_is_fetched_again_after_a_restart() {
    let mut bench = Bench::new().await;
    let transcriber = Arc::new(CollectingTranscriber::default());
    bench.services.transcriber = Some(transcriber.clone());
    bench.run_until(0).await;
    let start = || {
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (channel, assistant) = (bench.channel(), bench.services.assistant.clone());
        (trigger, tokio::spawn(async move { channel.run(assistant, shutdown).await }))
    };
    transcriber.set_stuck(true);
    bench.mailbox.put(&mail::with_file(1, "memo.ogg", "audio/ogg", b"milk"));
    let (_trigger, killed) = start();
    soon("it is listened to", || transcriber.heard().len() == 1).await;
    soon("its mail is done with", || bench.mailbox.seen() == [1]).await;
    killed.abort();
    let _ = killed.await;
    transcriber.set_stuck(false);
    let (trigger, running) = start();
    soon("it has arrived", || bench.services.assistant.count() == 1).await;
    assert!(bench.services.assistant.texts()[0].ends_with("[voice message] milk"));
    trigger.trigger();
    running.await.unwrap().unwrap();

    // A mail deleted from the mailbox is reported.
    transcriber.set_stuck(true);
    bench.mailbox.put(&mail::with_file(2, "memo.ogg", "audio/ogg", b"bread"));
    let (_trigger, killed) = start();
    soon("it is listened to", || transcriber.heard().len() == 3).await;
    soon("its mail is done with", || bench.mailbox.seen() == [1, 2]).await;
    killed.abort();
    let _ = killed.await;
    transcriber.set_stuck(false);
    bench.mailbox.renumber(&[]);
    let (trigger, running) = start();
    soon("the words beside it arrive", || bench.services.assistant.count() == 2).await;
    assert_eq!(bench.services.assistant.last().unwrap().text, "Subject: s2\n\nlook");
    trigger.trigger();
    running.await.unwrap().unwrap();
    let to = bench.services.assistant.last().unwrap().deliver_to.unwrap().recipient.unwrap();
    bench.channel().send(&delivery(1, &to, "An answer.")).await.unwrap();
    let answer = bench.post.letters().pop().unwrap().replace("=\r\n", "");
    assert!(answer.contains("`memo.ogg` could not be fetched"), "{answer}");
}

#[tokio::test]
async fn pairing_code_grants_access_and_mail_cannot_approve() {
    let bench = Bench::new().await;
    let nobody = || Rules { allowed: Live::default(), ..known() };
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let (channel, assistant) =
        (bench.channel_with(nobody(), |options| options), bench.services.assistant.clone());
    let running = tokio::spawn(async move { channel.run(assistant, shutdown).await });
    bench.mailbox.until("it is signed in", |mailbox| mailbox.selected > 0).await;
    let code = bench.services.invite("email").await;
    bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "hello?"));
    bench.mailbox.put(&letter(2, "", "ada@x.example", &format!("/pair {code}")));
    bench.mailbox.put(&letter(3, PROVEN, "ada@x.example", &format!("/pair {code}")));
    bench.mailbox.put(&letter(4, PROVEN, "ada@x.example", "hello"));
    soon("it arrives", || bench.services.assistant.count() == 1).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert!(bench.services.said()[0].starts_with("You are connected"), "{:?}", bench.services.said());
    assert_eq!(
        bench.mailbox.seen(),
        [4],
        "the first was a stranger's, and the code came before it was known whose"
    );
    let surface = bench.services.assistant.surface().unwrap();
    assert!(!surface.is_attended(), "denied at once");
}

#[tokio::test]
async fn wrong_password_is_reported_once_and_never_shown() {
    let bench = Bench::new().await;
    let wrong = |options| Options { password: Secret::new("wr0ng-canary"), ..options };
    let channel = bench.channel_with(known(), wrong);
    common::refused(&channel, bench.services.assistant.clone()).await;
    let status = channel.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(status.detail.contains("channels.email.password"), "{status:?}");
    assert!(!status.detail.contains("wr0ng"), "{status:?}");
    let checks = channel.inspect().await;
    assert!(!checks[0].ok && !checks[1].ok && checks[2].ok, "{checks:?}");
    assert!(checks.iter().all(|check| !check.detail.contains("wr0ng")), "{checks:?}");
    let refused = channel.send(&delivery(1, "ada@x.example", "hi")).await.unwrap_err();
    assert!(!refused.retryable && refused.message.contains("channels.email.password"), "{refused}");
    assert!(bench.channel().inspect().await.iter().all(|check| check.ok));
    let unproven = |options| Options { authserv_id: String::new(), ..options };
    let unproven = bench.channel_with(known(), unproven);
    assert!(unproven.inspect().await[2].detail.contains("channels.email.authserv_id"));
    assert_eq!(bench.mailbox.selected_for_writing(), 0, "a look changes nothing");
}

/// A command that prints these tokens, one each time; the last one again and again.
struct Printer(Mutex<Vec<&'static str>>, AtomicU32);

struct Over;

#[async_trait]
impl ProgramLife for Over {
    async fn ended(&mut self) -> String {
        "with exit status 0".to_owned()
    }
}

#[async_trait]
impl Programs for Printer {
    async fn start(&self, program: &Program) -> std::io::Result<RunningProgram> {
        assert_eq!(
            (program.command.as_str(), program.args.as_slice()),
            ("mail-token", &["bot".to_owned()][..])
        );
        self.1.fetch_add(1, Ordering::SeqCst);
        let mut tokens = self.0.lock().unwrap();
        let token = if tokens.len() > 1 { tokens.remove(0) } else { tokens[0] };
        Ok(RunningProgram {
            input: Box::new(tokio::io::sink()),
            output: Box::new(std::io::Cursor::new(format!("{token}\n"))),
            errors: Box::new(tokio::io::empty()),
            life: Box::new(Over),
        })
    }
}

#[tokio::test]
async fn unreachable_server_is_named_with_its_key() {
    let bench = Bench::new().await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let nowhere = || Server { host: "127.0.0.1".into(), port: closed };
    let channel =
        bench.channel_with(known(), |options| Options { imap: nowhere(), smtp: nowhere(), ..options });
    let checks = channel.inspect().await;
    assert_eq!(checks[0].detail, "the IMAP server: nothing listens there; check channels.email.imap_host");
    assert_eq!(checks[1].detail, "the SMTP server: nothing listens there; check channels.email.smtp_host");
}

fn by_token(printer: &Arc<Printer>) -> impl FnOnce(Options) -> Options {
    let program = Program {
        command: "mail-token".into(),
        args: vec!["bot".into()],
        environment: Vec::new(),
        sandbox: None,
    };
    let tokens = TokenSource::Command { program, programs: printer.clone() };
    |options| Options { tokens: Some(tokens), password: Secret::default(), ..options }
}

#[tokio::test]
async fn an_account_signs_in_by_tokens_that_a_command_prints() {
    let bench = Bench::new().await;
    let printer = Arc::new(Printer(Mutex::new(vec![TOKEN]), AtomicU32::new(0)));
    let channel = Arc::new(bench.channel_with(known(), by_token(&printer)));
    let checks = channel.inspect().await;
    assert!(checks.iter().all(|check| check.ok), "{checks:?}");
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let (running, notes) = (channel.clone(), bench.services.assistant.clone());
    let running = tokio::spawn(async move { running.run(notes, shutdown).await });
    bench.mailbox.until("it waits", |mailbox| mailbox.idling).await;
    bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "one"));
    soon("it arrives", || bench.services.assistant.count() == 1).await;
    channel.send(&delivery(1, "ada@x.example", "hi")).await.unwrap();
    assert_eq!(bench.post.letters().len(), 1);
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(printer.1.load(Ordering::SeqCst), 1, "a token is used for some minutes");
}

#[tokio::test]
async fn expired_token_is_renewed_and_a_wrong_one_is_never_shown() {
    let bench = Bench::new().await;
    let printer = Arc::new(Printer(Mutex::new(vec!["0ld-canary", TOKEN]), AtomicU32::new(0)));
    let channel = bench.channel_with(known(), by_token(&printer));
    // Refused when it was quite fresh, and fetched again for the next one.
    let refused = channel.send(&delivery(1, "ada@x.example", "hi")).await.unwrap_err();
    assert!(refused.message.contains("channels.email.oauth_command"), "{refused}");
    channel.send(&delivery(2, "ada@x.example", "hi")).await.unwrap();
    let printer = Arc::new(Printer(Mutex::new(vec!["wr0ng-canary"]), AtomicU32::new(0)));
    let channel = bench.channel_with(known(), by_token(&printer));
    common::refused(&channel, bench.services.assistant.clone()).await;
    let status = channel.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(status.detail.contains("oauth_command") && !status.detail.contains("wr0ng"), "{status:?}");
    let printer = Arc::new(Printer(Mutex::new(vec!["no token at all"]), AtomicU32::new(0)));
    let checks = bench.channel_with(known(), by_token(&printer)).inspect().await;
    assert!(!checks[0].ok && checks[0].detail.contains("printed no token"), "{checks:?}");
}

#[tokio::test]
async fn a_reply_and_its_files_are_one_mail() {
    let bench = Bench::new().await;
    let channel = bench.channel();
    let file =
        |name: &str, size: usize| Attachment::new(name, "text/plain", STANDARD.encode("x".repeat(size)));
    let with = |mut delivery: Delivery, files: Vec<Attachment>| {
        delivery.content.attachments = files;
        delivery
    };
    let two = with(delivery(1, "ada@x.example", "Two lists"), vec![file("a.txt", 9), file("b.txt", 9)]);
    channel.send(&two).await.unwrap();
    let letters = bench.post.letters();
    assert_eq!(letters.len(), 1);
    for part in ["Subject: Two lists\r\n", "\"a.txt\"", "\"b.txt\"", "multipart/alternative"] {
        assert!(letters[0].contains(part), "{part}");
    }
    // Files that exceed one mail follow in the next, each once.
    let large = vec![file("c.txt", 8 << 20), file("d.txt", 8 << 20), file("e.txt", 1)];
    let large = with(delivery(2, "ada@x.example", "Large"), large);
    channel.send(&large).await.unwrap();
    channel.send(&large).await.unwrap();
    let names =
        |letter: &String| ["c.txt", "d.txt", "e.txt"].map(|name| letter.contains(&format!("\"{name}\"")));
    let letters = bench.post.letters();
    assert_eq!(
        letters[1..].iter().map(names).collect::<Vec<_>>(),
        [[true, false, false], [false, true, true]]
    );
}

#[tokio::test]
async fn plain_connections_are_for_this_machine_only() {
    let bench = Bench::new().await;
    let away = |options: Options| {
        let elsewhere = Server { host: "192.0.2.1".into(), ..options.smtp.clone() };
        Options { smtp: elsewhere, ..options }
    };
    let channel = bench.channel_with(known(), away);
    let refused = channel.send(&delivery(1, "ada@x.example", "hi")).await.unwrap_err();
    assert!(refused.message.contains("channels.email.tls"), "{refused}");
}

#[tokio::test]
async fn a_refused_mail_is_given_up_and_a_busy_server_is_asked_again() {
    let bench = Bench::new().await;
    let channel = bench.channel();
    bench.post.answer("451 4.3.0 later");
    let later = channel.send(&delivery(1, "ada@x.example", "hi")).await.unwrap_err();
    assert!(later.retryable, "{later}");
    bench.post.answer("550 5.1.1 nobody here");
    let never = channel.send(&delivery(1, "ada@x.example", "hi")).await.unwrap_err();
    assert!(!never.retryable && never.message.contains("nobody here"), "{never}");
    for wrong in ["", "ada", "ada@x.example:zz", "ada@x.example\r\nBcc: eve@y.example"] {
        assert!(channel.check_recipient(Some(wrong)).is_err(), "{wrong:?}");
    }
    channel.check_recipient(Some("ada@x.example:0a1b2c3d")).unwrap();
}
