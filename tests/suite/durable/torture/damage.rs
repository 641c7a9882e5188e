//! Pages of the database that are destroyed at random: the server starts all the same, says so, and what `doctor --repair` does
//! not count as lost is there, word for word.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use aethon_tests::{Random, Server, run_cli};
use serde_json::Value;

use super::{number, tell};

const PAGE: u64 = 4096;
const SESSIONS: usize = 6;
const TURNS: usize = 10;

/// A text that is long enough for some pages, and says whose it is.
fn words(session: usize, turn: usize) -> String {
    format!("s{session}t{turn} ").repeat(60).trim_end().to_owned()
}

fn furnished() -> Server {
    let server = Server::start(&[]);
    for session in 0..SESSIONS {
        let mut chat = server.chat(&format!("damage{session}"));
        for turn in 0..TURNS {
            chat.say(&format!("m{turn}"), &format!("!say {}", words(session, turn)));
        }
    }
    server
}

/// Destroys a page other than the first, without which the file is no database. Returns its number.
fn destroy_a_page(home: &Path, random: &mut Random) -> u64 {
    let file = std::fs::OpenOptions::new().write(true).open(home.join("aethon.db")).expect("the database");
    let pages = file.metadata().expect("its size").len() / PAGE;
    let page = random.between(1, pages);
    file.write_all_at(&random.bytes(PAGE), page * PAGE).expect("it can be written");
    page
}

/// The answers that a session has, as far as it can be read.
fn answers(server: &Server, session: usize) -> BTreeSet<String> {
    let answer = server.get(&format!("/api/sessions/webchat:damage{session}/export?format=json"));
    if answer.status != 200 {
        return BTreeSet::new();
    }
    let messages = answer.json()["messages"].as_array().expect("a list").clone();
    let texts = messages.iter().filter(|message| message["role"] == "assistant").filter_map(|message| {
        let blocks = message["content"].as_array()?;
        blocks.iter().find(|block| block["type"] == "text")?["text"].as_str().map(str::to_owned)
    });
    texts.collect()
}

/// What `doctor --repair` counts as lost, as it says it.
fn repaired(home: &Path) -> Vec<String> {
    let mended = run_cli(home, &["--set", "model.provider=fake", "doctor", "--repair", "--json"], None);
    let said: Value = serde_json::from_slice(&mended.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&mended.stderr)));
    let lost = said["repair"]["lost"].as_array().cloned().unwrap_or_default();
    lost.iter().map(ToString::to_string).collect()
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask torture"]
fn destroyed_database_pages_never_corrupt_answers() {
    let rounds = number("AETHON_TORTURE_PAGES", 40);
    let mut random = Random::new(number("AETHON_TORTURE_SEED", 1));
    let (mut mended, mut lossy) = (0, 0);
    for round in 0..rounds {
        let server = furnished();
        let home = server.home();
        assert!(server.terminate().success());
        let page = destroy_a_page(home.path(), &mut random);
        let server = Server::start_in(home.clone(), &[]);
        assert_eq!(server.get("/health").status, 200, "round {round}, page {page}");
        let is_ready = server.get("/api/ready").status == 200;
        assert!(server.terminate().success(), "round {round}, page {page}");
        let lost = repaired(home.path());
        let server = Server::start_in(home.clone(), &[]);
        assert_eq!(server.get("/api/ready").status, 200, "round {round}, page {page}: {lost:?}");
        let mut missing = 0;
        for session in 0..SESSIONS {
            let found = answers(&server, session);
            let expected: BTreeSet<String> = (0..TURNS).map(|turn| words(session, turn)).collect();
            assert!(found.is_subset(&expected), "round {round}, page {page}: {found:?}");
            missing += expected.len() - found.len();
        }
        assert!(
            missing == 0 || !lost.is_empty(),
            "round {round}, page {page}: {missing} answers went unsaid"
        );
        mended += usize::from(is_ready);
        lossy += usize::from(missing > 0);
        server.terminate();
    }
    tell(&format!(
        "{rounds} pages were destroyed: {mended} times the server mended or did not need it and took messages, {lossy} times \
         answers were lost, and each time the repair said so"
    ));
}
