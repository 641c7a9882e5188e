// The choice of a model, in German.

/** @type {typeof import("../models.js").modelWords} */
export const modelWords = {
  label: (model) => `Modell: ${model}. Ein anderes wählen`,
  title: "Modell für diese Unterhaltung",
  search: "Modelle durchsuchen",
  list: "Modelle",
  standard: "Standard",
  standardDetail: (model) => (model ? `was die Konfiguration nennt: ${model}` : "was die Konfiguration nennt"),
  groups: {
    named: "In der Konfiguration genannt",
    fallback: "Ersatz",
    service: "Vom Dienst angeboten",
    catalog: "Bekannte Modelle",
  },
  context: (tokens) => `${tokens} Tokens`,
  prices: (input, output) => `${input} $ Eingabe, ${output} $ Ausgabe je Million Tokens`,
  abilities: { tools: "Werkzeuge", images: "Bilder", pdf: "PDF", reasoning: "denkt nach" },
  loading: "Die Modelle werden abgefragt …",
  none: "Kein Modell hat diese Wörter im Namen.",
  failed: (why) => `Die Modelle konnten nicht aufgelistet werden. ${why}`,
  notSaved: (why) => `Die Wahl wurde für diese Unterhaltung nicht behalten. ${why}`,
};
