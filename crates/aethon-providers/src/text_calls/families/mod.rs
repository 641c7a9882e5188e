//! The formats of calls, one file per family.

pub(super) mod command;
pub(super) mod deepseek;
pub(super) mod glm;
pub(super) mod harmony;
pub(super) mod hermes;
pub(super) mod kimi;
pub(super) mod llama;
pub(super) mod minimax;
pub(super) mod mistral;
pub(super) mod plain;
pub(super) mod python;
pub(super) mod qwen_coder;
