//! Shows a turn on the terminal: the reply as it arrives, each tool call in a line, questions with their exact arguments.
//!
//! A block of the reply is final once the next one begins. On a terminal, the unfinished block is drawn below and erased when
//! more of it arrives; so the program must know how many rows it occupies, in a window that may have been resized meanwhile.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use aethon::core::time::in_words;
use aethon::core::visible::{exact, readable};
use serde_json::Value;

use super::approval::ApprovalRequest;
use super::event::{ChatEvent, OthersTurn, Outcome, Tokens};
use super::footer::Footer;
use super::output::put;
use super::words::{dollars, grouped, shortened};
use crate::render::{Stream, Style, markdown, rows_of};

/// The maximum width of a reply; longer lines are hard to read.
const MAX_WIDTH: usize = 100;

/// How often the unfinished block is redrawn.
const FRAME: Duration = Duration::from_millis(50);

/// How many lines of a running tool's output are shown.
const LIVE_LINES: usize = 6;

/// The most informative arguments of a call, in order. Keep in sync with the list of the page.
const TELLING: [&str; 14] = [
    "command",
    "path",
    "url",
    "query",
    "pattern",
    "glob",
    "expression",
    "sop_name",
    "prompt",
    "text",
    "content",
    "thought",
    "name",
    "title",
];

/// How much of another client's message is shown, in columns.
const SAID: usize = 200;

/// The display of one turn.
pub(super) struct Screen {
    style: Style,
    /// Whether drawn lines can be erased.
    is_live: bool,
    stream: Stream,
    said: bool,
    /// The unfinished block, or the output of a running tool.
    body: Vec<String>,
    /// Whether more has arrived than `body` has.
    is_outdated: bool,
    /// The lines below it.
    footer: Option<Footer>,
    /// The drawn lines to be erased when more arrives.
    draft: Vec<String>,
    drawn: Option<Instant>,
    tokens: Tokens,
}

/// Returns the style of standard output, at the window's current width.
pub(crate) fn style() -> Style {
    let colour = is_live() && !crate::environment::no_color();
    Style {
        colour,
        links: colour && crate::environment::shows_links(),
        width: window().0.clamp(20, MAX_WIDTH),
    }
}

/// Lists sentences: wrapped between words on a terminal, a line each for programs.
pub(super) fn listed(sentences: &[String]) -> String {
    let line = |sentence: &String| match std::io::stdout().is_terminal() {
        true => format!("- {sentence}\n"),
        false => format!("- {}\n", readable(sentence)),
    };
    let lines: String = sentences.iter().map(line).collect();
    if std::io::stdout().is_terminal() { markdown(&lines, style()) } else { lines }
}

/// Returns whether standard output is a terminal that can move its cursor.
fn is_live() -> bool {
    std::io::stdout().is_terminal() && !crate::environment::is_dumb()
}

/// Returns the size of the window in columns and rows.
fn window() -> (usize, usize) {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    (usize::from(columns).max(1), usize::from(rows).max(1))
}

