//! The effects of a command: builtins, the commands that it runs in turn, and its output.

use super::danger;
use super::escapes::unescape;
use super::interpreters::{interpreter, is_input};
use super::languages;
use super::marks::{DECODED, FETCHED, UNKNOWN, is_mark, made_from};
use super::options::Inner;
use super::paths::base_name;
use super::programs;
use super::refusal::Refusal;
use super::variables::Arguments;
use super::walk::{Checked, Walk, Written};
use crate::words::is_in;

/// Programs that pass their input, or files, on.
const PASSING: &str = "cat tac nl head tail sponge pv unbuffer cut sort uniq dd";
/// Programs that transform the text that they read.
const FILTERS: &str = "tr rev sed awk gawk mawk perl python3 python ruby iconv fold zcat gunzip gzip xz unxz bunzip2 bzip2 \
    zstd openssl gpg jq base64 base32 xxd od paste expand uudecode bc dc recode hexdump";

impl Walk<'_> {
    /// Walks through the commands that a command runs, and returns its output.
    pub(super) fn run(&mut self, argv: &[String], input: &str) -> Written {
        if let Some(written) = self.call(argv, input)? {
            return Ok(written);
        }
        if let Some(written) = self.builtin(argv, input)? {
            return Ok(written);
        }
        for setting in programs::assignments(argv) {
            self.assign(setting)?;
        }
        let mut written = None;
        for inner in programs::inner(argv) {
            written = Some(self.inner(inner, input)?);
        }
        if let Some(own) = self.run_file(argv, input)? {
            written = Some(own);
        }
        match written {
            Some(written) if programs::is_wrapper(argv) => Ok(written),
            _ => self.output(argv, input),
        }
    }

    fn builtin(&mut self, argv: &[String], input: &str) -> Result<Option<String>, Refusal> {
        let arguments = &argv[1..];
        let operands: Vec<&str> = danger::operands(arguments).collect();
        match argv[0].as_str() {
            "eval" => {
                let text =
                    arguments.iter().skip_while(|word| *word == "--").cloned().collect::<Vec<_>>().join(" ");
                return self.script(&text, input).map(Some);
            }
            "." | "source" => {
                let text = match arguments.first() {
                    Some(file) if is_input(file) => Some(input.to_owned()),
                    Some(file) => self.content(file),
                    None => None,
                };
                if let Some(danger) = arguments.iter().find_map(|word| danger::of_text(word)) {
                    return Err(danger.into());
                }
                return text.map(|text| self.script(&text, input)).transpose();
            }
            "trap" => {
                if let Some(command) = operands.first() {
                    self.nested(command, &[], "")?;
                }
            }
            "cd" | "pushd" => {
                let target = operands.first().copied().unwrap_or(self.homes.own());
                let path = if target.is_empty() { "/".to_owned() } else { self.path(target) };
                self.folder = (!path.contains(is_mark) && target != "-").then_some(path);
            }
            "popd" => self.folder = None,
            "set" if arguments.iter().any(|word| word == "--") || !operands.is_empty() => {
                self.arguments = Arguments::Known(operands.iter().map(|word| (*word).to_owned()).collect());
            }
            "shift" => {
                if let Arguments::Known(words) = &mut self.arguments {
                    let count = operands.first().and_then(|count| count.parse().ok()).unwrap_or(1);
                    words.drain(..words.len().min(count));
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for word in arguments {
                    self.assign(word)?;
                }
            }
            "read" | "mapfile" | "readarray" => {
                let mut words = input.split_whitespace();
                for (place, name) in operands.iter().enumerate() {
                    let is_last = place + 1 == operands.len();
                    let value = if is_last {
                        words.by_ref().collect::<Vec<_>>().join(" ")
                    } else {
                        words.next().unwrap_or_default().to_owned()
                    };
                    let value = if input.is_empty() { UNKNOWN.to_string() } else { value };
                    self.variables.insert((*name).to_owned(), value);
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(String::new()))
    }

    fn inner(&mut self, inner: Inner, input: &str) -> Written {
        match inner {
            Inner::Command(words) => self.argv(&words, input),
            Inner::Script(text) => self.nested(&text, &[], input),
            Inner::Shell(text, arguments) => self.nested(&text, &arguments, input),
            Inner::Elsewhere(text) => {
                let was = std::mem::replace(&mut self.is_elsewhere, true);
                let written = self.in_subshell(|walk| {
                    walk.folder = None;
                    walk.script(&text, input)
                });
                self.is_elsewhere = was;
                written
            }
            Inner::Program(text) => self.program(&text),
            Inner::Input => self.nested(input, &[], ""),
            Inner::ProgramInput => self.program(input),
            Inner::Appending(argv) => {
                self.meter.bytes(input.len())?;
                let words = input.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned());
                let whole: Vec<String> = argv.iter().map(|word| word.replace("{}", input.trim())).collect();
                self.argv(&whole, "")?;
                self.argv(&argv.iter().cloned().chain(words).collect::<Vec<_>>(), "")
            }
        }
    }

    /// Judges a program in another language.
    fn program(&mut self, text: &str) -> Written {
        self.meter.bytes(text.len())?;
        let danger = danger::of_text(text).or_else(|| languages::danger_in(text, self.homes));
        if let Some(danger) = danger {
            return Err(danger.into());
        }
        for text in languages::commands_in(text) {
            self.nested(&text, &[], "")?;
        }
        Ok(made_from([text]))
    }

    /// Walks through the file that a command runs, if the command line wrote it.
    pub(super) fn run_file(&mut self, argv: &[String], input: &str) -> Result<Option<String>, Refusal> {
        let found = interpreter(argv);
        let (file, is_shell) = match &found {
            Some(found) => (found.file.clone(), found.is_shell),
            None => (argv.first().filter(|program| program.contains(['/', '.'])).cloned(), true),
        };
        let Some(file) = file else { return Ok(None) };
        if let Some(danger) = danger::of_text(&file) {
            return Err(danger.into());
        }
        let Some(text) = self.content(&file) else { return Ok(None) };
        let is_script = [".sh", ".bash", ".py", ".pl", ".rb", ".js"].iter().any(|end| file.ends_with(end));
        if found.is_none() && !is_script && text.contains(FETCHED) {
            // A downloaded program, which could not be read anyway.
            return Ok(None);
        }
        let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
        let is_other =
            ["python", "perl", "ruby", "node", "awk", "php", "lua"].iter().any(|name| first.contains(name));
        if is_shell && !is_other {
            let place = argv.iter().position(|word| *word == file).unwrap_or_default();
            return self.nested(&text, &argv[place..], input).map(Some);
        }
        self.program(&text).map(Some)
    }

    /// Returns the output of a program, and remembers the files that it makes.
    fn output(&mut self, argv: &[String], input: &str) -> Written {
        let (name, arguments) = (base_name(&argv[0]), &argv[1..]);
        let operands: Vec<String> = danger::operands(arguments).map(str::to_owned).collect();
        for file in danger::downloaded_files(argv).into_iter().flatten() {
            self.write(&file, &format!("{UNKNOWN}{FETCHED}"), false)?;
        }
        if danger::downloads(argv) {
            return Ok(format!("{UNKNOWN}{FETCHED}"));
        }
        match name {
            "echo" => return Ok(echo(arguments)),
            "printf" => return Ok(printf(arguments)),
            "which" | "command" | "type" => return Ok(operands.last().cloned().unwrap_or_default()),
            "basename" => {
                return Ok(operands.first().map_or(String::new(), |path| base_name(path).to_owned()));
            }
            "true" | "false" | ":" | "test" | "[" | "sleep" | "mkdir" | "touch" | "chmod" | "rm" => {
                return Ok(String::new());
            }
            "tee" => {
                for file in &operands {
                    self.check_write(file)?;
                    self.write(file, input, false)?;
                }
                return Ok(input.to_owned());
            }
            "cp" | "mv" | "ln" | "install" => return self.copy(&operands).map(|()| String::new()),
            _ if is_in(PASSING, name) => {
                let known: String = operands.iter().filter_map(|file| self.content(file)).collect();
                let reads_input =
                    known.is_empty() && operands.iter().all(|word| name != "cat" || word == "-");
                return Ok(if reads_input { input.to_owned() } else { known + &UNKNOWN.to_string() });
            }
            _ => {}
        }
        let mut made = made_from(argv.iter().map(String::as_str).chain([input]));
        let is_literal = !input.is_empty() && !input.contains(is_mark);
        let decodes = is_in(FILTERS, name) && is_literal && operands.iter().all(|file| !is_input(file));
        if (danger::decodes(argv) || decodes) && !made.contains(DECODED) {
            made.push(DECODED);
        }
        Ok(made)
    }

    /// Remembers programs and files that get another name.
    fn copy(&mut self, operands: &[String]) -> Checked {
        let [source, target] = operands else { return Ok(()) };
        if let Some(content) = self.content(source) {
            self.write(target, &content, false)?;
        }
        if source.contains("bin/") {
            self.programs.insert(self.path(target), base_name(source).to_owned());
        }
        Ok(())
    }
}

fn echo(arguments: &[String]) -> String {
    let is_option = |word: &&String| {
        word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "neE".contains(c))
    };
    let options = arguments.iter().take_while(is_option).count();
    let has = |letter: char| arguments[..options].iter().any(|word| word.contains(letter));
    let text = arguments[options..].join(" ");
    let text = if has('e') { unescape(&text) } else { text };
    if has('n') { text } else { text + "\n" }
}

/// The output of `printf`, for formats with `%s`, `%b` and `%c`.
fn printf(arguments: &[String]) -> String {
    let Some((format, values)) = arguments.split_first() else { return String::new() };
    let (mut text, mut values) = (String::new(), values.iter().peekable());
    loop {
        let mut parts = unescape(format);
        let mut has_value = false;
        while let Some(at) = parts.find('%') {
            let kind = parts[at + 1..].chars().next();
            text.push_str(&parts[..at]);
            match kind {
                Some('%') | None => text.push('%'),
                Some('s' | 'b' | 'q') => text.push_str(values.next().map_or("", String::as_str)),
                Some('c') => text.extend(values.next().and_then(|value| value.chars().next())),
                Some(_) => {
                    values.next();
                    text.push(UNKNOWN);
                }
            }
            has_value = true;
            parts = parts[at + 1 + kind.map_or(0, char::len_utf8)..].to_owned();
        }
        text.push_str(&parts);
        if values.peek().is_none() || !has_value || text.len() > 1 << 16 {
            return text;
        }
    }
}
