//! Two people who share an assistant (docs/household.md), over Telegram and mail. Facts of one never reach the other.

use aethon_tests::mail::MailHost;
use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, eventually, home, run_cli, run_server};
use serde_json::{Value, json};

const OWNER: i64 = 42;
const BEN: i64 = 43;
const GUEST: i64 = 44;
const BENS_MAIL: &str = "ben@x.example";

/// The context added to a session for the model.
fn recalled(server: &Server, session: &str) -> String {
    let messages = server.messages(session);
    let blocks =
        messages.iter().flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    blocks.filter(|block| block["type"] == "context").map(|block| block["text"].to_string()).collect()
}

fn say(telegram: &Telegram, person: i64, text: &str, answer: &str) -> String {
    telegram.say(person, text);
    let fits = |posted: &aethon_tests::telegram::PostedMessage| posted.text().contains(answer);
    telegram.await_message(person, answer, fits).text().to_owned()
}

fn remember(content: &str, shared: bool) -> String {
    format!("!tool manage_memory {}", json!({"action": "store", "content": content, "shared": shared}))
}

/// Which of the memories a text has: the owner's, Ben's, the shared one and the guest's.
fn knows(text: &str) -> [bool; 4] {
    ["oolong", "rooibos", "kettle", "matcha"].map(|word| text.contains(word))
}

/// With their memories, and to their chat.
fn check_job_owner(telegram: &Telegram, server: &Server, bens: [bool; 4]) {
    let job = json!({
        "run_at": "2099-01-01T00:00:00Z", "job_id": "tea",
        "prompt": "!tool manage_memory {\"action\":\"list\"}\n!say job done",
    });
    say(telegram, BEN, &format!("!tool schedule_task {job}"), "is scheduled");
    assert_eq!(server.post("/api/scheduler/jobs/tea/run", &json!({})).status, 201);
    telegram.await_message(BEN, "the job tells Ben", |posted| posted.text().contains("job done"));
    let runs = eventually("the run is over", || {
        let runs = server.get("/api/scheduler/jobs/tea/runs").json();
        (runs["runs"][0]["status"] == "ok").then_some(runs)
    });
    let run = runs["runs"][0]["run_id"].as_str().unwrap();
    let said = json!(server.messages(&format!("schedule:tea:{run}"))).to_string();
    assert_eq!(knows(&said), bens, "{said}");
    let jobs = say(telegram, GUEST, "!tool list_scheduled_jobs {}\n!say listed", "listed");
    assert!(!jobs.contains("tea"), "{jobs}");
    say(telegram, GUEST, "!tool remove_scheduled_job {\"job_id\":\"tea\"}", "there is no job");
}

fn check_specialist_owner(telegram: &Telegram, server: &Server) {
    let task = json!({"task": "!tool manage_memory {\"action\":\"list\"}"});
    say(telegram, BEN, &format!("!tool ask_analyst {task}"), "[conversation: ");
    let delegated = server.get("/api/sessions?limit=100").json();
    let delegated = delegated["sessions"].as_array().unwrap().clone();
    let delegated =
        delegated.iter().find(|session| session["session_id"].as_str().unwrap().starts_with("agent:"));
    let delegated =
        delegated.expect("the specialist has a session")["session_id"].as_str().unwrap().to_owned();
    let said = json!(server.messages(&delegated)).to_string();
    assert!(!said.contains("oolong") && !said.contains("matcha"), "{said}");
}

