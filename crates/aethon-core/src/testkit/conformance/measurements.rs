//! Measurements: kept in order, and summed by day.

use std::time::Duration;

use jiff::SignedDuration;

use super::stage::*;
use crate::ids::TurnId;
use crate::ledger::WorkKind;
use crate::telemetry::{
    ModelFacts, TelemetryEvent, TelemetryKind, TelemetryQuery, TelemetryStatus, TelemetrySum,
};
use crate::usage::day_of;

pub async fn what_was_measured_is_listed_newest_first_and_added_up(stage: Stage) {
    let log = &stage.storage.telemetry;
    let now = start();
    let long_ago = now - SignedDuration::from_hours(50);
    let mut call = ModelFacts::new("fake", "fake-1", WorkKind::Turn);
    (call.input_tokens, call.output_tokens, call.cost_usd) = (100, 7, 0.25);
    let (session, turn) = (session("webchat:a"), TurnId::fresh());
    let event = |kind, name, status, at| TelemetryEvent::new(kind, name, status, at);
    let shell = event(TelemetryKind::ToolCall, "shell", TelemetryStatus::Error, now)
        .took(Duration::from_millis(1500))
        .within(Some(&session), Some(&turn))
        .with_detail("it broke");
    let old = event(TelemetryKind::ToolCall, "shell", TelemetryStatus::Ok, long_ago)
        .took(Duration::from_millis(500));
    let model = event(TelemetryKind::ModelCall, "fake-1", TelemetryStatus::Ok, now)
        .took(Duration::from_secs(2))
        .with_call(call);
    log.keep_events(vec![old.clone(), shell.clone()]).await.unwrap();
    log.keep_events(vec![model.clone()]).await.unwrap();

    let query = |limit| TelemetryQuery { limit, ..TelemetryQuery::default() };
    let listed = async |query: TelemetryQuery| {
        let stored = log.events(query).await.unwrap();
        (
            stored.last().map(|stored| stored.id),
            stored.into_iter().map(|stored| stored.event).collect::<Vec<_>>(),
        )
    };
    let (before, newest) = listed(query(2)).await;
    assert_eq!(newest, [model.clone(), shell.clone()]);
    assert_eq!(listed(TelemetryQuery { before, ..query(2) }).await.1, std::slice::from_ref(&old));
    let tools = TelemetryQuery { kind: Some(TelemetryKind::ToolCall), ..query(9) };
    assert_eq!(listed(tools.clone()).await.1, [shell.clone(), old]);
    assert_eq!(listed(TelemetryQuery { since: Some(now), ..tools }).await.1, [shell]);

    let today = day_of(now);
    let first = day_of(long_ago);
    let all = log.event_sums(first..=today).await.unwrap();
    let of_today = log.event_sums(today..=today).await.unwrap();
    let count = |sums: &[TelemetrySum], kind: TelemetryKind| {
        sums.iter().filter(|sum| sum.kind == kind).map(|sum| sum.count).sum::<u64>()
    };
    assert_eq!(
        log.event_sums(first..=first).await.unwrap().len(),
        1,
        "the last day counts, and none after it"
    );
    let tool = TelemetryKind::ToolCall;
    assert_eq!((count(&all, tool), count(&of_today, tool)), (2, 1));
    assert_eq!(count(&all, TelemetryKind::ModelCall), 1);
    let failed = |sum: &&TelemetrySum| sum.status == TelemetryStatus::Error;
    let failed: Vec<_> = all.iter().filter(failed).map(|sum| (sum.name.as_str(), sum.count)).collect();
    assert_eq!(failed, [("shell", 1)]);
    let shell: f64 = all.iter().filter(|sum| sum.name == "shell").map(|sum| sum.seconds).sum();
    assert!((shell - 2.0).abs() < 1e-6, "{shell}");
    let tokens = |of: fn(&TelemetrySum) -> u64| all.iter().map(of).sum::<u64>();
    assert_eq!((tokens(|sum| sum.input_tokens), tokens(|sum| sum.output_tokens)), (100, 7));
    assert!((all.iter().map(|sum| sum.cost_usd).sum::<f64>() - 0.25).abs() < 1e-9);
}
