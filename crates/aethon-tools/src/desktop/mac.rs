//! `calendar`, `reminders`, `notes`, `mail_draft` and `shortcuts`: macOS applications, controlled through `osascript`.
//!
//! Each tool is a row of a table: its arguments, and a script that is a constant of this program. Input from a model is
//! passed as `argv`, in a fixed order, and never becomes part of a script. Mails are only drafted: the person sends
//! them.

use std::ffi::OsString;
use std::path::PathBuf;

use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::program::{Programs, Until};

/// The names of these tools.
pub(crate) const MAC_TOOLS: &[&str] = &["calendar", "reminders", "notes", "mail_draft", "shortcuts"];

/// Maximum size of an argument in bytes; the system accepts little more.
const MAX_LEN: usize = 100_000;

const CALENDAR: &str = "function run([action, from, to, title, calendar, place, notes]) {
  const app = Application('Calendar');
  const named = calendar ? app.calendars.whose({ name: calendar }) : app.calendars;
  if (action === 'add') {
    const event = app.Event({ summary: title, startDate: new Date(from), endDate: new Date(to), location: place, description: notes });
    named[0].events.push(event);
    return 'added: ' + title;
  }
  const lines = [];
  for (const one of named()) {
    const events = one.events.whose({ _and: [{ startDate: { _lessThan: new Date(to) } }, { endDate: { _greaterThan: new Date(from) } }] });
    for (const event of events()) lines.push([event.startDate().toISOString(), event.endDate().toISOString(), event.summary(), event.location() || '', one.name()].join(' | '));
  }
  return lines.sort().slice(0, 200).join('\\n') || 'no events';
}";

const REMINDERS: &str = "function run([action, title, due, list, notes]) {
  const app = Application('Reminders');
  const named = list ? app.lists.byName(list) : app.defaultList();
  if (action === 'add') {
    const fields = { name: title, body: notes };
    if (due) fields.dueDate = new Date(due);
    named.reminders.push(app.Reminder(fields));
    return 'added: ' + title;
  }
  const open = named.reminders.whose({ completed: false });
  if (action === 'complete') {
    const found = open.whose({ name: title });
    if (found.length === 0) throw new Error('there is no open reminder of this title');
    found[0].completed = true;
    return 'completed: ' + title;
  }
  const lines = open().slice(0, 200).map((one) => (one.dueDate() ? one.dueDate().toISOString() + ' | ' : '') + one.name());
  return lines.join('\\n') || 'no open reminders';
}";

const NOTES: &str = "function run([action, title, text]) {
  const app = Application('Notes');
  if (action === 'add') {
    const plain = text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/\\n/g, '<br>');
    app.make({ new: 'note', withProperties: { name: title, body: plain } });
    return 'added: ' + title;
  }
  if (action === 'read') {
    const found = app.notes.whose({ name: title });
    if (found.length === 0) throw new Error('there is no note of this title');
    return found[0].plaintext().slice(0, 100000);
  }
  const notes = text ? app.notes.whose({ plaintext: { _contains: text } }) : app.notes;
  return notes().slice(0, 100).map((note) => note.modificationDate().toISOString() + ' | ' + note.name()).join('\\n') || 'no notes';
}";

const MAIL_DRAFT: &str = "function run([to, subject, body, cc]) {
  const app = Application('Mail');
  const message = app.OutgoingMessage({ subject: subject, content: body, visible: true });
  app.outgoingMessages.push(message);
  for (const address of to.split(',').filter((one) => one.trim())) message.toRecipients.push(app.Recipient({ address: address.trim() }));
  for (const address of cc.split(',').filter((one) => one.trim())) message.ccRecipients.push(app.Recipient({ address: address.trim() }));
  return 'drafted; the person looks at it and sends it';
}";

const SHORTCUTS: &str = "function run([action, name, input]) {
  const app = Application('Shortcuts Events');
  if (action === 'list') return app.shortcuts().map((one) => one.name()).sort().join('\\n') || 'no shortcuts';
  const found = app.shortcuts.whose({ name: name });
  if (found.length === 0) throw new Error('there is no shortcut of this name');
  const result = input ? found[0].run({ withInput: input }) : found[0].run();
  return result === null || result === undefined ? 'done' : String(result);
}";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CalendarAction {
    List,
    Add,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is made of it; the values are read by their names")]
