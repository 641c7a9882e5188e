//! The owner by mail (docs/channels.md), against an IMAP and an SMTP server that keep to their protocols.

use std::sync::Arc;

use aethon_tests::mail::{MailHost, PASSWORD};
use aethon_tests::{Server, home, run_cli};
use tempfile::TempDir;

const ADA: &str = "ada@x.example";
/// Another person, whose mails show that those before them were looked at.
const BOB: &str = "bob@x.example";

fn start(host: &MailHost, home: &Arc<TempDir>) -> Server {
    let mut settings = host.settings();
    settings.push(format!("security.allowed_senders.email=[\"{ADA}\", \"{BOB}\", \"{HERE}\", \"{AWAY}\"]"));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    host.await_idle();
    server
}

/// The accounts of two assistants.
const HERE: &str = "bot@home.example";
const AWAY: &str = "bot@away.example";

/// Waits until all mails so far were looked at, and all answers sent.
fn settle(server: &Server, host: &MailHost, number: u32) {
    let text = format!("marker-{number}");
    host.put(number, BOB, "", &format!("!say {text}"));
    host.await_letter("the marker", |letter| letter.contains(&text));
    aethon_tests::eventually("everything is answered", || {
        let sessions = server.get("/api/sessions").json();
        let is_busy = sessions["sessions"].as_array()?.iter().any(|session| session["busy"] == true);
        (!is_busy && server.has_delivered()).then_some(())
    });
}

/// The answers to all but the marker.
fn own_answers(host: &MailHost) -> Vec<String> {
    host.letters().into_iter().filter(|letter| !letter.contains("marker-")).collect()
}

fn answers<'l>(letters: &'l [String], text: &str) -> Vec<&'l String> {
    letters.iter().filter(|letter| letter.contains(text)).collect()
}

#[test]
fn mail_is_answered_once_in_its_thread_through_cuts_and_crashes() {
    let (host, home) = (MailHost::start(), home());
    host.put(1, ADA, "", "!say history");
    let server = start(&host, &home);

    // A thread: the answer goes to the sender alone, stands in it, and says that a program has written it.
    host.put(2, ADA, "Reply-To: eve@evil.example\r\n", "!say Grüße, the **first** answer");
    let first = host.await_letter("the first answer", |letter| letter.contains("first"));
    for line in [
        "To: ada@x.example\r\n",
        "Subject: Re: s2\r\n",
        "In-Reply-To: <2@x.example>\r\n",
        "Auto-Submitted: auto-replied\r\n",
        "multipart/alternative",
    ] {
        assert!(first.contains(line), "{line:?} in {first}");
    }
    assert!(!first.contains("evil.example"), "{first}");
    let id =
        first.lines().find_map(|line| line.strip_prefix("Message-ID: ")).expect("it has an id").to_owned();
    let in_thread = format!("In-Reply-To: {id}\r\nReferences: <2@x.example> {id}\r\n");
    host.put(
        3,
        ADA,
        &in_thread,
        "!say the second answer\n\nOn 3 Aug 2026, Bot wrote:\n> !say repeated words",
    );
    host.await_letter("the second answer", |letter| letter.contains("the second answer"));

    // This one is not authenticated, and a stranger's is left alone.
    host.put_unproven(4, ADA, "!say forged");
    host.put(5, "eve@evil.example", "", "!say stranger");
    // The connection breaks, and the mail that comes meanwhile is found.
    host.cut();
    host.put(6, ADA, "", "!say after the cut");
    host.await_letter("the one after the cut", |letter| letter.contains("after the cut"));

    // A crash in the middle of an answer, and a mail that comes while the server is down.
    host.await_idle();
    host.put(7, ADA, "", "!stream 30 100\n!say through the crash");
    aethon_tests::eventually("it is being answered", || {
        let sessions = server.get("/api/sessions").json();
        sessions["sessions"].as_array()?.iter().any(|session| session["busy"] == true).then_some(())
    });
    let home = server.kill();
    host.put(8, ADA, "", "!say while away");
    let server = start(&host, &home);
    host.await_letter("the one of before the crash", |letter| letter.contains("through the crash"));
    host.await_letter("the one while away", |letter| letter.contains("while away"));

    // The arrival of this one is uncertain: it comes again under the same id.
    host.lose_answer();
    host.put(9, ADA, "", "!say in doubt");
    let twice = aethon_tests::eventually("the doubtful one comes again", || {
        let letters = host.letters();
        (answers(&letters, "in doubt").len() == 2).then_some(letters)
    });
    let ids: Vec<_> = answers(&twice, "in doubt")
        .into_iter()
        .map(|letter| letter.lines().find(|line| line.starts_with("Message-ID: ")))
        .collect();
    assert_eq!(ids[0], ids[1]);

    for text in ["the second answer", "after the cut", "through the crash", "while away"] {
        assert_eq!(answers(&host.letters(), text).len(), 1, "{text}");
    }
    for text in ["history", "repeated words", "forged", "stranger"] {
        assert!(answers(&host.letters(), text).is_empty(), "{text}");
    }
    host.await_idle();
    assert_eq!(host.seen(), [2, 3, 6, 7, 8, 9], "mail of others stays as it was");
    host.assert_well_spoken();
    let threads = server.get("/api/sessions").json();
    assert_eq!(threads["count"], 5, "a thread is a conversation: {threads}");
    drop(server);
    let found = std::process::Command::new("grep").args(["-rl", PASSWORD]).arg(home.path()).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    let mut test = vec!["channels", "test", "email", "--json"];
    let settings = host.settings();
    test.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let test = run_cli(home.path(), &test, None);
    assert_eq!(test.status.code(), Some(0), "{}", String::from_utf8_lossy(&test.stdout));
}

