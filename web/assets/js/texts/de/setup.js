// The set-up of the first model, in German.

/** @type {typeof import("../setup.js").setupWords} */
export const setupWords = {
  title: "Zum Anfang ein Modell wählen",
  lead: "Aethon fragt ein Modell, das Sie mitbringen: von einem Dienst, mit eigenem Schlüssel, oder eines, das auf diesem Rechner läuft.",
  demo: "Ein echtes Modell verwenden",
  provider: "Dienst",
  providers: {
    openai: "OpenAI oder ein Server, der genauso spricht",
    anthropic: "Anthropic",
    ollama: "Ollama, auf diesem oder einem anderen Rechner",
    gemini: "Google Gemini",
    mistral: "Mistral",
    litellm: "LiteLLM-Proxy",
    bedrock: "Amazon Bedrock",
  },
  key: "Schlüssel",
  keyHint:
    "Liegt in einer eigenen Datei auf diesem Rechner, nur für Sie lesbar. Er wird an diesen Dienst gesendet und nirgendwohin sonst.",
  keyOptional: "Leer lassen, wenn der Server keinen verlangt.",
  keyMissing: "Dieser Dienst verlangt einen Schlüssel. Bitte hier eingeben.",
  host: "Adresse",
  hostHints: {
    openai: "Leer lassen für OpenAI selbst. Für einen anderen Server seine Basisadresse, die auf /v1 endet.",
    ollama: "Leer lassen für http://127.0.0.1:11434.",
    litellm: "Zum Beispiel http://127.0.0.1:4000.",
  },
  region: "Region",
  regionHint: "Zum Beispiel eu-central-1. Die Schlüssel kommen aus der Umgebung oder aus ~/.aws, wie bei Amazons eigenen Programmen.",
  model: "Modell",
  modelHint: "Leer lassen für das übliche.",
  list: "Seine Modelle zeigen",
  listing: "Wird abgefragt …",
  listed: (n) =>
    n === 1 ? "Ein Modell wird angeboten." : `${n} Modelle werden angeboten; bitte im Feld eines auswählen.`,
  use: "Testen und verwenden",
  testing: "Eine kurze Frage wird gestellt …",
  done: (model, ms) => `${model} hat${ms} geantwortet. Schreiben Sie Ihre erste Nachricht.`,
  after: (ms) => ` nach ${(ms / 1000).toLocaleString("de", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`,
};
