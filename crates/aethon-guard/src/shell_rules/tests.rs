//! Refused and allowed commands, row by row; and that every text gets a verdict.

use std::path::Path;

use proptest::prelude::*;

use super::ShellRules;

fn rules() -> ShellRules {
    let blocked = ["rm -rf /", "sudo", "mkfs"].map(str::to_owned);
    ShellRules::new(&blocked, Some(Path::new("/home/ada")))
}

/// Rules with only the built-in list.
fn bare() -> ShellRules {
    ShellRules::new(&[], Some(Path::new("/home/ada")))
}

#[track_caller]
fn refused(rules: &ShellRules, command: &str, word: &str) {
    let refusal = rules.check(command).err().unwrap_or_else(|| panic!("not refused: {command}")).to_string();
    assert!(refusal.contains(word), "{word:?} is not named for {command:?}: {refusal}");
}

#[track_caller]
fn allowed(rules: &ShellRules, command: &str) {
    assert_eq!(rules.check(command), Ok(()), "{command}");
}

#[test]
fn a_command_that_contains_an_entry_is_refused_wherever_it_stands() {
    for command in [
        "rm -rf /",
        "rm -rf /tmp/x",
        "cd /tmp && rm -rf / --no-preserve-root",
        "rm  -rf\t/",
        "rm \t -rf  /",
        "echo 'rm -rf /'",
        "# rm -rf /",
        "git commit -m 'never rm -rf / again'",
        "rm \\\n-rf \\\n/",
    ] {
        refused(&rules(), command, "\"rm -rf /\"");
        refused(&rules(), command, "security.blocked_commands");
    }
    refused(&rules(), "sudo ls", "\"sudo\"");
    refused(&rules(), "echo pseudosudo", "\"sudo\"");
    refused(&rules(), "/sbin/mkfs.ext4 disk.img", "\"mkfs\"");
    allowed(&bare(), "sudo ls");
    allowed(&rules(), "Sudo ls");
    let own = ShellRules::new(&["git  push".into(), " ".into(), String::new()], None);
    refused(&own, "cd x; git push --force", "git  push");
    allowed(&own, "git pull");
    allowed(&own, "sudo ls");
}

#[test]
fn harmful_git_commands_are_refused_and_others_pass() {
    let own = ["git push -f", "git reset --hard", "git clean -fdx"].map(str::to_owned);
    let own = ShellRules::new(&own, None);
    for command in [
        "git push --force origin main",
        "git push origin main -f",
        "git -C repo push --force",
        "git submodule foreach 'git push -f'",
        "git -c alias.x='push -f' x",
        "git reset HEAD~1 --hard",
        "git clean -f -d -x",
        "git clean -xdf",
    ] {
        refused(&own, command, "security.blocked_commands");
    }
    for command in
        ["git push --force-with-lease", "git push -u origin main", "git reset HEAD~1", "git clean -n"]
    {
        allowed(&own, command);
    }
}

#[test]
fn options_before_the_harm_do_not_hide_it() {
    for command in [
        "time -p rm -rf /",
        "[[ \"a]]\" ]] && rm -rf /",
        "[[ 'a]]' ]] && rm -rf /",
        "[[ a\\\"b ]] && rm -rf /",
        "[[ \"$(rm -rf /)\" ]]",
        "find -L / -delete",
        "find / -xdev -delete",
        "find -- / -depth -delete",
        "mv notes /etc/shadow",
        "chown -R $USER /",
        "rm -rf /home/$USER",
    ] {
        assert!(bare().check(command).is_err(), "not refused: {command}");
    }
    for command in [
        "time -p make",
        "[[ -n \"$x]]\" ]] && ls",
        "[[ $x == \"",
        "find -L . -name '*.o' -delete",
        "find / -xdev -name core -print",
        "mv notes old",
        "chown -R $USER target",
        "rm -rf /home/$USER/project/target",
    ] {
        allowed(&bare(), command);
    }
}

/// A command of the corpus, and a word that identifies the rule that must catch it.
struct Row {
    command: String,
    word: String,
    /// Whether only the built-in list is applied.
    is_bare: bool,
}

/// Reads the commands of a corpus file; the files document their format.
fn corpus(text: &str) -> Vec<Row> {
    let (mut rows, mut word, mut is_bare) = (Vec::new(), String::new(), false);
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with("%%") {
            is_bare |= line == "%% The built-in list";
        } else if let Some(own) = line.strip_prefix("= ") {
            own.clone_into(&mut word);
        } else {
            let command = line.replace('␤', "\n").replace('␉', "\t").replace('␍', "\r");
            rows.push(Row { command, word: word.clone(), is_bare });
        }
    }
    rows
}

#[test]
fn the_corpus_of_hiding_forms_is_caught_each_by_its_rule() {
    let rows = corpus(include_str!("corpus/hiding.txt"));
    let (with_entries, bare) = (rules(), bare());
    let mut missed = Vec::new();
    for row in &rows {
        let rules = if row.is_bare { &bare } else { &with_entries };
        match rules.check(&row.command) {
            Err(refusal) if refusal.to_string().contains(&row.word) => {}
            outcome => missed.push(format!("[{}] {:?}: {outcome:?}", row.word, row.command)),
        }
    }
    println!("hiding forms: {} of {} caught by their rule", rows.len() - missed.len(), rows.len());
    assert!(rows.len() >= 300, "{} rows", rows.len());
    // A tripwire, no wall: one in seven may pass. The sandbox stands behind it.
    assert!(missed.len() * 7 <= rows.len(), "{}", missed.join("\n"));
    // A plain command never passes.
    assert!(with_entries.check("rm -rf /").is_err() && bare.check("rm -rf /").is_err());
}

