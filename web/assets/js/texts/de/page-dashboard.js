// All German words of the dashboard, by the names of their catalogues.

import { artefactWords } from "./artefacts.js";
import { agents } from "./agents.js";
import { approvals } from "./approvals.js";
import { channelWords } from "./channels.js";
import { company } from "./company.js";
import { configWords } from "./config.js";
import { conflictWords } from "./conflict.js";
import { cronWords } from "./cron.js";
import { draftWords } from "./drafts.js";
import { featureWords } from "./features.js";
import { handbookWords } from "./handbook.js";
import { instanceWords } from "./instances.js";
import { live } from "./live.js";
import { logs } from "./logs.js";
import { memoryWords } from "./memory.js";
import { monitor } from "./monitor.js";
import { overviewWords } from "./overview.js";
import { phoneWords } from "./phone.js";
import { readingWords } from "./reading.js";
import { recordings } from "./recordings.js";
import { schedulerWords } from "./scheduler.js";
import { binWords, exportWords } from "./bin.js";
import { selectionWords } from "./selection.js";
import { sessionWords } from "./sessions.js";
import { shell } from "./shell.js";
import { sopWords } from "./sops.js";
import { usage } from "./usage.js";
import { workWords } from "./work.js";
import { asking } from "./asking.js";
import { setupWords } from "./channel-setup.js";
import { groupWords } from "./config-groups.js";
import { besideWords } from "./sop-editor.js";
import { texts } from "./texts.js";

export const words = {
  artefacts: artefactWords,
  agents,
  approvals,
  channels: channelWords,
  company,
  config: configWords,
  conflict: conflictWords,
  cron: cronWords,
  drafts: draftWords,
  features: featureWords,
  handbook: handbookWords,
  instances: instanceWords,
  live,
  logs,
  memory: memoryWords,
  monitor,
  overview: overviewWords,
  phone: phoneWords,
  reading: readingWords,
  recordings,
  scheduler: schedulerWords,
  "bin.binWords": binWords,
  "bin.exportWords": exportWords,
  selection: selectionWords,
  sessions: sessionWords,
  shell,
  sops: sopWords,
  usage,
  work: workWords,
  asking,
  "channel-setup": setupWords,
  "config-groups": groupWords,
  "sop-editor": besideWords,
  texts,
};
