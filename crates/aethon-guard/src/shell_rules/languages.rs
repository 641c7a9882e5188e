//! Programs in other languages, as in `python3 -c` and the like: scanned for calls that run commands, and for the few
//! that do harm themselves. Strings that are only printed are ignored.

use super::danger::{self, Danger};
use super::paths::{Homes, is_vital};

/// Calls that run a command.
const RUNNING: &str = "system popen exec spawn subprocess check_output check_call getoutput qx shell_exec passthru Popen .run \
    sh. %x execSync spawnSync execFile startfile Command capture2 capture3 pty.spawn";
/// Calls that remove files.
const REMOVING: &str = "rmtree rm_rf rm_r remove_tree rmSync rmdirSync fs.rm remove_dir_all remove_entry_secure rimraf unlink rmdir";
/// Calls that write files.
const WRITING: &str = "open writeFileSync writeFile file_put_contents File.write IO.write write_text Path";
/// Calls that download a text.
const FETCHING: &str = "urlopen urlretrieve requests.get LWP:: Net::HTTP open-uri URI.open http.get https.get fetch( \
    file_get_contents('http file_get_contents(\"http HTTP::Tiny";
/// Calls that decode a text.
const DECODING: &str = "b64decode base64_decode decode_base64 fromhex unhexlify atob( 'base64' \"base64\" rot13 rot_13 \
    decompress unpack( pack( marshal.loads hex2bin unpack1 decode64";
/// Calls that execute a text as a program.
const EVALUATING: &str = "eval exec( system popen Function( instance_eval subprocess qx";
/// Programs that start themselves without end, folded.
const FORKING: &str = "forkwhile while1:os.fork whileTrue:os.fork while(1){fork fork()while loop{fork";
/// Calls that open connections, and those that hand one to a shell.
const CONNECTING: &str =
    "socket.socket useSocket IO::Socket fsockopen TCPSocket net.connect newnet.Socket /inet/tcp";
const HANDING_OVER: &str = "dup2 pty.spawn /bin/sh /bin/bash exec subprocess |&";
/// Calls that kill every process, folded.
const KILLING: &str = "os.kill(-1 kill(-1 kill9,-1 kill-9,-1 kill('KILL',-1";

/// The danger of a program.
pub(super) fn danger_in(program: &str, homes: &Homes) -> Option<Danger> {
    let folded: String = program.split_whitespace().collect();
    let has = |words: &str| words.split_whitespace().any(|word| folded.contains(word));
    let evaluates = has(EVALUATING);
    let dangers = [
        (has(FORKING), danger::FORK_BOMB),
        (evaluates && has(FETCHING), danger::RUN_DOWNLOAD),
        (evaluates && has(DECODING), danger::RUN_DECODED),
        (has(CONNECTING) && has(HANDING_OVER), danger::REVERSE_SHELL),
        (has(KILLING), danger::KILL_ALL),
        (removes_precious(program, homes), danger::REMOVE),
        (writes_vital(program), danger::OVERWRITE),
    ];
    dangers.into_iter().find(|(is_there, _)| *is_there).map(|(_, danger)| danger)
}

fn removes_precious(program: &str, homes: &Homes) -> bool {
    let arguments = REMOVING.split(' ').flat_map(|call| arguments_of(program, call));
    arguments.flat_map(|text| strings(&text)).any(|path| homes.is_precious(&path))
}

fn writes_vital(program: &str) -> bool {
    WRITING.split(' ').any(|call| {
        arguments_of(program, call).iter().map(|text| strings(text)).any(|strings| {
            let is_mode = |mode: &String| mode.contains(['w', 'a', '+', '>']);
            let is_written = call != "open" || strings.iter().skip(1).any(is_mode);
            is_written && strings.iter().any(|path| is_vital(path))
        })
    })
}

/// The commands that a program runs, as far as they appear in it as strings.
pub(super) fn commands_in(program: &str) -> Vec<String> {
    let mut found = Vec::new();
    for call in RUNNING.split_whitespace() {
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
