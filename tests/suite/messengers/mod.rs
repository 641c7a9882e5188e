//! Messengers and webhooks.

mod email;
mod every_messenger;
mod gateways;
mod household;
mod idempotency;
mod matrix;
mod telegram;
mod voice;
mod webhooks;
mod whatsapp;
