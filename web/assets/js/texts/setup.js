// Texts about the set-up of the first model.

import { translated } from "../shared/language.js";

export const setupWords = translated("setup", {
  title: "Choose a model to begin",
  lead: "Aethon asks a model that you bring: from a service, with your own key, or one that runs on this machine.",
  demo: "Use a real model",
  provider: "Service",
  providers: /** @type {Record<string, string>} */ ({
    openai: "OpenAI, or a server that speaks like it",
    anthropic: "Anthropic",
    ollama: "Ollama, on this machine or another",
    gemini: "Google Gemini",
    mistral: "Mistral",
    litellm: "LiteLLM proxy",
    bedrock: "Amazon Bedrock",
  }),
  key: "Key",
  keyHint: "Kept in a file of its own on this machine, readable by you only. It is sent to this service and nowhere else.",
  keyOptional: "Leave it empty if the server asks for none.",
  keyMissing: "This service wants a key. Type it here.",
  host: "Address",
  hostHints: /** @type {Record<string, string>} */ ({
    openai: "Leave it empty for OpenAI itself. Another server: its base address, ending in /v1.",
    ollama: "Leave it empty for http://127.0.0.1:11434.",
    litellm: "Such as http://127.0.0.1:4000.",
  }),
  region: "Region",
  regionHint: "Such as eu-central-1. The keys are read from the environment or ~/.aws, as Amazon's own programs do.",
  model: "Model",
  modelHint: "Leave it empty for the usual one.",
  list: "Show its models",
  listing: "Asking …",
  listed: (/** @type {number} */ n) => (n === 1 ? "One model is offered." : `${n} models are offered; choose one in the field.`),
  use: "Test and use it",
  testing: "Asking it a short question …",
  done: (/** @type {string} */ model, /** @type {string} */ ms) => `${model} answered${ms}. Write your first message.`,
  after: (/** @type {number} */ ms) => ` after ${(ms / 1000).toFixed(1)} s`,
});
