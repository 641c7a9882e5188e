//! Whom the mail channel answers and how often, against an IMAP and an SMTP server of our own: odd senders, autoresponders
//! that do not identify themselves, mails with the same id, files that cannot be read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(
    unreachable_pub,
    dead_code,
    reason = "these modules are shared, and each program of tests uses a part"
)]

mod common;
mod mail;

use aethon_channels::Rules;
use aethon_core::channel::Channel as _;
use aethon_core::ids::SessionId;
use aethon_core::live::Live;
use aethon_core::shutdown::ShutdownTrigger;
use common::soon;
use mail::bench::{Bench, delivery, known};
use mail::{PROVEN, letter};

#[tokio::test]
async fn unreadable_files_without_words_are_reported_by_themselves() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    let mail = String::from_utf8(mail::with_file(1, "a.zip", "application/zip", b"PK")).unwrap();
    bench.mailbox.put(mail.replace("look", "").replace("Subject: s1\r\n", "").as_bytes());
    bench.mailbox.put(&mail::with_file(2, "b.zip", "application/zip", b"PK"));
    bench.run_until(1).await;
    assert_eq!(bench.services.assistant.texts(), ["Subject: s2\n\nlook"]);
    let said = bench.services.said();
    assert!(said.len() == 1 && said[0].contains("`a.zip`"), "{said:?}");
}

/// A mail in a thread, such as an autoresponder sends that keeps to nothing.
fn in_thread(number: u32, references: &str, subject: &str, text: &str) -> Vec<u8> {
    let mail = letter(number, &format!("{PROVEN}{references}"), "ada@x.example", text);
    let mail = String::from_utf8(mail).unwrap();
    mail.replace(&format!("Subject: s{number}\r\n"), &format!("Subject: {subject}\r\n")).into_bytes()
}

#[tokio::test]
async fn unmarked_autoresponders_get_five_answers_and_the_owner_one_notice() {
    let thread = "References: <0@x.example>\r\n";
    for (name, references, subject, is_varied, expected) in [
        ("in a thread, with other words each time", thread, "Re: plan", true, 5),
        ("in a thread, with the same words", thread, "Re: plan", false, 1),
        ("without references, with other words", "", "Auto: Re: plan", true, 5),
        ("without references, with the same words", "", "I am away", false, 4),
    ] {
        let bench = Bench::new().await;
        bench.run_until(0).await;
        if references.is_empty() {
            bench.mailbox.put(&in_thread(100, "", "plan", "A question about it."));
        }
        let of = |number: u32| match is_varied {
            true => format!("This is automatic answer {number}."),
            false => "I am away until Monday.".to_owned(),
        };
        let expected = expected + usize::from(references.is_empty() && !is_varied);
        for number in 1..=9 {
            bench.mailbox.put(&in_thread(number, references, subject, &of(number)));
        }
        let told = |bench: &Bench| {
            bench.services.assistant.texts().iter().filter(|text| !text.contains("marker")).count()
        };
        // A restart does not reset the count.
        for round in [50, 51] {
            bench.mailbox.put(&in_thread(20, references, subject, &of(20)));
            bench.run_to_marker(round).await;
        }
        assert_eq!(told(&bench), expected, "{name}: {:?}", bench.services.assistant.texts());
        let said = bench.services.said();
        assert!(said.len() == 1 && said[0].contains("ada@x.example"), "{name}: {said:?}");
        // An hour later, a person is answered again.
        bench.services.clock.advance(jiff::SignedDuration::from_secs(3700));
        bench.mailbox.put(&in_thread(30, references, subject, "Something new, by hand."));
        bench.run_to_marker(52).await;
        assert_eq!(told(&bench), expected + 1, "{name}");
    }
}

#[tokio::test]
async fn same_id_with_other_words_is_another_mail() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "buy milk"));
    bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "buy bread"));
    bench.mailbox.put(&letter(
        1,
        &format!("Received: on another way\r\n{PROVEN}"),
        "ada@x.example",
        "buy milk",
    ));
    bench.run_to_marker(2).await;
    let texts = bench.services.assistant.texts();
    assert_eq!(texts[..2], ["Subject: s1\n\nbuy milk", "Subject: s1\n\nbuy bread"]);
    assert_eq!(texts.len(), 3, "a copy is none: {texts:?}");
}

#[tokio::test]
async fn senders_in_odd_forms_are_recognised() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    let proof = |domain: &str| {
        format!("Authentication-Results: mx.home.example; dmarc=pass header.from={domain}\r\n")
    };
    for (number, from, domain) in [
        (1, "ada@x.example <ada@x.example>", "x.example"),
        (2, "Ada <ada@bücher.example>", "bücher.example"),
        (3, "ada@xn--bcher-kva.example", "bücher.example"),
        (4, "Ada <ADA@BÜCHER.example>", "xn--bcher-kva.example"),
        (5, "Jürgen <jürgen@x.example>", "x.example"),
        (6, "ju\u{308}rgen@x.example", "x.example"),
        (7, "eve@y.example <ada@x.example>", "x.example"),
        (8, "ada@x.example <eve@y.example>", "y.example"),
    ] {
        bench.mailbox.put(&letter(number, &proof(domain), from, "hello"));
    }
    bench.run_to_marker(20).await;
    let senders: Vec<String> =
        bench.services.assistant.inbound().into_iter().map(|inbound| inbound.sender).collect();
    let idn = "ada@xn--bcher-kva.example";
    assert_eq!(
        senders,
        ["ada@x.example", idn, idn, idn, "jürgen@x.example", "jürgen@x.example", "bob@x.example"]
    );
}

#[tokio::test]
async fn answer_that_names_only_our_mail_continues_its_thread() {
    let bench = Bench::new().await;
    bench.run_until(0).await;
    bench.mailbox.put(&letter(1, PROVEN, "ada@x.example", "first"));
    bench.run_until(1).await;
    let first = bench.services.assistant.first().unwrap();
    let to = first.deliver_to.clone().unwrap().recipient.unwrap();
    bench.channel().send(&delivery(7, &to, "An answer")).await.unwrap();
    let fields = format!("{PROVEN}In-Reply-To: <0198-7-0@home.example>\r\n");
    bench.mailbox.put(&letter(2, &fields, "ada@x.example", "second"));
    // Who did not get it does not enter the conversation by naming it.
    let eve = PROVEN.replace("x.example", "y.example");
    bench.mailbox.put(&letter(
        3,
        &format!("{eve}In-Reply-To: <0198-7-0@home.example>\r\n"),
        "eve@y.example",
        "third",
    ));
    let rules = Rules { allowed: Live::new(vec!["ada@x.example".into(), "eve@y.example".into()]), ..known() };
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let (channel, assistant) =
        (bench.channel_with(rules, |options| options), bench.services.assistant.clone());
    let running = tokio::spawn(async move { channel.run(assistant, shutdown).await });
    soon("they arrive", || bench.services.assistant.count() == 3).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    let sessions: Vec<SessionId> =
        bench.services.assistant.inbound().into_iter().map(|inbound| inbound.session).collect();
    assert!(sessions[0] == sessions[1] && sessions[1] != sessions[2], "{sessions:?}");
}
