//! `/api/sessions/recordings`: inspect, verify, resume and remove recordings of sessions.
//!
//! A recording may come from a stranger. Any fault in one is 422 `bad_recording`, on every route that opens it.

use std::io::Read;

use aethon_core::error::Error;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::recording::{EventQuery, Layer, RecordingFile, RecordingName, resume as resume_session};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::{Body, BodyWriter};
use crate::deps::{Activity, Archive, Knowledge};
use crate::error::Problem;
use crate::json;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// How many bytes of a file are read and sent at a time.
const PART: usize = 256 << 10;

/// Which recordings are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<1000, 1000>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Which events are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Events {
    limit: Limit<200, 1000>,
    /// Only those of this part of the program.
    layer: Option<Layer>,
    /// Only those of this type.
    r#type: Option<String>,
    /// Only those after the one with this number.
    after: Option<u64>,
}

/// Two snapshots, by their numbers.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Between {
    /// The earlier one.
    from: u64,
    /// The later one.
    to: u64,
}

/// The new conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionNamed")]
pub(super) struct Resumed {
    session_id: SessionId,
}

/// `GET /api/sessions/recordings?limit&cursor`: newest first. Refused ones state why, and those in progress are listed
/// separately.
pub(super) async fn list(knowledge: Knowledge, request: Request) -> HandlerResult {
    let Listing { limit, cursor } = request.queried()?;
    let Some(archive) = &knowledge.archive else {
        return response::json(&json::RecordingList::default());
    };
    let listed = json::recordings(&*archive.recordings, cursor.as_deref(), limit.get()).await;
    let listed = listed.map_err(|error| match error.is_invalid() && cursor.is_some() {
        true => Problem::invalid("cursor", "names a recording that is not there (any more); begin again"),
        false => error.into(),
    })?;
    response::json(&listed)
}

/// `GET .../{name}`.
pub(super) async fn show(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    response::json(&json::recording(&archive.recordings.show(&name).await.map_err(refused)?))
}

/// `GET .../{name}/verify`: checks every checksum; a recording with a wrong one is refused.
pub(super) async fn verify(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    response::json(&json::verified(&archive.recordings.show(&name).await.map_err(refused)?))
}

/// `DELETE .../{name}`: works for refused recordings too.
pub(super) async fn remove(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    if !archive.recordings.remove(&name).await? {
        return Err(unknown());
    }
    tracing::info!(recording = %name, address = request.client.shown(), "a recording was removed");
    Ok(response::no_content())
}