impl Screen {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            is_live: is_live(),
            stream: Stream::new(style),
            said: false,
            body: Vec::new(),
            is_outdated: false,
            footer: None,
            draft: Vec::new(),
            drawn: None,
            tokens: Tokens::default(),
        }
    }

    /// Shows these lines below the reply until the turn is over, and its cost then.
    pub(super) fn with_footer(self, footer: Footer) -> Self {
        Self { footer: Some(footer), ..self }
    }

    /// Returns the lines below the reply.
    pub(super) fn footer(&mut self) -> Option<&mut Footer> {
        self.footer.as_mut()
    }

    /// Redraws the parts that change with time or by typing.
    pub(super) fn tick(&mut self) {
        if self.is_outdated {
            self.render_body();
        }
        self.draw();
    }

    /// Shows an event. Returns the outcome when the turn ends.
    pub(super) fn show(&mut self, event: ChatEvent) -> Option<Outcome> {
        let outcome = self.take(event);
        if outcome.is_none() && self.draft.is_empty() {
            self.draw();
        }
        outcome
    }

    fn take(&mut self, event: ChatEvent) -> Option<Outcome> {
        match event {
            ChatEvent::Text(text) => {
                let settled = self.stream.push(&text);
                self.paragraph(&settled);
                self.is_outdated = true;
                if self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
                    self.render_body();
                    self.draw();
                }
            }
            ChatEvent::Usage(tokens) => self.tokens = tokens,
            ChatEvent::Tool { name, state, input, output } => {
                self.tool(&name, &state, input.as_ref(), output.as_deref())
            }
            ChatEvent::Notice(text) => self.aside(&text),
            ChatEvent::Error(text) => {
                self.settle();
                put(&format!("{}\n", self.style.alarm(&format!("error: {}", readable(&text)))));
                // The outcome repeats it.
                self.said = true;
            }
            ChatEvent::Again => self.begin_again(),
            ChatEvent::ApprovalDone { reason, .. } if reason == "timeout" => {
                self.aside("no answer in time: denied")
            }
            ChatEvent::ApprovalDone { edited: Some(edited), .. } => self.edited(&edited),
            ChatEvent::OthersTurn(other) => {
                self.settle();
                put(&elsewhere(&other, self.style));
            }
            ChatEvent::Connection(words) => self.aside(&words),
            ChatEvent::Done(outcome) => return Some(self.done(outcome)),
            ChatEvent::Accepted { .. }
            | ChatEvent::Refused(_)
            | ChatEvent::Approval(_)
            | ChatEvent::ApprovalDone { .. }
            | ChatEvent::EditRefused { .. }
            | ChatEvent::Thinking
            | ChatEvent::Lost(_) => {}
        }
        None
    }

    /// Shows the arguments that will run instead of the requested ones, edited here or in another client.
    fn edited(&mut self, input: &Value) {
        self.aside("approved with changes; this runs:");
        for line in exact(&serde_json::to_string_pretty(input).unwrap_or_default()).lines() {
            put(&format!("    {line}\n"));
        }
    }

    /// Shows the request exactly as it would be carried out.
    pub(super) fn question(&mut self, question: &ApprovalRequest) {
        self.settle();
        let ApprovalRequest { tool, input, summary, preview, .. } = question;
        let heading = format!("? {} needs your approval: {}", exact(tool), exact(summary));
        put(&format!("{}\n", self.style.bold(&heading)));
        put(&arguments(input));
        if let Some(preview) = preview {
            put("  what it would change:\n");
            for line in exact(preview).lines() {
                put(&format!("    {}\n", self.style.change(line)));
            }
        }
    }

    /// Redraws the unfinished block after the window was resized.
    pub(super) fn resize(&mut self) {
        self.style.width = style().width;
        self.stream.set_width(self.style.width);
        self.take_back();
        self.render_body();
        self.draw();
    }

    /// Ends a turn that had no outcome.
    pub(super) fn end(&mut self) {
        self.settle();
        put("\n");
    }

    fn done(&mut self, outcome: Outcome) -> Outcome {
        self.settle();
        match outcome.stop_reason.as_str() {
            "stopped" => self.aside("stopped"),
            // Nothing was streamed, because the program itself had something to say or the turn ended while the connection
            // was broken.
            _ if !self.said && !outcome.text.trim().is_empty() => {
                let text = markdown(&outcome.text, self.style);
                self.paragraph(&text);
            }
            _ => {}
        }
        if let Some(line) = self.footer.as_ref().and_then(|footer| cost(self.tokens, footer.elapsed())) {
            put(&format!("{}\n", self.style.dim(&line)));
        }
        put("\n");
        outcome
    }

    /// Discards the answer shown so far.
    fn begin_again(&mut self) {
        self.take_back();
        self.body.clear();
        self.is_outdated = false;
        if self.said {
            put(&format!("{}\n", self.style.dim("· the answer begins again")));
        }
        self.stream = Stream::new(self.style);
        self.said = false;
    }

    fn tool(&mut self, name: &str, state: &str, input: Option<&Value>, output: Option<&str>) {
        if let ("running", None, Some(output)) = (state, input, output) {
            return self.running(output);
        }
        self.settle();
        let name = exact(name);
        let words = match state {
            "running" => format!("· {name} {}", exact(&input.map(telling).unwrap_or_default())),
            _ => format!("· {name}: {state} {}", exact(output.unwrap_or_default())),
        };
        let line = shortened(&words, self.style.width);
        put(&format!("{}\n", self.style.dim(line.trim_end())));
    }

    /// Shows the end of a running tool's output below its line, on a terminal. It is erased when the tool ends.
    fn running(&mut self, output: &str) {
        if !self.is_live {
            return;
        }
        self.settle();
        let (columns, rows) = window();
        let room = LIVE_LINES.min(rows.saturating_sub(3).max(1));
        let lines: Vec<&str> = output.trim_end().lines().collect();
        let newest = lines.iter().skip(lines.len().saturating_sub(room));
        let width = self.style.width.min(columns).saturating_sub(5).max(1);
        let shown = |line: &&str| self.style.dim(&format!("  ┆ {}", shortened(&exact(line), width)));
        self.body = newest.map(shown).collect();
        self.draw();
    }

    fn aside(&mut self, text: &str) {
        self.settle();
        put(&format!("{}\n", self.style.dim(&format!("· {}", readable(text)))));
    }

    /// Renders the unfinished block: as much of its end as the window holds.
    fn render_body(&mut self) {
        self.is_outdated = false;
        if !self.is_live {
            return;
        }
        let (columns, rows) = window();
        let room = rows.saturating_sub(3).max(1);
        let text = self.stream.unfinished();
        let mut used = 0;
        let fits = |line: &&str| {
            used += rows_of(line, columns);
            used <= room
        };
        let mut shown: Vec<String> = text.lines().rev().take_while(fits).map(str::to_owned).collect();
        if self.said && !shown.is_empty() {
            shown.push(String::new());
        }
        shown.reverse();
        self.body = shown;
    }

    /// Draws the unfinished block and the lines below it on a terminal.
    fn draw(&mut self) {
        if !self.is_live {
            return;
        }
        let (columns, rows) = window();
        let width = self.style.width.min(columns);
        let below = self.footer.as_ref().map(|footer| footer.lines(self.style, width)).unwrap_or_default();
        let room = rows.saturating_sub(3).max(1).saturating_sub(below.len());
        let mut height: usize = self.body.iter().map(|line| rows_of(line, columns)).sum();
        let cut = self.body.iter().take_while(|line| {
            let is_above = height > room;
            height = height.saturating_sub(rows_of(line, columns));
            is_above
        });
        let cut = cut.count();
        let lines: Vec<String> = self.body.iter().skip(cut).chain(&below).cloned().collect();
        if lines == self.draft {
            return;
        }
        // In one piece: between two, the terminal may show the hole.
        let drawn: String = lines.iter().map(|line| format!("{line}\n")).collect();
        put(&(self.erasure() + &drawn));
        self.draft = lines;
        self.drawn = Some(Instant::now());
    }

    /// Erases the unfinished lines.
    fn take_back(&mut self) {
        let erasure = self.erasure();
        if !erasure.is_empty() {
            put(&erasure);
        }
    }

    /// Forgets the unfinished lines, and returns what erases them, from the first column on. They occupy more rows if the window was
    /// narrowed since, because it wraps them.
    fn erasure(&mut self) -> String {
        let draft = std::mem::take(&mut self.draft);
        if draft.is_empty() {
            return String::new();
        }
        let (columns, rows) = window();
        let height: usize = draft.iter().map(|line| rows_of(line, columns)).sum();
        format!("\r\u{1b}[{}A\u{1b}[J", height.min(rows))
    }

    fn settle(&mut self) {
        let rest = self.stream.finish();
        self.paragraph(&rest);
        self.take_back();
        self.body.clear();
        self.is_outdated = false;
    }

    fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.body.clear();
            let gap = if self.said { "\n" } else { "" };
            self.said = true;
            put(&format!("{}{gap}{text}", self.erasure()));
        }
    }
}

