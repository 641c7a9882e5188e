//! Slash commands. The answer describes the effect of the command, and only the person sees it.

use std::time::Duration;

use aethon_core::error::Result;
use tokio::time::sleep;

use super::platform::{Discord, Interaction};
use crate::talk::{Arrival, Intake};

/// How long an answer may take before it has to be announced. Discord allows three seconds.
const ACK_TIMEOUT: Duration = Duration::from_millis(1500);

/// Runs a command and answers it. A stranger gets no answer.
pub(super) async fn obey(
    discord: &Discord,
    intake: &Intake,
    interaction: &Interaction,
    arrival: Arrival,
) -> Result<()> {
    let chat = arrival.chat.clone();
    let may_write = intake.may_write(&arrival.sender).await?;
    let mut is_announced = false;
    let answer = {
        let answering = intake.answer_command(arrival);
        tokio::pin!(answering);
        tokio::select! {
            answer = &mut answering => answer?,
            () = sleep(ACK_TIMEOUT), if may_write => {
                is_announced = discord.defer(interaction).await;
                answering.await?
            }
        }
    };
    let Some(answer) = answer else { return Ok(()) };
    let has_arrived = match is_announced {
        true => discord.follow_up(interaction, &answer).await,
        false => discord.answer(interaction, &answer).await,
    };
    if !has_arrived {
        // As a message, then.
        intake.say(&chat, answer).await?;
    }
    Ok(())
}
