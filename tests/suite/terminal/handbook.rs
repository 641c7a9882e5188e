//! The handbook does what it says: each page is worked through as a person would, in a new home. Commands run in the order
//! of the page, each configuration is checked, and each sentence in "Troubleshooting" is one that the programs print.
//!
//! A block that cannot run says why in a comment above it: `<!-- not run: needs a Telegram account -->`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use aethon_tests::{Server, home, program, run};

/// The beginning of a comment that excuses the block below it.
const EXCUSE: &str = "<!-- not run: ";

/// What is run, checked, and only read.
const LANGUAGES: [&str; 4] = ["sh", "toml", "text", "ini"];

/// The pages for people who have used the assistant before.
const LATER: [&str; 2] = ["backup.md", "upgrade.md"];

/// How many pages are worked through at a time.
const AT_ONCE: usize = 3;

#[derive(Debug, PartialEq, Eq)]
struct Block {
    line: usize,
    language: String,
    text: String,
    excuse: Option<String>,
}

/// The fenced blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut excuse = None;
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            if let Some(reason) = line.strip_prefix(EXCUSE) {
                excuse = Some(reason.trim_end_matches("-->").trim().to_owned());
            } else if !line.is_empty() {
                excuse = None;
            }
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim_start() != "```");
        let text = inside.map(|line| format!("{line}\n")).collect();
        blocks.push(Block { line: index + 1, language: language.to_owned(), text, excuse: excuse.take() });
    }
    blocks
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The pages, with their names.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<_> = std::fs::read_dir(root().join("docs/handbook"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "md"))
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

/// A person at a terminal of their own: a new account on a machine where the programs are installed.
struct Person {
    account: Arc<tempfile::TempDir>,
    path: String,
    /// The server that a page has started.
    server: Option<Server>,
}

impl Person {
    fn new() -> Self {
        let account = home();
        let program = program("aethon-cli", account.path());
        let programs = Path::new(program.get_program()).parent().unwrap().to_str().unwrap().to_owned();
        let wrappers = account.path().join(".wrappers");
        std::fs::create_dir(&wrappers).unwrap();
        // Where a person would be asked for a key, this one types a word.
        let wrapper = format!(
            "#!/bin/sh\nif [ \"$1 $2\" = 'secrets set' ] && [ \"$(readlink /proc/self/fd/0)\" = /dev/null ]; then\n\
             echo a-key-of-the-handbook | {programs}/aethon-cli \"$@\"\nexit $?\nfi\nexec {programs}/aethon-cli \"$@\"\n"
        );
        let file = wrappers.join("aethon-cli");
        std::fs::write(&file, wrapper).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{programs}:/usr/bin:/bin", wrappers.display());
        Self { account, path, server: None }
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.env_clear().env("PATH", &self.path).env("HOME", self.account.path());
        // The port may be taken here, and there is no harm in another one.
        command.env("AETHON_CHANNELS__WEBCHAT__PORT", "0");
        command.current_dir(self.account.path()).stdin(std::process::Stdio::null());
        command.args(["-e", "-c", script]);
        command
    }

    /// Does what a block says; the error is what went wrong.
    fn work_through(&mut self, block: &Block) -> Result<(), String> {
        match block.language.as_str() {
            "sh" => self.run(&block.text),
            "toml" => self.check(&block.text),
            _ => Ok(()),
        }
    }

    /// Runs commands. A server at their end runs on until the page ends.
    fn run(&mut self, script: &str) -> Result<(), String> {
        let last = script.trim_end().lines().next_back().unwrap_or_default();
        if last.starts_with("aethon-server") && !last.contains("--version") && !last.contains("--check") {
            let before = script.trim_end().strip_suffix(last).unwrap();
            self.run_to_its_end(before)?;
            self.server = None;
            let server = self.shell(&format!("exec {last}"));
            self.server = Some(Server::start_command(self.account.clone(), server));
            return Ok(());
        }
        self.run_to_its_end(script)
    }

    fn run_to_its_end(&self, script: &str) -> Result<(), String> {
        let output = run(&mut self.shell(script), None);
        if output.status.success() {
            return Ok(());
        }
        let words = [output.stdout, output.stderr].concat();
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&words)))
    }

    /// Checks a configuration, which stands for itself.
    fn check(&self, text: &str) -> Result<(), String> {
        let file = self.account.path().join("shown.toml");
        std::fs::write(&file, text).unwrap();
        let output = run(&mut self.shell("aethon-cli --config shown.toml config check"), None);
        let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() && !words.contains("unknown key") { Ok(()) } else { Err(words) }
    }
}