/// `GET .../{name}/events?layer&type&after&limit`: events after the one with number `after`.
pub(super) async fn events(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    let Events { limit, layer, r#type: kind, after } = request.queried()?;
    let query = EventQuery { layer, kind, after, limit: limit.get() };
    let page = archive.recordings.events(&name, query).await.map_err(refused)?;
    response::json(&json::recorded_events(&page))
}

/// `GET .../{name}/snapshots`.
pub(super) async fn snapshots(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    response::json(&json::snapshots(&*archive.recordings, &name).await.map_err(refused)?)
}

/// `GET .../{name}/snapshots/{n}`: the complete state after that turn.
pub(super) async fn snapshot(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    let at = (&name, number(&request)?);
    response::json(&json::snapshot(&*archive.recordings, at).await.map_err(refused)?)
}

/// `GET .../{name}/diff?from&to`: the differences between two snapshots.
pub(super) async fn diff(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    let Between { from, to } = request.queried()?;
    response::json(&json::difference(&*archive.recordings, &name, (from, to)).await.map_err(refused)?)
}

/// `POST .../{name}/replay/{n}`: what resuming from there would produce. Changes nothing.
pub(super) async fn replay(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    let at = (&name, number(&request)?);
    response::json(&json::replay(&*archive.recordings, at).await.map_err(refused)?)
}

/// `POST .../{name}/resume/{n}`: creates a session with the conversation as it was at that snapshot.
pub(super) async fn resume((knowledge, activity): (Knowledge, Activity), request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    let number = number(&request)?;
    let session = resume_session(&*archive.recordings, &*archive.sessions, (&name, number)).await;
    let session = session.map_err(refused)?;
    tracing::info!(recording = %name, snapshot = number, %session, "a session goes on from a recording");
    activity.bus.publish(|| Event::Session { session: session.clone(), change: SessionChange::Created });
    response::created(&Resumed { session_id: session })
}

/// `GET .../{name}/download`: the file itself, after verification.
pub(super) async fn download(knowledge: Knowledge, request: Request) -> HandlerResult {
    let (archive, name) = named(&knowledge, &request)?;
    let file = archive.recordings.download(&name).await.map_err(refused)?;
    let (writer, body) = Body::stream();
    // Ends with the file, or when the connection closes and writing fails.
    tokio::spawn(send(file, writer));
    let disposition = format!("attachment; filename=\"{}.zip\"", file_name(name.as_str()));
    let disposition = HeaderValue::try_from(disposition).unwrap_or(HeaderValue::from_static("attachment"));
    let mut answer = response::with_body(StatusCode::OK, body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    answer.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    Ok(answer)
}

async fn send(file: RecordingFile, writer: BodyWriter) {
    let mut bytes = file.bytes;
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut part = Vec::with_capacity(PART);
            let read = Read::take(&mut *bytes, PART as u64).read_to_end(&mut part);
            read.map(|_| (part, bytes))
        });
        let part = match read.await {
            Ok(Ok((part, rest))) => {
                bytes = rest;
                part
            }
            Ok(Err(error)) => {
                // The status is already sent, so the file can only be cut off.
                tracing::error!(%error, "the download of a recording was cut off");
                return;
            }
            Err(_) => return,
        };
        if part.is_empty() {
            // If the client leaves at the very end, nothing is lost.
            let _ = writer.finish().await;
            return;
        }
        if writer.write(Bytes::from(part)).await.is_err() {
            tracing::debug!("a client left during the download of a recording");
            return;
        }
    }
}

/// Returns the recording that a path names.
fn named<'k>(knowledge: &'k Knowledge, request: &Request) -> Result<(&'k Archive, RecordingName), Problem> {
    let name = request.params.get::<String>("name");
    let name = name.and_then(|name| RecordingName::parse(&name)).ok_or_else(unknown)?;
    Ok((knowledge.archive.as_ref().ok_or_else(unknown)?, name))
}

fn number(request: &Request) -> Result<u64, Problem> {
    let detail = "there is no such snapshot; GET .../snapshots lists them";
    request.params.get("n").ok_or_else(|| Problem::not_found(detail))
}

fn unknown() -> Problem {
    Problem::not_found("there is no such recording; GET /api/sessions/recordings lists them")
}

/// Blames a fault in a recording on the recording rather than on the program.
fn refused(error: Error) -> Problem {
    if error.is_invalid() {
        return Problem::invalid("name", error.to_string()).with_code(json::BAD_RECORDING);
    }
    Problem::from(error)
}

