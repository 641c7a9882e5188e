//! One act, one turn: which messages belong together, how long that takes, and that none is lost or doubled.

use aethon_core::channel::ChannelRecords as _;
use aethon_core::message::Intent;

use super::*;

/// The most that one message may wait on its own account.
const NOTICEABLE: Duration = Duration::from_millis(500);

/// A message of a scenario.
#[derive(Clone)]
struct Sent {
    /// How long after the message before it.
    after: u64,
    arrival: Arrival,
}

fn at(stage: &Stage, id: &str, text: &str) -> Arrival {
    stage.arrival(id, text)
}

fn picture(stage: &Stage, id: &str, caption: &str) -> Arrival {
    let file = RemoteFile { handle: format!("f{id}"), name: format!("{id}.txt"), ..text_file() };
    Arrival { files: vec![file], ..at(stage, id, caption) }
}

fn in_album(arrival: Arrival, album: &str) -> Arrival {
    Arrival { act: Some(album.into()), ..arrival }
}

fn forwarded(arrival: Arrival) -> Arrival {
    Arrival { is_forwarded: true, ..arrival }
}

fn of(arrival: Arrival, sender: &str) -> Arrival {
    Arrival { sender: Sender { id: sender.into(), name: None, group: None }, ..arrival }
}

fn now(arrival: Arrival) -> Sent {
    Sent { after: 0, arrival }
}

fn after(milliseconds: u64, arrival: Arrival) -> Sent {
    Sent { after: milliseconds, arrival }
}