struct Calendar {
    /// List the events of a time, or add one.
    action: CalendarAction,
    /// The beginning, as in 2026-05-04T09:00:00+02:00.
    from: String,
    /// The end.
    to: String,
    /// The title of an event that is added.
    title: Option<String>,
    /// The name of the calendar. Leave it out for all, or to add to the first.
    calendar: Option<String>,
    /// Where an event that is added takes place.
    place: Option<String>,
    /// Notes of an event that is added.
    notes: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RemindersAction {
    List,
    Add,
    Complete,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is made of it; the values are read by their names")]
struct Reminders {
    /// List the open reminders, add one, or complete one by its title.
    action: RemindersAction,
    /// The title.
    title: Option<String>,
    /// When a reminder that is added is due, as in 2026-05-04T09:00:00+02:00.
    due: Option<String>,
    /// The name of the list. Leave it out for the usual one.
    list: Option<String>,
    /// Notes of a reminder that is added.
    notes: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NotesAction {
    Search,
    Read,
    Add,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is made of it; the values are read by their names")]
struct Notes {
    /// Search the notes for a text, read one by its title, or add one.
    action: NotesAction,
    /// The title.
    title: Option<String>,
    /// The text to search for or to add.
    text: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is made of it; the values are read by their names")]
struct MailDraft {
    /// Addresses, with commas between them.
    to: String,
    /// The subject.
    subject: String,
    /// The text.
    body: String,
    /// Addresses that get a copy, with commas between them.
    cc: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ShortcutsAction {
    List,
    Run,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is made of it; the values are read by their names")]
struct Shortcuts {
    /// List the shortcuts, or run one.
    action: ShortcutsAction,
    /// The name of the shortcut.
    name: Option<String>,
    /// A text that the shortcut gets.
    input: Option<String>,
}

/// A tool for a Mac application.
pub(crate) struct MacTool {
    spec: ToolSpec,
    programs: Programs,
    program: PathBuf,
    script: &'static str,
    /// The names of the arguments in the order that the script expects.
    order: &'static [&'static str],
}

/// Creates all tools, or says why there are none.
pub(crate) fn mac_tools(programs: &Programs) -> Result<Vec<MacTool>, String> {
    if !programs.is_mac() {
        return Err("they drive the applications of macOS, and this is another system".into());
    }
    let program = programs.find("osascript").ok_or("osascript is not on the search path")?;
    let tool = |spec: ToolSpec, script, order: &'static [&'static str]| {
        let texts = order.iter().filter(|name| **name != "action");
        let spec =
            texts.fold(spec, |spec, name| spec.with_role(*name, ArgumentRole::Text)).with_untrusted_output();
        MacTool { spec, programs: programs.clone(), program: program.clone(), script, order }
    };
    Ok(vec![
        tool(
            ToolSpec::of::<Calendar>("calendar", "Lists the events of the person's calendars, or adds one."),
            CALENDAR,
            &["action", "from", "to", "title", "calendar", "place", "notes"],
        ),
        tool(
            ToolSpec::of::<Reminders>(
                "reminders",
                "Lists the person's open reminders, adds one or completes one.",
            ),
            REMINDERS,
            &["action", "title", "due", "list", "notes"],
        ),
        tool(
            ToolSpec::of::<Notes>("notes", "Searches the person's notes, reads one or adds one."),
            NOTES,
            &["action", "title", "text"],
        ),
        tool(
            ToolSpec::of::<MailDraft>(
                "mail_draft",
                "Opens a draft of a mail on the person's screen. It is not sent: the person looks at it and sends it.",
            ),
            MAIL_DRAFT,
            &["to", "subject", "body", "cc"],
        ),
        tool(
            ToolSpec::of::<Shortcuts>("shortcuts", "Lists the person's shortcuts, or runs one.")
                .with_effect(Effect::Sends),
            SHORTCUTS,
            &["action", "name", "input"],
        ),
    ])
}

impl MacTool {
    /// Returns the script's arguments: a string for each, empty if omitted.
    fn words(&self, input: &Value) -> Result<Vec<OsString>, ToolError> {
        let word = |name: &&str| match input.get(*name) {
            None | Some(Value::Null) => Ok(OsString::new()),
            Some(Value::String(text)) if text.len() > MAX_LEN => {
                Err(ToolError::failed(format!("`{name}` is longer than {MAX_LEN} bytes")))
            }
            Some(Value::String(text)) if text.contains('\0') => {
                Err(ToolError::failed(format!("`{name}` contains a NUL character")))
            }
            Some(Value::String(text)) => Ok(text.into()),
            Some(_) => Err(ToolError::failed(format!(
                "the arguments of `{}` are wrong: `{name}` is no text",
                self.spec.name
            ))),
        };
        self.order.iter().map(word).collect()
    }

    /// Rejects actions that the tool does not have.
    fn check_action(&self, input: &Value) -> Result<(), ToolError> {
        let known = self.spec.parameters.pointer("/properties/action/enum").and_then(Value::as_array);
        let Some(known) = known else { return Ok(()) };
        if input.get("action").is_some_and(|action| known.contains(action)) {
            return Ok(());
        }
        let names: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
        Err(ToolError::failed(format!("`action` must be one of {}", names.join(", "))))
    }
}

#[async_trait]
impl Tool for MacTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        self.check_action(&input)?;
        let before = ["-l", "JavaScript", "-e", self.script].map(OsString::from);
        let arguments = before.into_iter().chain(self.words(&input)?).collect();
        let said = self.programs.run(&self.program, arguments, None, Until::Answer).await?;
        Ok(ToolOutput::text(said.trim_end()))
    }
}
