//! Messengers and webhooks.

mod acts;
mod email;
mod every_messenger;
mod gateways;
mod household;
mod idempotency;
mod matrix;
mod outages;
mod telegram;
mod voice;
mod webhooks;
mod whatsapp;