/// The parts of a message to the assistant: the text, the names of the files, and other people's words.
fn asked_of(inbound: &Inbound) -> String {
    let decoded = |file: &aethon_core::message::Attachment| {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(&file.data).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let parts = inbound.attachments.iter().map(|file| match (file.is_quoted(), file.untrusted) {
        (true, _) => format!("<{}>", decoded(file)),
        (false, true) => format!("({})", file.name),
        (false, false) => file.name.clone(),
    });
    let mark = if inbound.untrusted { "!" } else { "" };
    std::iter::once(format!("{mark}{}", inbound.text)).chain(parts).collect::<Vec<_>>().join(" | ")
}

/// Plays a scenario in real time, and returns the turns that were not replaced within a minute.
async fn played(stage: &Stage, sent: Vec<Sent>) -> Vec<String> {
    let intake = stage.intake();
    intake.resume().await.unwrap();
    let playing = async {
        for Sent { after, arrival } in sent {
            tokio::time::sleep(Duration::from_millis(after)).await;
            stage.clock.advance(SignedDuration::from_millis(i64::try_from(after).unwrap()));
            let at = aethon_core::clock::Clock::now(&*stage.clock);
            intake.0.arrive(Arrival { at, ..arrival }).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
    };
    tokio::select! {
        () = intake.process_waiting() => {}
        () = playing => {}
    }
    turns(stage)
}

fn turns(stage: &Stage) -> Vec<String> {
    let mut turns: Vec<String> = Vec::new();
    for inbound in stage.assistant.inbound() {
        if matches!(inbound.intent, Intent::Edit { .. }) {
            turns.pop();
        }
        turns.push(asked_of(&inbound));
    }
    turns
}

fn both() -> Rules {
    Rules { allowed: Live::new(vec!["1".into(), "2".into()]), ..rules() }
}

/// Plays each scenario on a stage of its own, twice.
async fn check(rows: Vec<(&str, Vec<Sent>, Vec<&str>)>) {
    for (name, sent, expected) in rows {
        let stage = Stage::new(both());
        assert_eq!(played(&stage, sent.clone()).await, expected, "{name}");
        let left = stage.records.list("telegram", "arrived:", 9).await.unwrap();
        assert!(left.is_empty(), "{name}: {left:?}");
        // Platforms repeat a delivery when they are unsure: in the same order, and the last part alone.
        let count = stage.assistant.count();
        let last = sent.last().cloned().into_iter().map(|sent| Sent { after: 100, ..sent });
        played(&stage, sent.into_iter().chain(last).collect()).await;
        assert_eq!(stage.assistant.count(), count, "{name}: nothing begins again");
    }
}

#[tokio::test(start_paused = true)]
async fn pieces_of_a_text_and_what_a_comment_forwards_become_one_turn() {
    let stage = Stage::new(both());
    let s = &stage;
    let (head, tail, soft) = ("a".repeat(4096), "b".repeat(900), "c".repeat(4000));
    let (whole, lines) = (format!("{head}{tail}"), format!("{soft}\n{tail}"));
    check(vec![
        ("a text", vec![now(at(s, "1", "hi"))], vec!["hi"]),
        ("two texts", vec![now(at(s, "1", "hi")), now(at(s, "2", "and"))], vec!["hi", "and"]),
        (
            "a paste that was cut in the middle of a word",
            vec![now(at(s, "1", &head)), after(300, at(s, "2", &tail))],
            vec![&whole],
        ),
        (
            "a paste that was cut between lines",
            vec![now(at(s, "1", &soft)), now(at(s, "2", &tail))],
            vec![&lines],
        ),
        (
            "a comment and what it forwards",
            vec![now(at(s, "1", "true?")), after(200, forwarded(at(s, "2", "obey")))],
            vec!["true? | <obey>"],
        ),
        (
            "a comment and three forwarded messages",
            vec![
                now(at(s, "1", "true?")),
                now(forwarded(at(s, "2", "obey"))),
                now(forwarded(picture(s, "3", "this"))),
                now(forwarded(at(s, "4", "me"))),
            ],
            vec!["true? | (3.txt) | <obey\n\nthis\n\nme>"],
        ),
        (
            "forwarded messages alone",
            vec![now(forwarded(at(s, "1", "obey"))), now(forwarded(at(s, "2", "me")))],
            vec!["!obey\n\nme"],
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_album_becomes_one_turn() {
    let stage = Stage::new(both());
    let s = &stage;
    let ten = || (0..10).map(|n| now(in_album(picture(s, &format!("p{n}"), ""), "A"))).collect::<Vec<_>>();
    let album = |id: &str, caption: &str, key: &str| in_album(picture(s, id, caption), key);
    let names = (0..10).map(|n| format!("p{n}.txt")).collect::<Vec<_>>().join(" | ");
    let ten_names = format!(" | {names}");
    check(vec![
        (
            "an album with its words on the second picture",
            vec![now(album("1", "", "A")), now(album("2", "compare", "A")), now(album("3", "", "A"))],
            vec!["compare | 1.txt | 2.txt | 3.txt"],
        ),
        ("an album of ten", ten(), vec![&ten_names]),
        (
            "an album over two polls",
            vec![
                now(album("1", "look", "A")),
                after(900, album("2", "", "A")),
                after(900, album("3", "", "A")),
            ],
            vec!["look | 1.txt | 2.txt | 3.txt"],
        ),
        (
            "an album whose last picture is late",
            vec![now(album("1", "look", "A")), after(1900, album("2", "", "A"))],
            vec!["look | 1.txt | 2.txt"],
        ),
        (
            "two albums",
            vec![now(album("1", "one", "A")), now(album("2", "", "A")), now(album("3", "two", "B"))],
            vec!["one | 1.txt | 2.txt", "two | 3.txt"],
        ),
        (
            "an album and a text",
            vec![now(album("1", "", "A")), now(album("2", "", "A")), after(1500, at(s, "3", "what?"))],
            vec!["what? | 1.txt | 2.txt"],
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_and_their_words_become_one_turn() {
    let stage = Stage::new(both());
    let s = &stage;
    check(vec![
        (
            "a text and its file",
            vec![now(at(s, "1", "sum this up")), after(300, picture(s, "2", ""))],
            vec!["sum this up | 2.txt"],
        ),
        (
            "a text and its file, by hand",
            vec![now(at(s, "1", "sum this up")), after(1900, picture(s, "2", ""))],
            vec!["sum this up | 2.txt"],
        ),
        (
            "a file and its text, by hand",
            vec![now(picture(s, "1", "")), after(1900, at(s, "2", "sum this up"))],
            vec!["sum this up | 1.txt"],
        ),
        (
            "several files, each by itself",
            vec![
                now(picture(s, "1", "")),
                after(700, picture(s, "2", "")),
                after(700, picture(s, "3", "these")),
            ],
            vec!["these | 1.txt | 2.txt | 3.txt"],
        ),
        (
            "a text and a later file",
            vec![now(at(s, "1", "hi")), after(4000, picture(s, "2", ""))],
            vec!["hi", " | 2.txt"],
        ),
        (
            "a file and a later text",
            vec![now(picture(s, "1", "")), after(4000, at(s, "2", "hi"))],
            vec![" | 1.txt", "hi"],
        ),
        (
            "files of two people",
            vec![now(picture(s, "1", "a")), now(of(picture(s, "2", "b"), "2")), now(picture(s, "3", ""))],
            vec!["a | 1.txt | 3.txt", "b | 2.txt"],
        ),
        (
            "a recording and a text",
            vec![
                now(Arrival {
                    files: vec![RemoteFile { mime: "audio/ogg".into(), ..text_file() }],
                    ..at(s, "1", "spoken")
                }),
                now(at(s, "2", "written")),
            ],
            vec!["spoken", "written"],
        ),
        (
            "a command between",
            vec![now(picture(s, "1", "look")), now(at(s, "c", "/help")), now(at(s, "2", "here"))],
            vec!["look\n\nhere | 1.txt"],
        ),
        (
            "a new conversation between",
            vec![now(picture(s, "1", "look")), now(at(s, "n", "/new")), now(at(s, "2", "here"))],
            vec!["look | 1.txt", "here"],
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_short_text_does_not_wait_noticeably() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let began = tokio::time::Instant::now();
    let timed = async {
        intake.0.arrive(stage.arrival("1", "hi")).await.unwrap();
        while stage.assistant.count() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = intake.process_waiting() => {}
        () = timed => {}
    }
    assert!(began.elapsed() < NOTICEABLE, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn acts_outlive_a_crash_at_any_moment() {
    let album = |stage: &Stage, id: &str, caption: &str| in_album(picture(stage, id, caption), "A");
    // After how many parts, and how long after the last of them.
    for (parts, milliseconds) in
        [(1, 0), (1, 500), (2, 0), (2, 900), (2, 1300), (3, 0), (3, 999), (3, 1001), (3, 1500), (3, 5000)]
    {
        let stage = Stage::new(known());
        let all = || [album(&stage, "1", "look"), album(&stage, "2", ""), album(&stage, "3", "")];
        let intake = stage.intake();
        let until_the_crash = async {
            for part in all().into_iter().take(parts) {
                intake.0.arrive(part).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        };
        tokio::select! {
            () = intake.process_waiting() => {}
            () = until_the_crash => {}
        }
        drop(intake);
        // The platform is not sure of the last part, and delivers the rest.
        let rest = all().into_iter().skip(parts - 1).map(now).collect();
        let turns = played(&stage, rest).await;
        assert_eq!(turns, ["look | 1.txt | 2.txt | 3.txt"], "{parts} parts, {milliseconds} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_group_one_mention_addresses_the_whole_act() {
    let stage = Stage::new(both());
    let group = |is_addressed: bool, arrival: Arrival| Arrival {
        is_private: false,
        is_addressed,
        chat: "-7".into(),
        ..arrival
    };
    let s = &stage;
    let album = |id: &str, caption: &str| in_album(picture(s, id, caption), "A");
    let rows: Vec<(&str, Vec<Sent>, Vec<&str>)> = vec![
        (
            "on the first picture",
            vec![now(group(true, album("1", "look"))), now(group(false, album("2", "")))],
            vec!["[@ada] look | 1.txt | 2.txt"],
        ),
        (
            "on the last picture",
            vec![now(group(false, album("1", ""))), now(group(true, album("2", "look")))],
            vec!["[@ada] look | 1.txt | 2.txt"],
        ),
        ("on none", vec![now(group(false, album("1", "look"))), now(group(false, album("2", "")))], vec![]),
        (
            "in the text before the file",
            vec![now(group(true, at(s, "1", "this?"))), after(1500, group(false, picture(s, "2", "")))],
            vec!["[@ada] this? | 2.txt"],
        ),
        (
            "in the text after the file",
            vec![now(group(false, picture(s, "1", ""))), after(1500, group(true, at(s, "2", "this?")))],
            vec!["[@ada] this? | 1.txt"],
        ),
        (
            "another person's picture",
            vec![now(group(true, album("1", "look"))), now(of(group(false, picture(s, "2", "")), "2"))],
            vec!["[@ada] look | 1.txt"],
        ),
    ];
    for (name, sent, expected) in rows {
        let stage = Stage::new(both());
        assert_eq!(played(&stage, sent).await, expected, "{name}");
        let left = stage.records.list("telegram", "arrived:", 9).await.unwrap();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn old_or_large_act_gets_one_notice() {
    let stage = Stage::new(known());
    let album: Vec<Arrival> = (0..4).map(|n| in_album(picture(&stage, &format!("p{n}"), ""), "A")).collect();
    stage.clock.advance(SignedDuration::from_hours(2));
    let intake = stage.intake();
    for part in &album {
        intake.arrive(part.clone()).await.unwrap();
    }
    intake.process_all_waiting().await;
    let said = stage.said();
    assert!(said.len() == 1 && said[0].contains("too old"), "{said:?}");
    for part in &album {
        intake.arrive(part.clone()).await.unwrap();
    }
    intake.process_all_waiting().await;
    assert!(stage.said().is_empty() && stage.assistant.count() == 0);
    let stage = Stage::new(known());
    let intake = stage.intake();
    for n in 0..3 {
        let file = RemoteFile { size: 2 << 20, name: format!("{n}.jpg"), ..text_file() };
        let part = Arrival { files: vec![file], ..stage.arrival(&n.to_string(), "") };
        intake.0.arrive(in_album(part, "A")).await.unwrap();
    }
    intake.process_all_waiting().await;
    let said = stage.said();
    assert!(
        said.len() == 1 && said[0].contains("`0.jpg`, `1.jpg`, `2.jpg` are larger than 1 MB"),
        "{said:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_read_is_answered_in_words() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let wordless = Arrival { wordless: Some("I cannot see stickers.".into()), ..stage.arrival("1", "") };
    for _ in 0..2 {
        intake.arrive(wordless.clone()).await.unwrap();
    }
    assert_eq!((stage.said(), stage.assistant.count()), (vec!["I cannot see stickers.".to_owned()], 0));
    let group = Arrival { is_private: false, is_addressed: false, id: "2".into(), ..wordless };
    intake.arrive(group).await.unwrap();
    assert!(stage.said().is_empty(), "it was not for us");
}

#[tokio::test(start_paused = true)]
async fn answered_message_comes_along() {
    let check = async |arrival: Arrival, text: &str, quoted: &[&str]| {
        let stage = Stage::new(Rules { owners: Some(vec!["1".into()]), ..known() });
        stage.intake().arrive(arrival).await.unwrap();
        let inbound = stage.submitted().remove(0);
        let expected: Vec<String> =
            std::iter::once(text.to_owned()).chain(quoted.iter().map(|words| format!("<{words}>"))).collect();
        assert_eq!(asked_of(&inbound), expected.join(" | "));
    };
    let stage = Stage::new(known());
    let answering = |text: &str, author: AnsweredAuthor, answered: &str| Arrival {
        answered: Some(Answered { author, text: answered.into() }),
        ..stage.arrival("1", text)
    };
    let ours = answering("why?", AnsweredAuthor::Assistant, "It is so.\nReally.");
    let above = "(This message answers these words of yours.)\n> It is so.\n> Really.";
    check(ours, &format!("{above}\n\nwhy?"), &[]).await;
    let theirs = answering("still?", AnsweredAuthor::Sender, "call Ben");
    let above = "(This message answers these earlier words of the same person.)\n> call Ben";
    check(theirs, &format!("{above}\n\nstill?"), &[]).await;
    let skill = answering("/report now", AnsweredAuthor::Assistant, "Done.");
    check(skill, "/report now\n\n(This message answers these words of yours.)\n> Done.", &[]).await;
    let in_thread =
        Arrival { earlier: Some("Ben: obey".into()), quoted: Some("me".into()), ..stage.arrival("1", "?") };
    check(in_thread, "?", &["(This was said before in the same thread.)\nBen: obey\n\nme"]).await;
}
