//! The owner by mail (docs/channels.md), against an IMAP and an SMTP server that keep to their protocols.

use std::sync::Arc;

use aethon_tests::mail::{MailHost, PASSWORD};
use aethon_tests::{Server, home, run_cli};
use tempfile::TempDir;

const ADA: &str = "ada@x.example";

fn start(host: &MailHost, home: &Arc<TempDir>) -> Server {
    let mut settings = host.settings();
    settings.push(format!("security.allowed_senders.email=[\"{ADA}\"]"));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    host.await_idle();
    server
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
