//! What judging takes, by the meter of the judge: a hostile command is refused within the budget, and everything is charged
//! before it is made.

use aethon_guard::shell_rules::{Meter, Refusal, ShellRules};

fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Judges a command, and asserts that it is refused if it takes more than the budget.
fn check_budget(rules: &ShellRules, text: &str) -> Meter {
    let meter = rules.meter(text);
    let is_within = meter.steps <= Meter::MAX_STEPS && meter.bytes <= Meter::MAX_BYTES;
    assert!(
        is_within || rules.check(text).is_err(),
        "not refused beyond the budget: {meter:?} for {text:.200}"
    );
    meter
}

#[test]
fn a_hostile_command_is_refused_within_the_budget() {
    let rules = ShellRules::new(&["rm -rf /".to_owned(), "sudo".to_owned()], None);
    let doubled = format!("a=xxxxxxxxxxxxxxxxxxxx{}", ";a=$a$a$a$a$a$a$a$a".repeat(8));
    assert!(doubled.len() < 200, "{}", doubled.len());
    let involved = [
        doubled.clone(),
        format!("{doubled}; echo \"$a\""),
        "{a,b}".repeat(30),
        format!("echo {}", "{a,b}".repeat(40)),
        format!("echo {}{}", "{a,".repeat(20_000), "}".repeat(20_000)),
        "echo {1..999999999}".to_owned(),
        "echo {1..9223372036854775807}{1..9}".to_owned(),
        format!("a=xxxxxxxx{}", ";a=${a//x/$a}".repeat(12)),
        format!("x(){{ a=$a$a$a;}};a=xxxxxxxx;{}", "x;".repeat(40)),
        format!("a=xxxx;{}", "printf -v a '%s%s%s%s' $a $a $a $a;".repeat(20)),
        format!("a=xxxx;{}", "a=$(echo $a$a$a$a);".repeat(20)),
        format!("a=xxxx;{}", "a=`printf %s $a $a $a`;".repeat(30)),
        format!("a=(x x x x);{}", "a=(\"${a[@]}\" \"${a[@]}\" \"${a[@]}\");".repeat(20)),
        format!("set x x x x;{}", "set \"$@\" \"$@\" \"$@\";".repeat(20)),
        format!(
            "for i in {{1..200}}; do {}:;{}",
            "for j in {1..200}; do ".repeat(4),
            " done;".repeat(4) + " done"
        ),
        format!("echo x > f;{}", "cat f f f f > g; cat g g g g > f;".repeat(20)),
        format!("{}x{}", "$(".repeat(3_000), ")".repeat(3_000)),
        format!("{}ls", "eval ".repeat(3_000)),
        format!("printf '{}' x", "%256s".repeat(40_000)),
        "f(){ f;f; };f".repeat(200).replace("f;f;", "g;g;"),
        format!("a={}; echo {}", "x".repeat(100_000), "$a".repeat(20_000)),
        format!("a={}; echo \"{}\"", "x".repeat(100_000), "${a}".repeat(20_000)),
        format!("a={}; echo ${{b:-{}}}", "x".repeat(100_000), "$a".repeat(20_000)),
        format!("a={}; {} | sh", "x".repeat(50_000), "echo $a;".repeat(2_000)),
        "x".repeat(10 << 20),
    ];
    for command in &involved {
        check_budget(&rules, command);
    }
    for command in [&involved[0], &involved[2], &involved[10]] {
        assert_eq!(rules.check(command), Err(Refusal::TooInvolved), "{command}");
    }
    // The most that this process ever held, where the system tells.
    if let Some(peak) = peak_kib() {
        assert!(peak < 256 * 1024, "judging took {peak} KiB");
    }
    let sentence = Refusal::TooInvolved.to_string();
    assert!(sentence.contains("too involved to judge; run it in smaller steps"), "{sentence}");
}

#[test]
fn an_honest_command_is_far_from_the_budget() {
    let rules = ShellRules::new(&[], None);
    for command in
        ["ls", "for i in {1..20}; do echo $i; done", "find . -name '*.rs' | xargs wc -l | sort -n | tail"]
    {
        let meter = check_budget(&rules, command);
        assert!(meter.steps < 1_000 && meter.bytes < 20_000, "{command}: {meter:?}");
    }
}
