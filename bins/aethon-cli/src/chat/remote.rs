//! The daemon's chat socket, subprotocol `aethon.chat.v1`.

use aethon::core::model::Effort;
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message, http::HeaderValue};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::backend::Backend;
use super::event::ChatEvent;
use crate::daemon::Daemon;

/// A chat with the running daemon.
pub(super) struct Remote {
    daemon: Daemon,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    model: String,
}

impl Remote {
    pub(super) async fn connect(daemon: Daemon) -> Result<Self> {
        let status = daemon.get("/api/status".into()).await?;
        let address = daemon.base.replacen("http", "ws", 1) + "/ws/chat";
        let mut request = address.as_str().into_client_request().context("the address is not valid")?;
        request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static("aethon.chat.v1"));
        if let Some(value) = daemon.authorization() {
            let value =
                HeaderValue::from_str(&value).context("dashboard.auth_token cannot be sent in a header")?;
            request.headers_mut().insert("Authorization", value);
        }
        let (socket, _) = tokio_tungstenite::connect_async(request)
            .await
            .with_context(|| format!("the chat of aethon-server at {} cannot be opened", daemon.base))?;
        let model = status["model"].as_str().unwrap_or_default().to_owned();
        Ok(Self { daemon, socket, model })
    }

    async fn send(&mut self, frame: Value) -> Result<()> {
        self.socket
            .send(Message::text(frame.to_string()))
            .await
            .context("the connection to aethon-server broke")
    }
}

#[async_trait]
impl Backend for Remote {
    fn describe(&self) -> String {
        format!("{} by aethon-server at {}", self.model, self.daemon.base)
    }

    async fn say(&mut self, session: &str, text: &str, effort: Option<Effort>) -> Result<()> {
        let id = aethon::core::ids::unique();
        let mut frame = json!({"type": "message", "id": id, "session": session, "text": text});
        if let Some(effort) = effort {
            frame["effort"] = effort.as_str().into();
        }
        self.send(frame).await
    }

    async fn next(&mut self) -> ChatEvent {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    if let Some(event) =
                        serde_json::from_str(&text).ok().and_then(|frame| ChatEvent::of(&frame))
                    {
                        return event;
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    let why =
                        frame.map_or(String::new(), |frame| format!(" ({} {})", frame.code, frame.reason));
                    return ChatEvent::Lost(format!("aethon-server closed the connection{why}"));
                }
                Some(Ok(_)) => {}
                None | Some(Err(Error::ConnectionClosed)) => {
                    return ChatEvent::Lost("aethon-server closed the connection".into());
                }
                Some(Err(error)) => {
                    return ChatEvent::Lost(format!("the connection to aethon-server broke: {error}"));
                }
            }
        }
    }

    async fn stop(&mut self, session: &str) -> Result<()> {
        self.send(json!({"type": "stop", "session": session})).await
    }

    async fn decide(&mut self, id: &str, approve: bool) -> Result<()> {
        let decision = if approve { "approve" } else { "deny" };
        self.send(json!({"type": "approval", "id": id, "decision": decision})).await
    }

    async fn sessions(&mut self) -> Result<Vec<(String, String)>> {
        let answer = self.daemon.get("/api/sessions?limit=20".into()).await?;
        let Some(sessions) = answer["sessions"].as_array() else {
            bail!("aethon-server sent no list of sessions")
        };
        let text = |session: &Value, key: &str| session[key].as_str().unwrap_or_default().to_owned();
        Ok(sessions.iter().map(|session| (text(session, "session_id"), text(session, "title"))).collect())
    }

    async fn close(&mut self) {
        // Leaving either way; the other side sees the connection end.
        let _ = self.socket.close(None).await;
    }
}