#[test]
fn two_people_on_two_messengers_have_private_and_shared_memories() {
    let (telegram, host, home) = (Telegram::start(), MailHost::start(), home());
    let mut settings = telegram.settings();
    settings.extend(host.settings());
    settings.extend(
        [
            "security.allowed_senders.telegram=[42,43,44]",
            "security.allowed_senders.email=[\"ben@x.example\"]",
            "household.people.owner.senders=[\"telegram:42\"]",
            "household.people.ben.senders=[\"telegram:43\",\"email:Ben@x.example\"]",
        ]
        .map(str::to_owned),
    );
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    host.await_idle();

    // Each tells something about their tea, and Ben something for all.
    say(&telegram, OWNER, &remember("The owner drinks oolong tea.", false), "Remembered");
    say(&telegram, BEN, &remember("Ben drinks rooibos tea.", false), "Remembered as memory 2");
    say(&telegram, BEN, &remember("The tea kettle leaks.", true), "Remembered as memory 3");
    say(&telegram, GUEST, &remember("The guest drinks matcha tea.", false), "Remembered as memory 4");
    let (owners, bens, guests) =
        ([true, false, true, false], [false, true, true, false], [false, false, false, true]);

    // The memories that they get without asking, and those they find.
    for (person, expected) in [(OWNER, owners), (BEN, bens), (GUEST, guests)] {
        telegram.say(person, "What about the tea?");
        let recalled = eventually("something is recalled", || {
            let recalled = recalled(&server, &format!("telegram:{person}"));
            (!recalled.is_empty()).then_some(recalled)
        });
        assert_eq!(knows(&recalled), expected, "{person}: {recalled}");
        let found = say(
            &telegram,
            person,
            "!tool manage_memory {\"action\":\"search\",\"query\":\"tea\"}",
            "The best match",
        );
        assert_eq!(knows(&found), expected, "{person}: {found}");
    }
    // Ben in his mail is Ben.
    host.put(1, BENS_MAIL, "", "!tool manage_memory {\"action\":\"list\"}");
    let listed = host.await_letter("Ben's mail is answered", |letter| letter.contains("2 of 2 memories"));
    assert_eq!(knows(&listed), bens, "{listed}");
    // A person cannot forget another's memory.
    say(&telegram, BEN, "!tool manage_memory {\"action\":\"forget\",\"id\":\"1\"}", "there is no memory 1");

    // The pages about the owner are neither written nor read for others.
    say(&telegram, OWNER, "!tool update_context {\"content\":\"The owner is in Lisbon.\"}", "is written");
    say(&telegram, BEN, "!tool update_context {\"content\":\"Ben was here.\"}", "owner's own words");
    say(&telegram, BEN, "!say after the page", "after the page");
    let bens_messages = json!(server.messages("telegram:43")).to_string();
    assert!(!bens_messages.contains("Lisbon"), "{bens_messages}");

    check_job_owner(&telegram, &server, bens);
    check_specialist_owner(&telegram, &server);

    // A new conversation of Ben's is Ben's alone.
    telegram.say(BEN, "/new");
    telegram.await_message(BEN, "a new conversation", |posted| posted.text().contains("new conversation"));
    say(&telegram, BEN, "!say elsewhere", "elsewhere");
    say(&telegram, OWNER, "!say where I was", "where I was");
    assert_eq!(server.said("telegram:43~2").last().unwrap().1, "elsewhere");
    assert_eq!(server.said("telegram:42").last().unwrap().1, "where I was");

    // The owner sees all, with the name.
    let all = server.get("/api/memory").json();
    let scopes: Vec<Option<&str>> =
        all["entries"].as_array().unwrap().iter().map(|entry| entry["scope"].as_str()).collect();
    assert_eq!(all["count"], 4, "{all}");
    assert!(
        scopes.contains(&None) && scopes.contains(&Some("ben")) && scopes.contains(&Some("shared")),
        "{all}"
    );
    assert!(scopes.contains(&Some("guest:telegram:44")), "{all}");
    let listed = run_cli(home.path(), &["memory", "list", "--scope", "ben", "--json"], None);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(listed["count"], 1, "{listed}");
    assert!(server.feature("household")["detail"].as_str().unwrap().contains("ben"));
    host.assert_well_spoken();
}

