//! What happens when the server, or the way to it, fails: nothing acknowledged is lost, nothing is stored twice, and a person
//! reads what to do.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::ids::TurnId;
use aethon_core::message::Role;
use aethon_core::session::{Accepted, Transcripts, TurnLog};
use aethon_core::testkit::phrases::*;
use aethon_postgres::testkit::OwnServer;
use aethon_postgres::{LeaseClock, OpenMode, Options, Store, testkit};
use jiff::{SignedDuration, Timestamp};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_blocking;
use tokio_postgres::NoTls;

/// A way to the server that can be cut.
struct Way {
    url: String,
    /// The next commit reaches the server, but its confirmation is lost.
    cuts_commits: Arc<AtomicBool>,
    /// Nothing gets through.
    is_closed: Arc<AtomicBool>,
}

impl Way {
    async fn to(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (before, rest) = url.split_once("@127.0.0.1:").unwrap();
        let (target, after) = rest.split_once('/').unwrap();
        let target: u16 = target.parse().unwrap();
        let way = Self {
            url: format!("{before}@127.0.0.1:{port}/{after}"),
            cuts_commits: Arc::default(),
            is_closed: Arc::default(),
        };
        let (cuts, closed) = (way.cuts_commits.clone(), way.is_closed.clone());
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                if !closed.load(Ordering::SeqCst) {
                    tokio::spawn(forward(client, target, cuts.clone(), closed.clone()));
                }
            }
        });
        way
    }
}

