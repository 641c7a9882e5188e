//! Requests made at random from the server's own OpenAPI document, valid ones and spoilt ones: no answer is a failure of the
//! server, and every answer is one that the document tells. docs/verification.md says how a longer round is run.

use aethon_tests::openapi::Contract;
use aethon_tests::{Random, Server};
use serde_json::json;

/// How many requests of each operation are made.
const ROUNDS: usize = 12;

#[test]
fn every_answer_matches_the_openapi_document() {
    // Recordings and memory have something to show; no request here leaves the machine.
    let server =
        Server::start(&["session_recorder.enabled=true", "work.enabled=true", "logging.level=error"]);
    let mut chat = server.chat("default");
    chat.say("m1", "!tool current_time {}\n!then\n!say hello");
    server.post("/api/memory", &json!({"content": "the kettle is red", "category": "kitchen"}));
    server.post("/api/scheduler/jobs", &json!({"job_id": "tea", "cron": "@yearly", "prompt": "!say tea"}));
    let contract = Contract::of(&server);
    let mut random = Random::new(0x0a37_2026);
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        for operation in contract.operations() {
            let request = contract.request(&operation, &mut random);
            let answer = server.send(&request);
            asked += 1;
            if let Err(why) = contract.check(&operation, &answer) {
                wrong.push(format!(
                    "round {round}: {} {}: {why}: {request:?}",
                    operation.method, operation.path
                ));
            }
        }
    }
    assert!(asked > 500, "{asked} requests");
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(server.get("/health").status, 200);
}
