//! Damaged command lines: each is read or refused, and reading it takes bounded time.

use aethon_core::fuzz_targets;
use aethon_guard::shell_rules::ShellRules;

const COMMANDS: [&str; 6] = [
    "git commit -m \"$(cat <<'EOF'\nmessage\nEOF\n)\" && cargo test 2>&1 | tail -5",
    "for f in *.{rs,toml}; do sed -i \"s/${f%.*}/x/g\" \"$f\"; done",
    "a=$((1 << 3)); case $a in 8|9) echo ok;; *) exit 1;; esac",
    "x=r; y=m; $x$y -rf / ; eval \"$(printf '%s' cm0gLXJmIC8= | base64 -d)\"",
    "python3 -c 'import os; os.system(\"ls\")' <(echo a) > >(cat)",
    "if [[ -n ${x:-$(pwd)} ]]; then { echo \"${a[@]:1:2}\"; } & fi",
];

fuzz_targets! {
    fuzz_shell: COMMANDS => |input| {
        let text = String::from_utf8_lossy(input);
        let rules = ShellRules::new(&["sudo".to_owned()], None);
        let seen = rules.commands(&text);
        assert!(seen.is_ok() || rules.check(&text).is_err(), "{text:?}");
        let _ = rules.meter(&text);
    };
}