#[test]
fn the_corpus_of_harmless_commands_is_left_alone() {
    let rows = corpus(include_str!("corpus/harmless.txt"));
    let bare = bare();
    let alarms: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            bare.check(&row.command).err().map(|refusal| format!("{:?}: {refusal}", row.command))
        })
        .collect();
    println!("harmless commands: {} of {} left alone", rows.len() - alarms.len(), rows.len());
    assert!(rows.len() >= 200, "{} rows", rows.len());
    assert!(alarms.len() * 100 < rows.len(), "{}", alarms.join("\n"));
}

#[test]
fn command_that_cannot_be_parsed_completely_is_refused() {
    let nested = format!("{}ls{}", "$(".repeat(200), ")".repeat(200));
    refused(&bare(), &nested, "too involved");
    refused(&bare(), &"${".repeat(5000), "too involved");
    refused(&bare(), &"f()".repeat(5000), "too involved");
    let long = "true\n".repeat(60_000);
    refused(&bare(), &long, "too involved");
    // Nested commands are found unless they are nested too deep.
    for (open, close, times) in
        [("$(", ")", 20), ("( ", ")", 30), ("{ ", ";}", 30), ("eval ", "", 15), ("if ", ";fi", 30)]
    {
        let wrapped = |command: &str| format!("{}{command}{}", open.repeat(times), close.repeat(times));
        refused(&bare(), &wrapped("rm -rf /"), "rm -r /");
        allowed(&bare(), &wrapped("ls"));
    }
    // Length alone is no reason to refuse.
    allowed(&bare(), &format!("echo {}", "x ".repeat(40_000)));
    allowed(&bare(), &"echo a | sort\n".repeat(2_000));
}

#[test]
fn words_are_read_as_a_shell_reads_them() {
    let check = |text: &str, expected: &[&[&str]]| {
        assert_eq!(bare().commands(text).unwrap(), expected, "{text:?}");
    };
    check("a b  c", &[&["a", "b", "c"]]);
    check("a 'b c' \"d e\" f\\ g", &[&["a", "b c", "d e", "f g"]]);
    check("a'b'\"c\"\\d", &[&["abcd"]]);
    check("a '' \"\"", &[&["a", "", ""]]);
    check("a;b&&c||d|e&f", &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]]);
    check("a # b\nc#d", &[&["a"], &["c#d"]]);
    check("a\r#b;c", &[&["a\r#b"], &["c"]]);
    check("a >x 2>&1 <y &>z b", &[&["a", "b"]]);
    check("{x}>y a", &[&["a"]]);
    check("a2>x", &[&["a2"]]);
    check("(a; { b; }) 2>x; c", &[&["a"], &["b"], &["c"]]);
    check("if a; then b; else c; fi; d", &[&["a"], &["b"], &["c"], &["d"]]);
    check("cat <<X b\nline\nX\nc", &[&["cat", "b"], &["c"]]);
    check("cat <<-X <<Y\n\ta\n\tX\nb\nY\nc", &[&["cat"], &["c"]]);
    check("a $((1<<2))\nc", &[&["a", "\u{e010}"], &["c"]]);
    check("a $x \"$y\" ${z} b", &[&["a", "", "b"]]);
    check("a $'x\\ty\\101\\x42'", &[&["a", "x\tyAB"]]);
    check("a \"x\\\"y\\z\"", &[&["a", "x\"y\\z"]]);
    check("a {b,c{d,e}}f '{g,h}' {i}", &[&["a", "bf", "cdf", "cef", "{g,h}", "{i}"]]);
    check("a $((1+(2*3))) b", &[&["a", "\u{e010}", "b"]]);
    check("a 'unclosed b", &[&["a", "unclosed b"]]);
    check("x=1; a ${x:-'}'} \"${x:-'}'}\"", &[&["a", "1", "1'}"]]);
    check(")) a ;; } b", &[&["a"], &["b"]]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_can_be_judged(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = rules().check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_of_the_language_can_be_judged(
        parts in proptest::collection::vec(
            prop::sample::select(vec![
                "$(", ")", "`", "'", "\"", "\\", "{", "}", "${", "((", "))", "$((", "<<E", "<<-", "<<<", "<(", ">(", "\n", ";",
                ";;", "&", "&&", "|", "||", "|&", ">", ">&", "&>", "2>", "#", " ", "\t", "if", "fi", "do", "done", "case", "esac",
                "function", "f()", "rm", "-rf", "/", "sh", "-c", "eval", "echo", "curl", "x", "a=", "$a", "$'", "\\x41", "E", "{a,b}",
                "xargs", "env", "-S", "é", "\u{e000}", "\u{e001}", "\u{e002}",
            ]),
            0..80,
        ),
        blank in any::<bool>(),
    ) {
        let _ = rules().check(&parts.join(if blank { " " } else { "" }));
    }

    #[test]
    fn quotes_and_escapes_hide_nothing(mask in proptest::collection::vec(0u8..4, 8)) {
        let disguised: String = "rm -fr /"
            .chars()
            .zip(mask)
            .map(|(c, how)| match (c, how) {
                (' ', _) | (_, 0) => c.to_string(),
                (c, 1) => format!("\\{c}"),
                (c, 2) => format!("'{c}'"),
                (c, _) => format!("\"{c}\""),
            })
            .collect();
        prop_assert!(rules().check(&disguised).is_err(), "{disguised}");
    }
}
