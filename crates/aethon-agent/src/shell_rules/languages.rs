//! Programs in other languages, as in `python3 -c` and the like: scanned for calls that run commands, and for the few
//! that do harm themselves. Strings that are only printed are ignored.

use super::danger::{self, Danger};
use super::paths::{Homes, is_vital};

/// Calls that run a command.
const RUNNING: &[&str] = &[
    "system",
    "popen",
    "exec",
    "spawn",
    "subprocess",
    "check_output",
    "check_call",
    "getoutput",
    "qx",
    "shell_exec",
    "passthru",
    "Popen",
    ".run",
    "sh.",
    "%x",
    "execSync",
    "spawnSync",
    "execFile",
    "execvp",
    "execl",
    "startfile",
    "Command",
    "capture2",
    "capture3",
    "pty.spawn",
];
/// Calls that remove files.
const REMOVING: &[&str] = &[
    "rmtree",
    "rm_rf",
    "rm_r",
    "remove_tree",
    "rmSync",
    "rmdirSync",
    "fs.rm",
    "remove_dir_all",
    "remove_entry_secure",
    "rimraf",
    "unlink",
    "rmdir",
];
/// Calls that download a text.
const FETCHING: &[&str] = &[
    "urlopen",
    "urlretrieve",
    "requests.get",
    "LWP::",
    "Net::HTTP",
    "open-uri",
    "URI.open",
    "http.get",
    "https.get",
    "fetch(",
    "file_get_contents('http",
    "file_get_contents(\"http",
    "HTTP::Tiny",
];
/// Calls that decode a text.
const DECODING: &[&str] = &[
    "b64decode",
    "base64_decode",
    "decode_base64",
    "fromhex",
    "unhexlify",
    "atob(",
    "'base64'",
    "\"base64\"",
    "rot13",
    "rot_13",
    "decompress",
    "unpack(",
    "pack(",
    "marshal.loads",
    "str_rot13",
    "hex2bin",
    "unpack1",
    "decode64",
];
/// Calls that execute a text as a program.
const EVALUATING: &[&str] =
    &["eval", "exec(", "exec (", "system", "popen", "Function(", "instance_eval", "subprocess", "qx"];

/// The danger of a program.
pub(super) fn danger_in(program: &str, homes: &Homes) -> Option<Danger> {
    let folded: String = program.split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |words: &[&str]| words.iter().any(|word| folded.contains(word));
    if has(&[
        "fork while",
        "while 1: os.fork",
        "while True: os.fork",
        "while(1){fork",
        "fork() while",
        "loop { fork",
        "loop{fork",
    ]) {
        return Some(danger::FORK_BOMB);
    }
    if has(EVALUATING) && has(FETCHING) {
        return Some(danger::RUN_DOWNLOAD);
    }
    if has(EVALUATING) && has(DECODING) {
        return Some(danger::RUN_DECODED);
    }
    let connects = has(&[
        "socket.socket",
        "use Socket",
        "IO::Socket",
        "fsockopen",
        "TCPSocket",
        "net.connect",
        "new net.Socket",
        "/inet/tcp",
    ]);
    if connects && has(&["dup2", "pty.spawn", "/bin/sh", "/bin/bash", "exec", "subprocess", "|&"]) {
        return Some(danger::REVERSE_SHELL);
    }
    if has(&["os.kill(-1", "kill(-1", "kill 9, -1", "kill -9, -1", "kill('KILL', -1"]) {
        return Some(danger::KILL_ALL);
    }
    for call in REMOVING {
        let removes = arguments_of(&folded, call)
            .iter()
            .flat_map(|text| strings(text))
            .any(|path| homes.is_precious(&path));
        if removes {
            return Some(danger::REMOVE);
        }
    }
    let writes = [
        "open",
        "writeFileSync",
        "writeFile",
        "file_put_contents",
        "File.write",
        "IO.write",
        "write_text",
        "Path",
    ];
    for call in writes {
        for text in arguments_of(&folded, call) {
            let strings = strings(&text);
            let is_written =
                call != "open" || strings.iter().skip(1).any(|mode| mode.contains(['w', 'a', '+', '>']));
            if is_written && strings.iter().any(|path| is_vital(path)) {
                return Some(danger::OVERWRITE);
            }
        }
    }
    None
}

/// The commands that a program runs, as far as they appear in it as strings.
pub(super) fn commands_in(program: &str) -> Vec<String> {
    let mut found = Vec::new();
    for call in RUNNING {
        for text in arguments_of(program, call) {
            let strings = strings(&text);
            if strings.len() > 1 {
                found.push(strings.join(" "));
                found.push(strings.concat());
            }
            found.extend(strings);
        }
    }
    // Text between backquotes is executed in Perl, Ruby and PHP, and text next to a pipe in awk.
    let mut rest = program;
    while let Some((_, behind)) = rest.split_once('`') {
        let Some((text, behind)) = behind.split_once('`') else { break };
        found.push(text.to_owned());
        rest = behind;
    }
    for (at, _) in program.match_indices('|') {
        let (before, behind) =
            (program[..at].trim_end(), program[at + 1..].trim_start_matches('&').trim_start());
        if behind.starts_with('"') {
            found.extend(strings(behind).into_iter().next());
        } else if behind.starts_with("getline") && before.ends_with('"') {
            let own = before[..before.len() - 1].rfind('"').map_or(0, |start| start + 1);
            found.push(before[own..before.len() - 1].to_owned());
        }
    }
    found.sort();
    found.dedup();
    found.truncate(64);
    found
}

/// What follows each call of this name: the text between its parentheses, or up to the end of the line.
fn arguments_of(program: &str, call: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in program.match_indices(call).take(16) {
        let behind = &program[at + call.len()..];
        // The rest of a longer name, such as `os.system` or `check_output`.
        let name = behind.chars().take_while(|c| c.is_ascii_alphanumeric() || "_.".contains(*c)).count();
        let behind = behind[name..].trim_start();
        let Some(open) = behind.chars().next() else { continue };
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '"' | '\'' | '`' => '\n',
            _ => continue,
        };
        let end = if close == '\n' {
            behind.find([';', '\n']).unwrap_or(behind.len())
        } else {
            closing(behind, open, close)
        };
        let text = &behind[..end.min(behind.len())];
        if ["qx", "%x"].contains(&call) || close == '}' && !text.contains(['"', '\'']) {
            found.push(format!("\"{}\"", text.trim_start_matches(open).replace('"', "'")));
        }
        found.push(text.to_owned());
    }
    found
}

fn closing(text: &str, open: char, close: char) -> usize {
    let (mut depth, mut quote) = (0, None);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match quote {
            Some(_) if c == '\\' => {
                chars.next();
            }
            Some(own) if c == own => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None if c == open => depth += 1,
            None if c == close => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            None => {}
        }
    }
    text.len()
}

/// The texts between quotes.
fn strings(program: &str) -> Vec<String> {
    let (mut texts, mut current): (Vec<String>, Option<(char, String)>) = (Vec::new(), None);
    let mut chars = program.chars();
    while let Some(c) = chars.next() {
        current = match current {
            None => matches!(c, '"' | '\'' | '`').then(|| (c, String::new())),
            Some((quote, text)) if c == quote => {
                texts.push(text);
                None
            }
            Some((quote, mut text)) => {
                text.extend(if c == '\\' { chars.next() } else { Some(c) });
                Some((quote, text))
            }
        };
    }
    texts
}