async fn forward(mut client: TcpStream, target: u16, cuts: Arc<AtomicBool>, closed: Arc<AtomicBool>) {
    let mut server = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
    let (mut asked, mut answered) = ([0; 16 << 10], [0; 16 << 10]);
    while !closed.load(Ordering::SeqCst) {
        tokio::select! {
            read = client.read(&mut asked) => {
                let read = read.unwrap_or(0);
                let is_commit = asked[..read].windows(6).any(|word| word == b"COMMIT");
                if read == 0 || server.write_all(&asked[..read]).await.is_err() {
                    return;
                }
                if is_commit && cuts.swap(false, Ordering::SeqCst) {
                    // The server has it before the connection ends.
                    let _ = server.read(&mut answered).await;
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let read = read.unwrap_or(0);
                if read == 0 || client.write_all(&answered[..read]).await.is_err() {
                    return;
                }
            }
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
}

async fn open(url: &str) -> Store {
    Store::open(url, Options::default()).await.unwrap()
}

async fn accept(store: &Store, text: &str) -> TurnId {
    let turn = TurnId::fresh();
    let accepted = store.accept(&turn, &say("webchat:a", text), Some(begin(text))).await.unwrap();
    assert!(matches!(accepted, Accepted::New(Some(_))), "{accepted:?}");
    turn
}

async fn refusal(url: &str) -> String {
    Store::open(url, Options::default()).await.unwrap_err().to_string()
}

/// Runs a statement as the owner of the server.
async fn run(statement: &str) {
    let (client, connection) = tokio_postgres::connect(&testkit::url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap();
}

#[tokio::test]
async fn unconfirmed_commit_is_looked_up_and_stored_once() {
    let way = Way::to(&testkit::database().await).await;
    let store = open(&way.url).await;
    for round in 0..5 {
        way.cuts_commits.store(true, Ordering::SeqCst);
        let text = format!("round {round}");
        let turn = accept(&store, &text).await;
        assert!(!way.cuts_commits.load(Ordering::SeqCst), "a commit was cut");
        way.cuts_commits.store(true, Ordering::SeqCst);
        store.finish(finish(&turn, "webchat:a", "done")).await.unwrap();
    }
    let messages = store.window(&session("webchat:a"), 100).await.unwrap();
    let expected: Vec<String> =
        (0..5).flat_map(|round| [format!("round {round}"), "done".to_owned()]).collect();
    assert_eq!(texts(&messages), expected);
    assert!(store.health().fault().is_none());
}

#[tokio::test]
async fn commit_cut_off_from_its_standby_counts_when_the_standby_has_it() {
    let servers = spawn_blocking(|| {
        let primary = OwnServer::start();
        let standby = primary.standby();
        (primary, standby)
    });
    let (primary, standby) = servers.await.unwrap();
    let store = open(&primary.url).await;
    accept(&store, "first").await;
    let standby = spawn_blocking(move || {
        standby.stop();
        standby
    });
    let standby = standby.await.unwrap();
    let mut accepting = std::pin::pin!(accept(&store, "second"));
    let cut = async {
        let (client, connection) = tokio_postgres::connect(&primary.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let waits = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        while client.query(waits, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // It is there for all who read, but on this server only.
        tokio::time::sleep(Duration::from_secs(2)).await;
    };
    tokio::select! {
        _ = &mut accepting => panic!("it was confirmed without its standby"),
        () = cut => {}
    }
    let back = spawn_blocking(move || {
        standby.crash();
        standby
    });
    let standby = back.await.unwrap();
    tokio::time::timeout(Duration::from_secs(30), accepting).await.unwrap();
    let moved = spawn_blocking(move || {
        primary.fail_over_to(&standby);
        (primary, standby)
    });
    let (_primary, standby) = moved.await.unwrap();
    let messages = open(&standby.url).await.window(&session("webchat:a"), 100).await.unwrap();
    assert_eq!(texts(&messages), ["first", "second"]);
}

#[tokio::test]
async fn connections_that_the_server_ends_are_replaced() {
    let url = testkit::database().await;
    let schema = url.rsplit("%3D").next().unwrap();
    let store = open(&format!("{url}&application_name={schema}")).await;
    for round in 0..3 {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let served = tokio::spawn(connection);
        let ended = client
            .batch_execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND application_name = current_schema()",
            )
            .await;
        ended.unwrap();
        drop(client);
        served.await.unwrap().unwrap();
        store
            .post(&session("webchat:a"), &format!("k{round}"), message(Role::Assistant, schema))
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(store.window(&session("webchat:a"), 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn lost_server_is_reported_and_its_return_is_noticed() {
    let way = Way::to(&testkit::database().await).await;
    let store = open(&way.url).await;
    way.is_closed.store(true, Ordering::SeqCst);
    let error = store.post(&session("webchat:a"), "k", message(Role::Assistant, "x")).await.unwrap_err();
    assert!(error.is_unavailable() && error.to_string().contains("cannot be reached"), "{error}");
    assert!(store.health().check().is_err());
    way.is_closed.store(false, Ordering::SeqCst);
    let mut watched = store.health().watch();
    let recovered = watched.wait_for(Option::is_none);
    tokio::time::timeout(Duration::from_secs(15), recovered).await.unwrap().unwrap();
    store.post(&session("webchat:a"), "k", message(Role::Assistant, "x")).await.unwrap().unwrap();
    assert_eq!(store.window(&session("webchat:a"), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn start_error_names_the_remedy_and_no_password() {
    let url = testkit::database().await;
    let server = testkit::url();
    let check = async |url: String, words: &str| {
        let refusal = refusal(&url).await;
        assert!(refusal.contains(words), "{words}: {refusal}");
        assert!(!refusal.contains("sesame"), "{refusal}");
    };
    check(url.replace("sesame", "barley"), "refused the sign-in").await;
    check(server.replace("/postgres", "/nowhere"), "the database does not exist").await;
    check(
        format!("{server}?options=-csearch_path%3Dnowhere"),
        "no schema of the database postgres on 127.0.0.1",
    )
    .await;
    check(format!("{url}%20-cdefault_transaction_read_only%3Don"), "only reads, like a standby").await;
    check("postgres://ada:sesame@127.0.0.1:1/x".to_owned(), "cannot be reached").await;
    check(format!("{url}&sslmode=require"), "takes no encrypted connections").await;
    check(format!("{url}&sslrootcert=/nowhere/ca.pem"), "/nowhere/ca.pem").await;
    check(format!("{url}&sslrootcert=/dev/null"), "`sslrootcert`").await;
    let name = format!("poor_{}", url.rsplit("%3D").next().unwrap());
    run(&format!("CREATE ROLE {name} LOGIN PASSWORD 'sesame'")).await;
    let poor = format!("postgres://{name}:sesame@{}", server.split_once('@').unwrap().1);
    check(poor, "too few rights").await;

    drop(open(&url).await);
    let schema = url.rsplit("%3D").next().unwrap();
    run(&format!("INSERT INTO {schema}.aethon_format (version) VALUES (999)")).await;
    check(url, "a newer version of aethon wrote the database postgres on 127.0.0.1").await;
}

#[tokio::test]
async fn daemons_of_several_homes_serve_one_database_and_each_takes_up_its_own() {
    use aethon_core::instance::Instances;
    use aethon_core::owner::Owners;
    let url = testkit::database().await;
    let daemon = |instance: &str| {
        let options = Options::default().with(|options| {
            (options.mode, options.instance) = (OpenMode::Daemon, instance.to_owned());
            "1.2.3".clone_into(&mut options.version);
            options.lease_clock = LeaseClock::Server;
            options.lease = Duration::from_secs(2);
        });
        Store::open(&url, options)
    };
    let names = async |store: &Store| -> Vec<(String, bool)> {
        let listed = store.instances().await.unwrap();
        assert!(
            listed.iter().all(|one| one.version == "1.2.3" && one.last_seen >= one.started_at),
            "{listed:?}"
        );
        listed.into_iter().map(|one| (one.name, one.this)).collect()
    };
    let role = ["channels".to_owned()];
    let one = daemon("one:/home").await.unwrap();
    let two = daemon("two:/home").await.unwrap();
    assert_eq!(names(&two).await, [("one:/home".to_owned(), false), ("two:/home".to_owned(), true)]);
    assert_eq!(one.hold(&role).await.unwrap(), role);
    assert!(two.hold(&role).await.unwrap().is_empty());
    let turn = accept(&one, "hello").await;
    // What a living instance has is not taken from it.
    assert!(two.orphaned().await.unwrap().is_empty());
    drop(one);
    // It was killed: the next daemon of its home takes over its work at once.
    let again = daemon("one:/home").await.unwrap();
    let orphans = again.take_over(&session("webchat:a")).await.unwrap();
    assert_eq!(
        orphans.into_iter().map(|record| record.turn).collect::<Vec<_>>(),
        std::slice::from_ref(&turn)
    );
    assert_eq!(again.hold(&role).await.unwrap(), role);
    drop(again);
    // It is gone without a word: when its lease is over, another one has its turn and its role.
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while two.orphaned().await.unwrap().is_empty() || two.hold(&role).await.unwrap().is_empty() {
        assert!(std::time::Instant::now() < until, "its lease is never over");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let orphans = two.take_over(&session("webchat:a")).await.unwrap();
    assert_eq!(orphans.into_iter().map(|record| record.turn).collect::<Vec<_>>(), [turn]);
    assert_eq!(names(&two).await, [("two:/home".to_owned(), true)]);
}

#[tokio::test]
async fn upgrade_waits_for_daemons_of_an_older_version_and_refuses_while_one_lives() {
    let url = testkit::database().await;
    let schema = url.rsplit("%3D").next().unwrap();
    let options = Options::default().with(|options| {
        options.mode = OpenMode::Daemon;
        "old:/home".clone_into(&mut options.instance);
        options.lease_clock = LeaseClock::Server;
    });
    let old = Store::open(&url, options).await.unwrap();
    run(&format!("DELETE FROM {schema}.aethon_format WHERE version > 1")).await;
    run(&format!(
        "DROP TABLE {schema}.roles, {schema}.binned_sessions; ALTER TABLE {schema}.owners DROP COLUMN version, DROP COLUMN started_at,
        DROP COLUMN seen_at; UPDATE {schema}.owners SET lease_until = lease_until + 100000"
    ))
    .await;
    let brief = Options::default().with(|options| options.lease = Duration::from_millis(400));
    let refused = Store::open(&url, brief.clone()).await.unwrap_err().to_string();
    assert!(
        refused.contains("an aethon-server of an older version uses this database (old:/home)"),
        "{refused}"
    );
    drop(old);
    run(&format!("UPDATE {schema}.owners SET lease_until = 0")).await;
    assert_eq!(Store::open(&url, brief).await.unwrap().format(), 3);
}

#[tokio::test]
async fn programs_that_open_an_empty_database_at_once_find_one_format() {
    let url = testkit::database().await;
    let opened = (0..6).map(|_| {
        let url = url.clone();
        tokio::spawn(async move { open(&url).await })
    });
    let mut stores = Vec::new();
    for store in opened.collect::<Vec<_>>() {
        stores.push(store.await.unwrap());
    }
    // All write in one conversation at once, and the numbers grow in the order of commits.
    let posted = stores.into_iter().enumerate().map(|(number, store)| {
        tokio::spawn(async move {
            for round in 0..10 {
                let key = format!("{number}-{round}");
                store
                    .post(&session("webchat:a"), &key, message(Role::Assistant, &key))
                    .await
                    .unwrap()
                    .unwrap();
            }
        })
    });
    for posted in posted.collect::<Vec<_>>() {
        posted.await.unwrap();
    }
    let store = open(&url).await;
    let summary = store.session(&session("webchat:a")).await.unwrap().unwrap();
    assert_eq!(summary.message_count, 60);
    assert_eq!(store.messages(&session("webchat:a"), None, 100).await.unwrap().len(), 60);
}

#[tokio::test]
async fn a_zero_byte_in_a_text_is_kept_out_of_the_server() {
    let store = open(&testkit::database().await).await;
    let turn = accept(&store, "a\0b").await;
    store.finish(finish(&turn, "webchat:a", "c\0d")).await.unwrap();
    assert_eq!(texts(&store.window(&session("webchat:a"), 9).await.unwrap()), ["a\0b", "c\0d"]);
    let query = aethon_core::session::SessionQuery::newest(9).with_search(Some("a\0b".into()));
    assert_eq!(store.sessions(query).await.unwrap().count, 1);
}

/// A clock that is wrong by so much.
struct ClockOff(SignedDuration);

impl Clock for ClockOff {
    fn now(&self) -> Timestamp {
        SystemClock.now() + self.0
    }
}

#[tokio::test]
async fn clock_of_the_machine_that_is_minutes_off_is_told() {
    let url = testkit::database().await;
    let told = async |off: SignedDuration| {
        let options = Options::default().with(|options| options.clock = Arc::new(ClockOff(off)));
        Store::open(&url, options).await.unwrap().clock_warning().await.unwrap().unwrap_or_default()
    };
    assert_eq!(told(SignedDuration::ZERO).await, "");
    // Half a minute more than is asserted, because time passes between the two readings.
    let ahead = told(SignedDuration::from_secs(210)).await;
    assert!(ahead.starts_with("the clock of this machine is 3 min "), "{ahead}");
    assert!(ahead.ends_with(" s ahead of that of the PostgreSQL server"), "{ahead}");
    let behind = told(-SignedDuration::from_secs(90 * 60 + 30)).await;
    assert!(behind.contains("is 1 h 30 min behind that of the PostgreSQL server"), "{behind}");
}