/// Works through a page and returns what went wrong.
fn faults(name: &str, page: &str) -> Vec<String> {
    let mut person = Person::new();
    let mut faults = Vec::new();
    if LATER.contains(&name) {
        faults.extend(person.run("aethon-cli memory add 'I pay the rent on the 5th.'").err());
    }
    for block in blocks(page) {
        let place = format!("docs/handbook/{name}:{}", block.line);
        if !LANGUAGES.contains(&block.language.as_str()) {
            faults.push(format!("{place}: a block in {:?}; use one of {LANGUAGES:?}", block.language));
            continue;
        }
        match &block.excuse {
            Some(reason) if reason.is_empty() => faults.push(format!("{place}: not run, without a reason")),
            Some(_) => {}
            None => faults.extend(person.work_through(&block).err().map(|fault| format!("{place}: {fault}"))),
        }
    }
    faults
}

#[test]
fn each_command_and_each_configuration_of_the_handbook_works() {
    let pages = Mutex::new(pages());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = pages.lock().unwrap().pop();
                    let Some((name, page)) = next else { break };
                    let faults = faults(&name, &page);
                    found.lock().unwrap().extend(faults);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_command_that_fails_and_a_key_that_is_unknown_are_found() {
    let page = "# A page\n\n```sh\naethon-cli config set budget.daily_usd much\n```\n\n```toml\n[budgt]\ndaily_usd = 5\n```\n\n\
                ```bash\ntrue\n```\n\n<!-- not run: -->\n```sh\ntrue\n```\n\n<!-- not run: needs luck -->\n```sh\nfalse\n```\n\n```sh\nfalse\n```\n";
    let found = faults("made-up.md", page);
    let lines: Vec<_> = found.iter().filter_map(|fault| fault.split(':').nth(1)).collect();
    assert_eq!(lines, ["3", "7", "12", "17", "26"], "{found:#?}");
}

/// The text of all source files, with the line ends of long literals taken out.
fn source() -> String {
    let mut text = String::new();
    let mut folders: Vec<_> = ["crates", "bins", "web/assets/js"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("rs" | "js") => text.push_str(&std::fs::read_to_string(&path).unwrap()),
                _ => {}
            }
        }
    }
    let mut joined = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\\\n") {
        joined.push_str(before);
        rest = after.trim_start();
    }
    joined + rest
}

/// The words of a program at the beginning of an item, in code, up to the colon or the full stop of the item.
fn quoted_sentences(page: &str) -> Vec<String> {
    let items = page.lines().filter_map(|line| line.strip_prefix("- `"));
    items
        .flat_map(|item| {
            let (first, rest) = item.split_once('`').unwrap_or((item, ""));
            let more =
                rest.split(", `").skip(1).filter_map(|rest| rest.split_once('`')).map(|(words, _)| words);
            let is_list = rest.starts_with(", `");
            let more: Vec<_> = if is_list { more.collect() } else { Vec::new() };
            std::iter::once(first).chain(more).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn the_programs_print_the_sentences_that_troubleshooting_explains() {
    let source = source();
    let pages = pages();
    let (_, page) = pages.iter().find(|(name, _)| name == "troubleshooting.md").unwrap();
    let sentences = quoted_sentences(page);
    assert!(sentences.len() > 40, "{sentences:?}");
    // What a shell says, and not one of our programs.
    let ours = sentences.iter().filter(|sentence| *sentence != "command not found");
    let unknown: Vec<_> = ours
        .flat_map(|sentence| sentence.split('…'))
        .map(|words| words.trim_matches([' ', ';', ':', ',']))
        .filter(|words| words.len() > 3 && !source.contains(words))
        .collect();
    assert!(unknown.is_empty(), "no program prints {unknown:#?}");
}

#[test]
fn every_page_is_in_the_index() {
    let pages = pages();
    let (_, index) = pages.iter().find(|(name, _)| name == "README.md").unwrap();
    for (name, _) in pages.iter().filter(|(name, _)| name != "README.md") {
        assert!(index.contains(&format!("]({name})")), "{name} is not in the index");
    }
}
