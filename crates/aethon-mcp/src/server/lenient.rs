//! Keeps the SDK from ending a connection for no good reason.
//!
//! Before a session has begun, the SDK accepts only requests and gives up on anything else; here, a client that sends a
//! notification too early, or an answer to no request, is served all the same. An array is answered with an error that
//! says why. A client that no longer reads has left, which is no error. Lines that are no messages or too long are
//! already dropped where lines are read.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

use super::arrays;

/// A server transport that no message can end.
pub(super) struct LenientTransport<T> {
    inner: T,
    has_begun: bool,
    /// Notified when the client no longer reads.
    left: Arc<Notify>,
    /// The answer to an array. Kept here because `receive` may be dropped before the answer is sent.
    refusal: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T> LenientTransport<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, has_begun: false, left: Arc::default(), refusal: None }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for LenientTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (sending, left) = (self.inner.send(item), self.left.clone());
        async move {
            if sending.await.is_err() {
                left.notify_one();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusal) = self.refusal.as_mut() {
                refusal.await;
                self.refusal = None;
            }
            let message = tokio::select! {
                biased;
                () = self.left.notified() => return None,
                message = self.inner.receive() => message?,
            };
            if is_array(&message) {
                let error =
                    ErrorData::invalid_request("batches are not supported; send each message alone", None);
                let sending = self.send(TxJsonRpcMessage::<RoleServer>::error(error, None));
                self.refusal = Some(Box::pin(async { _ = sending.await }));
                continue;
            }
            self.has_begun |= begins(&message);
            if self.has_begun || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
            tracing::debug!("a message before the session began was left out");
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Returns whether a message replaces an array.
fn is_array(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Notification(message) = message else { return false };
    matches!(&message.notification, ClientNotification::CustomNotification(note) if note.method == arrays::METHOD)
}

/// Returns whether a message begins a session: `initialize`, or a request that carries its session in itself.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().protocol_version().is_some(),
    }
}