#[test]
fn unmarked_autoresponder_gets_five_answers_over_a_crash() {
    let (host, home) = (MailHost::start(), home());
    let mut server = start(&host, &home);
    let mut last = "<0@x.example>".to_owned();
    for round in 1..=9_u32 {
        let fields = format!("In-Reply-To: {last}\r\n");
        host.put(round, ADA, &fields, &format!("!say round {round}"));
        settle(&server, &host, 100 + round);
        let answered = own_answers(&host);
        if let Some(id) = answered
            .last()
            .and_then(|letter| letter.lines().find_map(|line| line.strip_prefix("Message-ID: ")))
        {
            id.clone_into(&mut last);
        }
        if round == 3 {
            host.await_idle();
            let home = server.kill();
            server = start(&host, &home);
        }
    }
    let answered = own_answers(&host);
    assert_eq!(answered.len(), 5, "{answered:?}");
    // The owner reads it on the page.
    let told = aethon_tests::eventually("the owner is told", || {
        let page = server.get("/api/sessions/webchat:default").json();
        page["messages"].as_array().filter(|messages| !messages.is_empty()).cloned()
    });
    assert!(
        told.len() == 1 && told[0].to_string().contains("I do not answer a mail of ada@x.example"),
        "{told:?}"
    );
    host.assert_well_spoken();
}

#[test]
fn two_assistants_that_mail_each_other_end_within_five_mails() {
    for is_stripped in [false, true] {
        let (here, away) = (MailHost::start_for(HERE), MailHost::start_for(AWAY));
        let (home_here, home_away) = (home(), home());
        let servers = [start(&here, &home_here), start(&away, &home_away)];
        let hosts = [&here, &away];
        here.put_whole("away.example", "From: bot@away.example\nTo: bot@home.example\nSubject: plan\nMessage-ID: <1@away.example>\n\nShall we meet?\n");
        let mut passed_on = [0, 0];
        for round in 0..14_u32 {
            let (from, to) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
            settle(&servers[from], hosts[from], 100 + round);
            // A gateway between them that may lose the mark of automatic mail.
            for letter in own_answers(hosts[from]).iter().skip(passed_on[from]) {
                let lines =
                    letter.lines().filter(|line| !is_stripped || !line.starts_with("Auto-Submitted:"));
                let letter: Vec<&str> = lines.collect();
                let domain = if from == 0 { "home.example" } else { "away.example" };
                hosts[to].put_whole(domain, &letter.join("\n"));
                passed_on[from] += 1;
            }
        }
        let counts = [own_answers(&here).len(), own_answers(&away).len()];
        let expected = if is_stripped { 1..=5 } else { 0..=1 };
        assert!(counts.iter().all(|count| expected.contains(count)), "{is_stripped}: {counts:?}");
        assert!(counts[0] > 0, "the first one is answered");
    }
}

#[test]
fn every_word_around_a_photo_is_read_and_one_mail_answers() {
    let (host, home) = (MailHost::start(), home());
    let _server = start(&host, &home);
    let photo = "--b\nContent-Type: image/png; name=a.png\nContent-Disposition: inline; filename=a.png\nContent-Transfer-Encoding: base64\n\n\
        iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\n";
    let zip = "--b\nContent-Type: application/zip; name=a.zip\nContent-Disposition: attachment; filename=a.zip\n\nPK\n";
    let mail = |number: u32, parts: &str| {
        format!(
            "From: {ADA}\nTo: {HERE}\nSubject: s{number}\nMessage-ID: <{number}@x.example>\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n"
        )
    };
    host.put_whole(
        "x.example",
        &mail(1, &format!("{photo}--b\nContent-Type: text/plain\n\n!say below the photo\n")),
    );
    host.await_letter("the words below a photo are answered", |letter| letter.contains("below the photo"));
    host.put_whole(
        "x.example",
        &mail(2, &format!("--b\nContent-Type: text/plain\n\n!say beside a file\n{zip}")),
    );
    let answer =
        host.await_letter("a mail with a file is answered", |letter| letter.contains("beside a file"));
    assert!(answer.contains("I cannot read `a.zip`"), "in the same mail: {answer}");
    // The same id with other words, and a real copy.
    host.put(3, ADA, "", "!say one");
    host.await_letter("the first", |letter| letter.contains("one"));
    host.put(3, ADA, "", "!say two");
    host.await_letter("the other one", |letter| letter.contains("two"));
    host.put(3, ADA, "", "!say one");
    let odd =
        "From: ada@x.example <ada@x.example>\nSubject: s4\nMessage-ID: <4@x.example>\n\n!say odd sender\n";
    host.put_whole("x.example", odd);
    host.await_letter("an odd sender is answered", |letter| letter.contains("odd sender"));
    let letters = host.letters();
    assert_eq!(letters.len(), 5, "{letters:?}");
    host.assert_well_spoken();
}
