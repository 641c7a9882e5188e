// The words of temporary conversations.

import { translated } from "../shared/language.js";

export const temporaryWords = translated("temporary", {
  begin: "Temporary chat",
  title: "Temporary chat",
  note: "Not stored: gone when you leave or reload it, or when the server stops. Its cost counts. Tools still act.",
  command: "Begin a conversation that is not stored",
  over: "The temporary chat that was open here is over.",
});
