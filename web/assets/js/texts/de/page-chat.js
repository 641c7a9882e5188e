// All German words of the chat, by the names of their catalogues.

import { artefactWords } from "./artefacts.js";
import { backgroundWords } from "./background.js";
import { conflictWords } from "./conflict.js";
import { dictationWords } from "./dictation.js";
import { draftWords } from "./drafts.js";
import { fileWords } from "./file-changes.js";
import { findingWords } from "./finding.js";
import { forkWords } from "./forks.js";
import { foundWords } from "./found.js";
import { handbookWords } from "./handbook.js";
import { binWords, exportWords } from "./bin.js";
import { keepingWords } from "./keeping.js";
import { modelWords } from "./models.js";
import { newsWords } from "./news.js";
import { phoneWords } from "./phone.js";
import { readingWords } from "./reading.js";
import { setupWords } from "./setup.js";
import { selectionWords } from "./several.js";
import { slashWords, promptWords, instructionWords } from "./slash.js";
import { temporaryWords } from "./temporary.js";
import { versionWords } from "./versions.js";
import { voiceWords } from "./voice.js";
import { asking } from "./asking.js";
import { texts } from "./texts.js";

export const words = {
  artefacts: artefactWords,
  background: backgroundWords,
  conflict: conflictWords,
  dictation: dictationWords,
  drafts: draftWords,
  "file-changes": fileWords,
  finding: findingWords,
  forks: forkWords,
  found: foundWords,
  handbook: handbookWords,
  "bin.binWords": binWords,
  "bin.exportWords": exportWords,
  keeping: keepingWords,
  models: modelWords,
  news: newsWords,
  phone: phoneWords,
  reading: readingWords,
  setup: setupWords,
  several: selectionWords,
  "slash.slashWords": slashWords,
  "slash.promptWords": promptWords,
  "slash.instructionWords": instructionWords,
  temporary: temporaryWords,
  versions: versionWords,
  voice: voiceWords,
  asking,
  texts,
};
