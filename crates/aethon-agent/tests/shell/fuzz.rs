//! Damaged command lines, SOPs and cron expressions: each is read or refused, and the reading is bounded.

use aethon_agent::shell_rules::ShellRules;
use aethon_agent::sop::parse;
use aethon_core::fuzz_targets;
use aethon_core::schedule::Cron;
use aethon_core::sop::{SopName, SopOrigin};
use jiff::tz::TimeZone;

const COMMANDS: [&str; 6] = [
    "git commit -m \"$(cat <<'EOF'\nmessage\nEOF\n)\" && cargo test 2>&1 | tail -5",
    "for f in *.{rs,toml}; do sed -i \"s/${f%.*}/x/g\" \"$f\"; done",
    "a=$((1 << 3)); case $a in 8|9) echo ok;; *) exit 1;; esac",
    "x=r; y=m; $x$y -rf / ; eval \"$(printf '%s' cm0gLXJmIC8= | base64 -d)\"",
    "python3 -c 'import os; os.system(\"ls\")' <(echo a) > >(cat)",
    "if [[ -n ${x:-$(pwd)} ]]; then { echo \"${a[@]:1:2}\"; } & fi",
];

const SOPS: [&str; 2] = [
    include_str!("../../src/sop/builtin/pdd.sop.md"),
    "# T\n\n## Overview\n\nText.\n\n## Parameters\n\n- **a** (optional, default: \"x\"): what\n\n## Steps\n\n### 1. One\n\nDo.\n",
];

const CRONS: [&str; 5] =
    ["0 8 * * *", "*/5 9-17 * * mon-fri", "@daily", "0 0 29 2 *", "1,2,3-59/7 0 1-31/2 jan,dec 0-7"];

fuzz_targets! {
    fuzz_shell: COMMANDS => |input| {
        let text = String::from_utf8_lossy(input);
        let rules = ShellRules::new(&["sudo".to_owned()], None);
        let seen = rules.commands(&text);
        assert!(seen.is_ok() || rules.check(&text).is_err(), "{text:?}");
        let _ = rules.meter(&text);
    };
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
