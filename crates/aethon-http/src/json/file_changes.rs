//! Documents about the files that tools have changed in a conversation, and what happened to them when they were put back.

use std::ops::ControlFlow;
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::file_changes::{FileChange, FileChanges, FilePutBack};
use aethon_core::ids::{SessionId, TurnId, is_unique};
use aethon_core::message::{Block, Message};
use aethon_core::session::{SessionQuery, read_back};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{sleep, timeout};

use crate::deps::Chat;

/// The tool that runs commands, whose changes nobody records.
const COMMANDS: &str = "shell";

/// The tools that ask specialists begin so, and the sessions of specialists are of this channel.
const ASKS: &str = "ask_";
const SPECIALISTS: &str = "agent";

/// How many sessions of specialists are looked at, the newest first.
const MAX_SPECIALISTS: usize = 200;

/// How many messages are read at a time.
const PAGE: usize = 200;

/// A turn has told its end when it still has to be cleared away: so long that is waited for, looking again after `POLL`.
const MOMENT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

/// The files that tools have changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileChangeList {
    /// The changes, oldest first.
    pub changes: Vec<FileChange>,
    /// The files that were put back last and can be made again what the assistant made of them.
    pub redoable: Vec<String>,
    /// How many commands ran in those turns, those of specialists included. What they changed is not recorded.
    pub commands: usize,
}

/// What happened to files that were put back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilesPutBack {
    /// Each file that was changed, with what happened to it.
    pub files: Vec<FilePutBack>,
}

/// Why no file is listed or put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FilesRefusal {
    /// There is no such conversation.
    #[error("there is no such session")]
    NoSession,
    /// The conversation has no such turn.
    #[error("the conversation has no such turn any more")]
    NoTurn,
    /// A turn is at work in it.
    #[error(
        "an answer is being written in this conversation; wait for its end, or stop it, and then put the files back"
    )]
    TurnRunning,
}

/// Which files an act is about.
#[derive(Debug, Clone, Copy)]
pub enum FilesAct<'t> {
    /// Those that were changed since the beginning of this turn, which are put back.
    Undo(&'t TurnId),
    /// Those that were put back last, for which that is undone.
    Redo,
}

/// Lists the changes of a conversation, or those since the beginning of a turn.
pub async fn file_changes(
    chat: &Chat,
    id: &SessionId,
    from: Option<&TurnId>,
) -> Result<std::result::Result<FileChangeList, FilesRefusal>> {
    let Some(summary) = chat.transcripts.session(id).await? else { return Ok(Err(FilesRefusal::NoSession)) };
    let FileChanges { mut changes, redoable } = chat.files.changes(id, summary.created_at).await?;
    let mut commands = 0;
    if let Some(from) = from {
        let since = since(chat, id, from).await?;
        if !since.has_turn && !is_known(chat, id, from, &changes).await? {
            return Ok(Err(FilesRefusal::NoTurn));
        }
        changes.retain(|change| change.turn >= *from);
        commands = since.commands;
        if let Some(asked_at) = since.asked_at {
            commands += commands_of_specialists(chat, id, asked_at).await?;
        }
    }
    Ok(Ok(FileChangeList { changes, redoable, commands }))
}

/// Puts files back, or undoes that.
pub async fn put_files_back(
    chat: &Chat,
    id: &SessionId,
    act: FilesAct<'_>,
) -> Result<std::result::Result<FilesPutBack, FilesRefusal>> {
    let Some(summary) = chat.transcripts.session(id).await? else { return Ok(Err(FilesRefusal::NoSession)) };
    let created_at = summary.created_at;
    if !is_free(chat, id).await {
        return Ok(Err(FilesRefusal::TurnRunning));
    }
    let files = match act {
        FilesAct::Undo(from) => {
            // The changes, for which each file is read, matter for a turn only that is not in the live branch.
            let has_turn = since(chat, id, from).await?.has_turn
                || is_known(chat, id, from, &chat.files.changes(id, created_at).await?.changes).await?;
            if !has_turn {
                return Ok(Err(FilesRefusal::NoTurn));
            }
            chat.files.put_back(id, created_at, from).await?
        }
        FilesAct::Redo => chat.files.redo(id, created_at).await?,
    };
    Ok(Ok(FilesPutBack { files }))
}

/// Whether no turn runs in a session. One whose end was told a moment ago is waited for.
async fn is_free(chat: &Chat, id: &SessionId) -> bool {
    let free = async {
        while chat.assistant.is_busy(id) {
            sleep(POLL).await;
        }
    };
    timeout(MOMENT, free).await.is_ok()
}

/// What the messages since the beginning of a turn tell.
#[derive(Default)]
struct Since {
    has_turn: bool,
    commands: usize,
    /// The beginning of the first turn that asked a specialist.
    asked_at: Option<Timestamp>,
}

async fn since(chat: &Chat, id: &SessionId, from: &TurnId) -> Result<Since> {
    let mut since = Since::default();
    let visit = |page: Vec<Message>| {
        for message in page.iter().rev() {
            since.has_turn |= message.turn.as_ref() == Some(from);
            if message.turn.as_ref().is_some_and(|turn| turn >= from) {
                since.commands += calls(message, |name| name == COMMANDS);
                if calls(message, |name| name.starts_with(ASKS)) > 0 {
                    since.asked_at = Some(began(&page, message));
                }
            }
        }
        // Turns grow with time, so there is nothing further back.
        end_if(page.first().and_then(|first| first.turn.as_ref()).is_some_and(|turn| turn < from))
    };
    read_back(&*chat.transcripts, id, PAGE, visit).await?;
    Ok(since)
}

fn end_if(is_over: bool) -> ControlFlow<()> {
    if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// How many calls of these tools ran, by the results in a message.
fn calls(message: &Message, is_it: impl Fn(&str) -> bool) -> usize {
    let ran =
        |block: &&Block| matches!(block, Block::ToolResult(result) if is_it(&result.name) && !result.denied);
    message.content.iter().filter(ran).count()
}

/// When the turn of a message began, as far as the page shows.
fn began(page: &[Message], message: &Message) -> Timestamp {
    let first = page.iter().find(|other| other.turn == message.turn);
    first.map_or(message.created_at, |first| first.created_at)
}

/// How many commands the specialists of a conversation ran since this time.
async fn commands_of_specialists(chat: &Chat, id: &SessionId, since: Timestamp) -> Result<usize> {
    let query = SessionQuery::newest(MAX_SPECIALISTS).of_channel(Some(SPECIALISTS.into()));
    let asked = chat.transcripts.sessions(query).await?.sessions.into_iter();
    let mut commands = 0;
    for session in asked.filter(|session| session.sender == id.as_str()) {
        let visit = |page: Vec<Message>| {
            let recent = page.iter().filter(|message| message.created_at >= since);
            commands += recent.map(|message| calls(message, |name| name == COMMANDS)).sum::<usize>();
            end_if(page.first().is_some_and(|first| first.created_at < since))
        };
        read_back(&*chat.transcripts, &session.session_id, PAGE, visit).await?;
    }
    Ok(commands)
}

/// Whether a turn that is not in the live branch belongs to the conversation.
async fn is_known(chat: &Chat, id: &SessionId, turn: &TurnId, changes: &[FileChange]) -> Result<bool> {
    if !is_unique(turn.as_str()) {
        return Ok(false);
    }
    let versions = chat.history.versions(id).await?;
    Ok(changes.iter().any(|change| change.turn == *turn)
        || versions.iter().any(|versions| versions.turns.contains(turn)))
}
