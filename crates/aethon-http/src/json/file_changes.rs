//! Documents about the files that tools have changed in a conversation, and what happened to them when they were put back.

use aethon_core::error::Result;
use aethon_core::file_changes::{FileChange, FileChanges, FilePutBack};
use aethon_core::ids::{SessionId, TurnId, is_unique};
use aethon_core::message::{Block, Message};
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::Chat;

/// The tool that runs commands, whose changes nobody records.
const COMMANDS: &str = "shell";

/// How many messages are read at a time.
const PAGE: usize = 200;

/// The files that tools have changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileChangeList {
    /// The changes, oldest first.
    pub changes: Vec<FileChange>,
    /// The files that were put back last and can be made again what the assistant made of them.
    pub redoable: Vec<String>,
    /// How many commands ran in those turns. What they changed is not recorded.
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
    if chat.assistant.is_busy(id) {
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

/// What the messages since the beginning of a turn tell.
#[derive(Default)]
struct Since {
    has_turn: bool,
    commands: usize,
}

async fn since(chat: &Chat, id: &SessionId, from: &TurnId) -> Result<Since> {
    let mut since = Since::default();
    let mut before = None;
    loop {
        let page = chat.transcripts.messages(id, before, PAGE).await?;
        let Some(first) = page.first() else { return Ok(since) };
        before = Some(first.id);
        for message in &page {
            since.has_turn |= message.turn.as_ref() == Some(from);
            if message.turn.as_ref().is_some_and(|turn| turn >= from) {
                since.commands += commands(message);
            }
        }
        // Turns grow with time, so there is nothing further back.
        if first.turn.as_ref().is_some_and(|turn| turn < from) {
            return Ok(since);
        }
    }
}

fn commands(message: &Message) -> usize {
    let ran = |block: &&Block| matches!(block, Block::ToolResult(result) if result.name == COMMANDS && !result.denied);
    message.content.iter().filter(ran).count()
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