/// Derives a file name of plain characters.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::error::Result;
    use aethon_core::message::{Block, Message, Role};
    use aethon_core::recording::{
        EventPage, ListedRecording, Listing, Manifest, RecordedEvent, RecordedState, Recording, Recordings,
        RunningRecording, SnapshotSummary,
    };
    use aethon_core::testkit::MemoryStore;
    use async_trait::async_trait;
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::service::tests::TestApp;

    /// A fake with two recordings: `good` has one snapshot, `bad` is refused.
    struct Fake;

    fn manifest() -> Manifest {
        let started_at: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        Manifest {
            format_version: 1,
            session_id: "telegram:7".into(),
            started_at,
            ended_at: started_at + jiff::SignedDuration::from_secs(90),
            version: "0.3.0".into(),
            events_count: 2,
            snapshots_count: 1,
        }
    }

    fn judge(name: &RecordingName) -> Result<()> {
        match name.as_str() {
            "good" => Ok(()),
            "bad" => Err(Error::invalid("this recording is refused: it is not a ZIP file")),
            _ => Err(Error::not_found("there is no such recording")),
        }
    }

    #[async_trait]
    impl Recordings for Fake {
        async fn list(&self) -> Result<Listing> {
            let row = |name: &str, manifest| ListedRecording {
                name: RecordingName::parse(name).unwrap(),
                size: 7,
                manifest,
            };
            let ended = vec![row("good", Ok(manifest())), row("bad", Err("it is not a ZIP file".into()))];
            let running = RunningRecording {
                name: RecordingName::parse("now").unwrap(),
                session_id: "webchat:default".into(),
                started_at: "2026-11-22T10:00:00.000Z".into(),
                size: 5,
            };
            Ok(Listing { ended, running: vec![running] })
        }
        async fn show(&self, name: &RecordingName) -> Result<Recording> {
            judge(name)?;
            Ok(Recording { name: name.clone(), size: 7, manifest: manifest(), entries: Vec::new() })
        }
        async fn events(&self, name: &RecordingName, query: EventQuery) -> Result<EventPage> {
            judge(name)?;
            let (ts, data) = (String::new(), json!({ "after": query.after }));
            let layer = query.layer.unwrap_or(Layer::Sys);
            let event = RecordedEvent { ts, layer, r#type: "x".into(), data, trace_id: "t".into(), seq: 2 };
            Ok(EventPage { events: vec![event], next_after: None })
        }
        async fn snapshots(&self, name: &RecordingName) -> Result<Vec<SnapshotSummary>> {
            judge(name)?;
            Ok(vec![SnapshotSummary { n: 1, ts: None, message_count: 1, turn: None }])
        }
        async fn snapshot(&self, name: &RecordingName, number: u64) -> Result<RecordedState> {
            judge(name)?;
            if number != 1 {
                return Err(Error::not_found("there is no such snapshot"));
            }
            let message = Message::new(Role::User, vec![Block::text("hello")], manifest().started_at);
            Ok(RecordedState {
                summary: SnapshotSummary { n: 1, ts: None, message_count: 1, turn: None },
                messages: vec![message],
                system_prompt: "p".into(),
                tools: Vec::new(),
                model: "m".into(),
                cwd: "/".into(),
                is_own: true,
            })
        }
        async fn download(&self, name: &RecordingName) -> Result<RecordingFile> {
            judge(name)?;
            Ok(RecordingFile { size: 7, bytes: Box::new(&b"PK-file"[..]) })
        }
        async fn remove(&self, name: &RecordingName) -> Result<bool> {
            Ok(matches!(name.as_str(), "good" | "bad"))
        }
    }

    fn app() -> (TestApp, Arc<MemoryStore>) {
        let store = Arc::new(MemoryStore::default());
        (TestApp::recorded(Archive { recordings: Arc::new(Fake), sessions: store.clone() }), store)
    }

    #[tokio::test]
    async fn the_list_has_pages() {
        let (app, _store) = app();
        let get = async |query: &str| app.get(&format!("/api/sessions/recordings?{query}"), &[]).await;
        let first = get("limit=1").await.json();
        assert_eq!((&first["recordings"][0]["name"], &first["count"]), (&json!("good"), &json!(2)));
        assert_eq!(first["next_cursor"], "good");
        let second = get("limit=1&cursor=good").await.json();
        assert_eq!(second["recordings"].as_array().unwrap().len(), 1);
        assert_eq!((&second["recordings"][0]["name"], &second["next_cursor"]), (&json!("bad"), &Value::Null));
        assert_eq!(get("cursor=bad").await.json()["recordings"], json!([]));
        let gone = get("cursor=gone").await;
        assert_eq!((gone.status, &gone.json()["errors"][0]["field"]), (422, &json!("cursor")));
        assert_eq!(get("limit=0").await.status, 422);
    }

    #[tokio::test]
    async fn every_route_has_its_document() {
        let (app, store) = app();
        let get = async |rest: &str| app.get(&format!("/api/sessions/recordings{rest}"), &[]).await;
        let list = get("").await.json();
        let row = &list["recordings"][0];
        assert_eq!(
            (&row["name"], &row["session_id"], &row["valid"]),
            (&json!("good"), &json!("telegram:7"), &json!(true))
        );
        assert_eq!(row["ended_at"], "2026-11-22T10:01:30.000Z");
        let refused = &list["recordings"][1];
        assert_eq!((&refused["code"], &refused["valid"]), (&json!("bad_recording"), &json!(false)));
        assert_eq!(
            (&list["count"], &list["running"]),
            (
                &json!(2),
                &json!([{
                    "name": "now", "session_id": "webchat:default",
                    "started_at": "2026-11-22T10:00:00.000Z", "size": 5
                }])
            )
        );
        let about = get("/good").await.json();
        assert_eq!((&about["duration"], &about["has_resumable_state"]), (&json!(90.0), &json!(true)));
        assert_eq!(about["metadata"]["format_version"], 1);
        let events = get("/good/events?layer=tool&after=1").await.json();
        assert_eq!(
            (&events["events"][0]["layer"], &events["events"][0]["data"]["after"]),
            (&json!("tool"), &json!(1))
        );
        assert_eq!(get("/good/events?layer=none").await.status, 422);
        assert_eq!(get("/good/snapshots").await.json()["snapshots"][0]["message_count"], 1);
        let state = get("/good/snapshots/1").await.json();
        assert_eq!(
            (&state["messages"][0]["content"][0]["text"], &state["cwd"]),
            (&json!("hello"), &json!("/"))
        );
        assert_eq!(get("/good/diff?from=1&to=1").await.json()["added"], json!([]));
        assert_eq!(get("/good/diff?from=1").await.status, 422);
        assert_eq!(get("/good/verify").await.json()["valid"], true);
        let file = get("/good/download").await;
        assert_eq!((file.status, file.header("content-type")), (200, "application/zip"));
        let post =
            async |rest: &str| app.send("POST", &format!("/api/sessions/recordings{rest}"), &[], "").await;
        let preview = post("/good/replay/1").await.json();
        assert_eq!((&preview["preview"], &preview["session_id"]), (&json!(true), &json!("telegram:7")));
        let made = post("/good/resume/1").await;
        assert_eq!(made.status, 201);
        let session: Value = made.json()["session_id"].clone();
        let id = aethon_core::ids::SessionId::parse(session.as_str().unwrap()).unwrap();
        assert_eq!((id.channel(), store.transcript(&id).len()), ("webchat", 1));
        assert_eq!(app.send("DELETE", "/api/sessions/recordings/bad", &[], "").await.status, 204);
    }

    #[tokio::test]
    async fn a_refused_recording_is_422_everywhere_and_an_unknown_one_404() {
        let (app, _) = app();
        for rest in ["", "/events", "/snapshots", "/snapshots/1", "/diff?from=1&to=1", "/verify", "/download"]
        {
            let bad = app.get(&format!("/api/sessions/recordings/bad{rest}"), &[]).await;
            assert_eq!((bad.status, bad.code().as_str()), (422, "bad_recording"), "{rest}");
            let none = app.get(&format!("/api/sessions/recordings/none{rest}"), &[]).await;
            assert_eq!(none.code(), "not_found", "{rest}");
        }
        for rest in ["/replay/1", "/resume/1"] {
            let bad = app.send("POST", &format!("/api/sessions/recordings/bad{rest}"), &[], "").await;
            assert_eq!(bad.code(), "bad_recording", "{rest}");
        }
        for path in ["good/snapshots/2", "good/snapshots/x", "..%2fx", "%2ehidden", "a%00"] {
            assert_eq!(
                app.get(&format!("/api/sessions/recordings/{path}"), &[]).await.code(),
                "not_found",
                "{path}"
            );
        }
        assert_eq!(app.send("DELETE", "/api/sessions/recordings/none", &[], "").await.code(), "not_found");
        let without = TestApp::new(crate::options::Options::default());
        assert_eq!(without.get("/api/sessions/recordings", &[]).await.json()["recordings"], json!([]));
    }
}
