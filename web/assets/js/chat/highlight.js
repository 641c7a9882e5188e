// Colours for code. The library and each language are loaded when a block of that language is there, and its tree of
// scopes becomes elements here, so that no markup passes through a string.

const grammars = new Set(
  ("bash c cpp csharp css diff dockerfile go graphql ini java javascript json kotlin lua makefile markdown nginx nix perl " +
    "php powershell python r ruby rust scss shell sql swift typescript xml yaml").split(" "),
);
/** @type {Record<string, string>} */
const aliases = {
  sh: "bash", zsh: "bash", console: "shell", "c++": "cpp", cc: "cpp", h: "c", cs: "csharp", docker: "dockerfile", golang: "go",
  gql: "graphql", toml: "ini", js: "javascript", mjs: "javascript", jsx: "javascript", jsonc: "json", kt: "kotlin", make: "makefile",
  md: "markdown", pl: "perl", ps1: "powershell", py: "python", rb: "ruby", rs: "rust", patch: "diff", ts: "typescript", tsx: "typescript",
  html: "xml", svg: "xml", yml: "yaml",
};
/** @type {Map<string, Promise<any>>} */
const loading = new Map();
const limit = 60000;

/** The name that a person would use. @param {string} label */
export function languageName(label) {
  return aliases[label.toLowerCase()] ?? label.toLowerCase();
}

/**
 * Colours a code element, if its language is known and it is not enormous.
 * @param {HTMLElement} code
 * @param {string} label
 */
export async function highlight(code, label) {
  const language = languageName(label);
  const text = code.textContent ?? "";
  if (!grammars.has(language) || text.length > limit) return;
  const library = await load(language).catch(() => null);
  if (!library || !code.isConnected || code.textContent !== text) return;
  const tree = library.highlight(text, { language, ignoreIllegals: true })._emitter?.rootNode;
  if (tree) code.replaceChildren(...tree.children.map(toNode));
}

/** @param {string} language */
function load(language) {
  const known = loading.get(language);
  if (known) return known;
  const library = Promise.all([
    import("../../vendor/highlight/core.min.js"),
    import(`../../vendor/highlight/languages/${language}.min.js`),
  ]).then(([core, grammar]) => {
    core.default.registerLanguage(language, grammar.default);
    return core.default;
  });
  loading.set(language, library);
  library.catch(() => loading.delete(language));
  return library;
}

/** @param {string | {scope?: string, children: any[]}} piece @returns {Node} */
function toNode(piece) {
  if (typeof piece === "string") return document.createTextNode(piece);
  const span = document.createElement("span");
  if (piece.scope) span.className = `hl-${piece.scope.split(".")[0].replace(/[^\w-]/g, "")}`;
  span.append(...piece.children.map(toNode));
  return span;
}