/// Formats the arguments of a call: as JSON, except that a text of several lines stands there line by line.
fn arguments(input: &Value) -> String {
    let has_lines =
        |value: &Value| value.as_str().is_some_and(|text| text.trim_end_matches('\n').contains('\n'));
    let mut shown = String::new();
    match input.as_object().filter(|all| all.values().any(has_lines)) {
        Some(all) => {
            for (name, value) in all {
                let name = name.escape_debug();
                match value.as_str().filter(|_| has_lines(value)) {
                    Some(text) => {
                        shown.push_str(&format!("{name}:\n"));
                        shown.extend(text.split('\n').map(|line| format!("  | {line}\n")));
                    }
                    None => shown.push_str(&format!("{name}: {value}\n")),
                }
            }
        }
        None => shown = serde_json::to_string_pretty(input).unwrap_or_default(),
    }
    exact(&shown).to_string().lines().map(|line| format!("    {line}\n")).collect()
}

/// Formats the usage of a turn; `None` if the provider reported none.
fn cost(tokens: Tokens, elapsed: Duration) -> Option<String> {
    if tokens.input == 0 && tokens.output == 0 {
        return None;
    }
    let money =
        if tokens.cost_usd > 0.0 { format!(" · {}", dollars(tokens.cost_usd)) } else { String::new() };
    let (input, output) = (grouped(tokens.input), grouped(tokens.output));
    Some(format!("· {input} tokens in, {output} out{money} · {}", in_words(elapsed)))
}

