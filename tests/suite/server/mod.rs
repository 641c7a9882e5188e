//! The HTTP API, the sockets, and starting and stopping.

mod api;
mod attachments;
mod branch;
mod chat;
mod config;
mod connections;
mod contract;
mod dashboard_socket;
mod host;
mod plain_chat;
mod reload;
mod requests;
mod responses;
mod search;
mod sessions;
mod shutdown;
mod sockets;
mod stale_cookies;
mod start;
mod stop_turn;
mod telemetry;
mod unix_socket;
mod uploads;
mod watch;
