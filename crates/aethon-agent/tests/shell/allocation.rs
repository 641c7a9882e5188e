//! What judging takes of memory, counted by the allocator: a hostile command takes no more than an honest one of a few pages.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use aethon_agent::shell_rules::{Refusal, ShellRules};

use super::oracle::check_budget;

thread_local! {
    /// Bytes that this thread holds now, and the most it held.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// The allocator of the system, which counts.
struct Counting;

fn count(bytes: isize) {
    // A thread that ends has nothing to count any more.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

#[allow(unsafe_code, reason = "an allocator is unsafe by its trait; this one only counts")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that judging this held at once.
fn held_by(rules: &ShellRules, command: &str) -> isize {
    let before = HELD.get().0;
    HELD.set((before, before));
    let _ = rules.check(command);
    HELD.get().1 - before
}

const MIB: isize = 1 << 20;

#[test]
fn a_hostile_command_takes_little_memory() {
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
        "x".repeat(10 << 20),
    ];
    for command in &involved {
        let held = held_by(&rules, command);
        let shown: String = command.chars().take(60).collect();
        assert!(held < 48 * MIB, "{shown} took {} KiB", held / 1024);
        check_budget(&rules, command);
    }
    for command in [&involved[0], &involved[2], &involved[5], &involved[9], &involved[12]] {
        assert_eq!(rules.check(command), Err(Refusal::TooInvolved), "{command}");
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
        assert!(held_by(&rules, command) < MIB, "{command}");
    }
}