#[test]
fn person_can_share_a_conversation_across_messengers() {
    let (telegram, host, home) = (Telegram::start(), MailHost::start(), home());
    let mut settings = telegram.settings();
    settings.extend(host.settings());
    settings.extend(
        [
            "security.allowed_senders.telegram=[43]",
            "security.allowed_senders.email=[\"ben@x.example\"]",
            "household.people.ben={senders=[\"telegram:43\",\"email:ben@x.example\"],conversation=\"ben\"}",
        ]
        .map(str::to_owned),
    );
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    host.await_idle();
    say(&telegram, BEN, "!say on telegram", "on telegram");
    host.put(1, BENS_MAIL, "", "!say by mail");
    host.await_letter("the mail is answered", |letter| letter.contains("by mail"));
    let said: Vec<String> = server.said("household:ben").into_iter().map(|(_, text)| text).collect();
    assert!(said.contains(&"on telegram".to_owned()) && said.contains(&"by mail".to_owned()), "{said:?}");
    telegram.say(BEN, "/new");
    telegram.await_message(BEN, "a new conversation", |posted| posted.text().contains("new conversation"));
    host.put(2, BENS_MAIL, "", "!say in the new one");
    host.await_letter("it goes on in the new one", |letter| letter.contains("in the new one"));
    assert_eq!(server.said("household:ben~2").last().unwrap().1, "in the new one");
    drop(server);

    let wrong = [
        "household.people.ada.senders=[\"telegram:1\"]",
        "household.people.ben.senders=[\"telegram:1\",\"pigeon:2\"]",
    ];
    let mut arguments = vec!["--check", "--set", "model.provider=fake"];
    arguments.extend(wrong.iter().flat_map(|setting| ["--set", setting]));
    let refused = run_server(home.path(), &arguments);
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    for part in ["household.people.ben.senders", "already assigned to ada", "pigeon"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn household_approvals_go_to_the_owner_only() {
    let (telegram, home) = (Telegram::start(), home());
    let mut settings = telegram.settings();
    settings.extend(
        [
            "security.allowed_senders.telegram=[42,43,44]",
            "household.people.owner.senders=[\"telegram:42\"]",
            "household.people.ben={senders=[\"telegram:43\"],tools=[\"shell\"]}",
            "approval.enabled=true",
            "approval.requires_approval=[\"shell\",\"current_time\"]",
        ]
        .map(str::to_owned),
    );
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    let denied = "this channel cannot ask for one";
    let command = |name: &str| format!("!tool shell {}", json!({"command": format!("touch {name}")}));
    for (person, call) in [
        (BEN, command("bens-canary")),
        (BEN, "!tool current_time {}".to_owned()),
        (GUEST, "!tool current_time {}".to_owned()),
    ] {
        telegram.say(person, &format!("{call}\n!say done {person}"));
        telegram.await_message(person, "the turn ends", |posted| posted.text().contains("done"));
        let session = json!(server.messages(&format!("telegram:{person}"))).to_string();
        assert!(session.contains(denied), "{person}: {session}");
        let asked = telegram.chat(person).into_iter().any(|posted| !posted.buttons.is_empty());
        assert!(!asked, "{person} is not asked");
        assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]), "{person}");
    }

    // The owner gets the approval on the messenger, and no other press counts.
    telegram.say(OWNER, &command("owners-file"));
    let question = telegram.await_message(OWNER, "the question", |posted| posted.buttons.len() == 2);
    telegram.press(BEN, &question, &question.buttons[0]);
    eventually("Ben is refused", || {
        telegram.answers().iter().any(|answer| answer.contains("Only the person")).then_some(())
    });
    telegram.press(OWNER, &question, &question.buttons[0]);
    telegram.await_message(OWNER, "the outcome", |posted| posted.text().ends_with("Approved"));
    // And on a socket.
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": command("from-the-socket")}));
    let question = chat.until("approval").pop().unwrap();
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve"}));
    chat.until("done");
    let workspace = home.path().join("workspace");
    eventually("what the owner approved is done", || {
        ["owners-file", "from-the-socket"].iter().all(|name| workspace.join(name).exists()).then_some(())
    });
    assert!(!workspace.join("bens-canary").exists());
    drop(server);

    let mut arguments = vec!["--check"];
    arguments.extend(settings.iter().chain(&["model.provider=fake"]).flat_map(|setting| ["--set", setting]));
    let checked = run_server(home.path(), &arguments);
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(text.contains("owners there: 1"), "{text} {}", String::from_utf8_lossy(&checked.stderr));
}
