// Texts about the choice of a model.

import { translated } from "../shared/language.js";

export const modelWords = translated("models", {
  label: (/** @type {string} */ model) => `Model: ${model}. Choose another`,
  title: "Model for this conversation",
  search: "Search models",
  list: "Models",
  standard: "Default",
  standardDetail: (/** @type {string} */ model) => (model ? `what the configuration names: ${model}` : "what the configuration names"),
  groups: { named: "Named in the configuration", fallback: "Fallbacks", service: "Offered by the service", catalog: "Known models" },
  context: (/** @type {string} */ tokens) => `${tokens} tokens`,
  prices: (/** @type {string} */ input, /** @type {string} */ output) => `$${input} in, $${output} out per million tokens`,
  abilities: /** @type {Record<string, string>} */ ({ tools: "tools", images: "pictures", pdf: "PDF", reasoning: "thinks" }),
  loading: "Asking for the models …",
  none: "No model has these words in its name.",
  failed: (/** @type {string} */ why) => `The models could not be listed. ${why}`,
  notSaved: (/** @type {string} */ why) => `The choice was not kept for this conversation. ${why}`,
});