/// Formats another client's message and its answer, dimmed and marked at the margin.
pub(super) fn elsewhere(other: &OthersTurn, style: Style) -> String {
    let inner = Style { width: style.width.saturating_sub(2).max(20), ..style };
    let mut text = match other.said.trim() {
        "" => style.dim("elsewhere\n"),
        said => style.dim(&format!("elsewhere: {}\n", shortened(&readable(said), SAID))),
    };
    text.push_str(&markdown(&other.outcome.text, inner));
    match other.outcome.stop_reason.as_str() {
        "end" | "" => {}
        reason => text.push_str(&style.dim(&format!("({})\n", readable(reason)))),
    }
    let mark = style.dim("┆");
    let marked: String = text.lines().map(|line| format!("{mark} {line}\n")).collect();
    format!("{marked}\n")
}

/// Returns the most informative argument of a call; the whole input if none of them is a text.
fn telling(input: &Value) -> String {
    let text = |name: &&str| input.get(*name)?.as_str().filter(|text| !text.trim().is_empty());
    let known = TELLING.iter().find_map(text);
    let first = || input.as_object()?.values().filter_map(Value::as_str).find(|text| !text.trim().is_empty());
    match known.or_else(first) {
        Some(text) => text.to_owned(),
        None if input.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        None => input.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_main_argument_represents_a_call() {
        let check = |input: Value, expected: &str| assert_eq!(telling(&input), expected, "{input}");
        check(json!({"cwd": "src", "command": "make all", "timeout_seconds": 5}), "make all");
        check(json!({"content": "long", "path": "notes.md"}), "notes.md");
        check(json!({"path": "", "zone": "Europe/Berlin"}), "Europe/Berlin");
        check(json!({"limit": 3}), "{\"limit\":3}");
        check(json!({}), "");
    }

    #[test]
    fn the_cost_of_a_turn_fits_on_a_line() {
        let line = |input, output, cost_usd| cost(Tokens { input, output, cost_usd }, Duration::from_secs(4));
        assert_eq!(line(0, 0, 0.0), None);
        assert_eq!(line(12, 3, 0.0).as_deref(), Some("· 12 tokens in, 3 out · 4 s"));
        let paid = "· 1,234,567 tokens in, 1,000 out · $0.0021 · 4 s";
        assert_eq!(line(1_234_567, 1000, 0.002_14).as_deref(), Some(paid));
    }
}
