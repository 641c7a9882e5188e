// The words of an approval card, in German.

import { counted } from "./count.js";

/** @type {typeof import("../asking.js").asking} */
export const asking = {
  purposes: {
    shell: "diesen Befehl ausführen",
    file_read: "diese Datei lesen",
    file_list: "diesen Ordner auflisten",
    file_search: "in Dateien danach suchen",
    file_write: "diese Datei schreiben",
    file_edit: "diese Datei ändern",
    web_fetch: "diese Seite abrufen",
    web_search: "im Web danach suchen",
    jsonrpc: "diese Anfrage senden",
    github: "bei GitHub danach fragen",
    open: "das öffnen",
    send_message: "diese Nachricht senden",
    schedule_task: "das einplanen",
    remove_scheduled_job: "diesen Auftrag entfernen",
    clipboard_write: "das in die Zwischenablage legen",
    notify: "diese Mitteilung zeigen",
    mail_draft: "diese E-Mail entwerfen",
    update_context: "diese Seite ändern",
  },
  more: "Mehr",
  lead: "Bis zur Entscheidung läuft nichts.",
  all: "Jede Angabe, wie das Werkzeug sie erhält",
  keys: "Auf dieser Karte erlaubt A einmal, und D lehnt ab; ↓ und ↑ führen zur nächsten und zur vorigen Frage.",
  question: (tool, purpose) => (purpose ? `Darf ${tool} ${purpose}?` : `${tool} erlauben?`),
  waiting: (n) => (n === 1 ? "1 wartet" : `${counted(n)} warten`),
  denyAll: "Alle ablehnen",
  denyAllTitle: (n) => `Alle ${counted(n)} Fragen ablehnen?`,
  denyAllText: "Nichts davon läuft. Die Unterhaltungen gehen ohne es weiter.",
  deniedAll: (n) => (n === 1 ? "1 Frage abgelehnt." : `${counted(n)} Fragen abgelehnt.`),
};
