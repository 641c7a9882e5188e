//! A few connections, made when they are needed and kept while they work.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_postgres::{AsyncMessage, Client};

use super::address::Address;
use super::tls::Tls;
use crate::error::Error;

/// How many connections there are at most.
const MOST: usize = 12;

/// How many of them write at a time: one that is at work, and one that is about to begin.
const WRITERS: usize = 2;

/// How long a write waits for the others of this program.
const TURN_WAIT: Duration = Duration::from_secs(20);

/// How long a server may take to let a connection in.
const SIGN_IN_WAIT: Duration = Duration::from_secs(10);

/// How long a lost server is waited for: a restart or a failover takes seconds.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two attempts.
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// How many notifications wait for their reader.
const NOTIFICATIONS: usize = 1024;

/// An idle connection older than this is not kept: a server's settings change, and so does its memory.
const MAX_AGE: Duration = Duration::from_secs(1800);

/// The connections. Clones share them.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    address: Address,
    tls: Tls,
    slots: Arc<Semaphore>,
    /// Held by those that write, which wait for one lock anyway: so they leave connections to those that read.
    writers: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    client: Client,
    since: Instant,
}

/// A connection in use. It goes back to the others unless it is dropped.
pub(crate) struct Connection {
    pub(super) client: Client,
    since: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Connection {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Pool {
    pub(crate) fn new(address: Address) -> Result<Self, Error> {
        let (slots, idle) = (Arc::new(Semaphore::new(MOST)), Mutex::default());
        let writers = Arc::new(Semaphore::new(WRITERS));
        let tls = Tls::new(address.authorities())?;
        Ok(Self(Arc::new(Inner { address, tls, slots, writers, idle })))
    }

    /// Takes a connection; one attempt.
    pub(crate) async fn take(&self) -> Result<Connection, Error> {
        let slot = self.0.slots.clone().acquire_owned().await.map_err(|_| Error::closed())?;
        while let Some(Idle { client, since }) = self.idle().pop() {
            if !client.is_closed() && since.elapsed() < MAX_AGE {
                return Ok(Connection { client, since, _slot: slot });
            }
        }
        let signed_in =
            tokio::time::timeout(SIGN_IN_WAIT, self.0.address.config().connect(self.0.tls.clone())).await;
        let (client, connection) = signed_in.map_err(|_| Error::lost("it does not let anybody in"))??;
        tokio::spawn(async move {
            // Its users get the same error.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the PostgreSQL server has ended");
            }
        });
        Ok(Connection { client, since: Instant::now(), _slot: slot })
    }

    /// Makes a connection on which the server notifies this program, one of its own beside the others. It ends when the
    /// receiver is dropped, or the server is lost.
    pub(crate) async fn listen(&self) -> Result<(Client, mpsc::Receiver<String>), Error> {
        let signed_in =
            tokio::time::timeout(SIGN_IN_WAIT, self.0.address.config().connect(self.0.tls.clone())).await;
        let (client, mut connection) = signed_in.map_err(|_| Error::lost("it does not let anybody in"))??;
        let (sender, payloads) = mpsc::channel(NOTIFICATIONS);
        tokio::spawn(async move {
            let mut next = std::pin::pin!(poll_fn(|context| connection.poll_message(context)));
            loop {
                let message = tokio::select! {
                    () = sender.closed() => return,
                    message = next.next() => message,
                };
                match message {
                    Some(Ok(AsyncMessage::Notification(told))) => {
                        // The reader is quick; until it has read, the server keeps what comes.
                        if sender.send(told.payload().to_owned()).await.is_err() {
                            return;
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        tracing::debug!(%error, "the connection for notifications has ended");
                        return;
                    }
                    None => return,
                }
            }
        });
        Ok((client, payloads))
    }

    /// Waits for the turn to write. Writers take this before a connection.
    pub(super) async fn turn_to_write(&self) -> Result<OwnedSemaphorePermit, Error> {
        let turn = tokio::time::timeout(TURN_WAIT, self.0.writers.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| Error::lost("other writes wait for it"))?;
        turn.map_err(|_| Error::closed())
    }

    /// Takes a connection, and waits a while for a server that cannot be reached.
    pub(crate) async fn take_patiently(&self, until: Instant) -> Result<Connection, Error> {
        loop {
            match self.take().await {
                Err(error) if error.is_passing() && Instant::now() + PAUSE < until => {
                    tokio::time::sleep(PAUSE).await;
                }
                other => return other,
            }
        }
    }

    /// Gives a connection back that is in no transaction.
    pub(crate) fn give(&self, connection: Connection) {
        let Connection { client, since, _slot } = connection;
        if !client.is_closed() && !self.0.slots.is_closed() {
            self.idle().push(Idle { client, since });
        }
    }

    /// Closes all; those in use when they come back.
    pub(crate) fn close(&self) {
        self.0.slots.close();
        self.0.writers.close();
        self.idle().clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.slots.is_closed()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
