//! Damaged SOPs and cron expressions: each is read or refused, and reading it takes bounded time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

use aethon_core::fuzz_targets;
use aethon_core::schedule::Cron;
use aethon_core::sop::{SopName, SopOrigin};
use aethon_workflows::sop::parse;
use jiff::tz::TimeZone;

const SOPS: [&str; 2] = [
    include_str!("../src/sop/builtin/pdd.sop.md"),
    "# T\n\n## Overview\n\nText.\n\n## Parameters\n\n- **a** (optional, default: \"x\"): what\n\n## Steps\n\n### 1. One\n\nDo.\n",
];

const CRONS: [&str; 5] =
    ["0 8 * * *", "*/5 9-17 * * mon-fri", "@daily", "0 0 29 2 *", "1,2,3-59/7 0 1-31/2 jan,dec 0-7"];

fuzz_targets! {
    fuzz_sops: SOPS => |input| {
        let text = String::from_utf8_lossy(input);
        match parse(SopName::parse("some").unwrap(), SopOrigin::BuiltIn, &text) {
            Ok(sop) => assert!(!sop.steps.is_empty(), "{text:?}"),
            Err(faults) => assert!(!faults.is_empty(), "{text:?}"),
        }
    };
    fuzz_cron: CRONS => |input| {
        let text = String::from_utf8_lossy(input);
        let Ok(cron) = Cron::parse(&text) else { return };
        let mut at = "2026-02-03T04:05:06Z".parse().unwrap();
        for _ in 0..3 {
            let Some(next) = cron.next_after(at, &TimeZone::UTC) else { return };
            assert!(next > at, "{text:?}");
            at = next;
        }
    };
}
