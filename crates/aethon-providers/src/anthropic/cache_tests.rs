//! The savings of the cache marks: a model of the provider's cache, with its rules and prices, and a turn of many steps.

use std::collections::HashSet;

use aethon_core::message::{Block, Role};
use aethon_core::model::ModelRequest;
use serde_json::{Value, json};

use super::wire;
use crate::options::Provider;
use crate::testing::{call, message, policy_of, request, result, tool};

/// The provider's cache: prompt prefixes that ended at a mark.
#[derive(Default)]
struct Cache(HashSet<String>);

/// How many blocks the provider looks back from a mark for something it has cached.
const LOOK_BACK: usize = 20;
const WRITE: f64 = 1.25;
const READ: f64 = 0.1;

impl Cache {
    /// Returns the cost of a request's input, in units of one fresh byte, and caches the marked parts.
    fn bill(&mut self, body: &Value) -> f64 {
        let blocks = blocks(body);
        let marks: Vec<usize> =
            (0..blocks.len()).filter(|&at| blocks[at].get("cache_control").is_some()).collect();
        assert!(marks.len() <= 4, "the provider refuses more than four marks: {}", marks.len());
        let plain: Vec<String> = blocks.iter().map(unmarked).collect();
        let beginning = |end: usize| plain[..=end].concat();
        let is_kept = |&at: &usize| self.0.contains(&beginning(at));
        let hit =
            marks.iter().flat_map(|&mark| (mark.saturating_sub(LOOK_BACK)..=mark).filter(is_kept)).max();
        let read = hit.map_or(0, |at| beginning(at).len());
        let written = marks.last().map_or(read, |&mark| beginning(mark).len().max(read)) - read;
        let fresh = plain.concat().len() - read - written;
        self.0.extend(marks.into_iter().map(beginning));
        read as f64 * READ + written as f64 * WRITE + fresh as f64
    }
}

/// Returns the blocks of a request in the order in which the provider reads them.
fn blocks(body: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let messages = list(&body["messages"]).into_iter().flat_map(|message| list(&message["content"]));
    [list(&body["tools"]), list(&body["system"])].concat().into_iter().chain(messages).collect()
}

fn unmarked(block: &Value) -> String {
    let mut block = block.clone();
    block.as_object_mut().unwrap().remove("cache_control");
    block.to_string()
}

/// Returns the requests of one turn: this many steps with this many calls each.
fn turn(steps: usize, calls: usize) -> Vec<ModelRequest> {
    let mut messages = vec![message(Role::User, vec![Block::text("Read all of them.")])];
    let written = |messages: &[_]| {
        let mut request = request(messages.to_vec()).with_tools(vec![tool("file_read"), tool("file_list")]);
        request.system = "You help. ".repeat(800).into();
        request
    };
    let mut requests = vec![written(&messages)];
    for step in 0..steps {
        let ids: Vec<String> = (0..calls).map(|call| format!("call_{step}_{call}")).collect();
        let made = ids.iter().map(|id| call(id, "file_read", json!({ "path": id }))).collect();
        let came =
            ids.iter().map(|id| result(id, "file_read", &format!("{id} line\n").repeat(100))).collect();
        messages.push(message(Role::Assistant, made));
        messages.push(message(Role::Tool, came));
        requests.push(written(&messages));
    }
    requests
}

/// Returns the body with marks on the stable prefix only.
fn with_marks_on_the_prefix(mut body: Value) -> Value {
    for message in body["messages"].as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    body
}

#[test]
fn marks_on_the_newest_block_save_money_in_a_long_turn() {
    let policy = policy_of(Provider::Anthropic, "claude-sonnet-4-5");
    let check = |steps: usize, calls: usize, least_saved: f64| {
        let (mut plain, mut marked) = (Cache::default(), Cache::default());
        let (mut before, mut now) = (0.0, 0.0);
        for request in turn(steps, calls) {
            let body = wire::body(&request, &policy);
            before += plain.bill(&with_marks_on_the_prefix(body.clone()));
            now += marked.bill(&body);
        }
        let saved = 1.0 - now / before;
        assert!(saved >= least_saved, "{steps} steps of {calls} calls: {saved:.2} saved");
    };
    check(38, 1, 0.25);
    // More new blocks in a step than the provider looks back over.
    check(38, 15, 0.25);
    check(8, 1, 0.25);
}
