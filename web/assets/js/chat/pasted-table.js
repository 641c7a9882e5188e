// Tables that are pasted from a spreadsheet or a page stay tables: they become one of Markdown, which the model reads and the
// conversation shows.

const maxCells = 20000;

/**
 * @param {DataTransfer | null} data
 * @returns {string} the table in Markdown, or "" if what was copied is something else
 */
export function pastedTable(data) {
  const html = data?.getData("text/html") ?? "";
  if (!/<table\b/i.test(html)) return "";
  // An inert document: nothing in it is loaded or run.
  const page = new DOMParser().parseFromString(html, "text/html");
  const tables = page.querySelectorAll("table");
  if (tables.length !== 1) return "";
  const rows = [...tables[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent ?? ""));
  // A table with text around it is a part of a page, whose plain text says more.
  for (const extra of page.querySelectorAll("table, style, script, title, meta")) extra.remove();
  return page.body.textContent?.trim() ? "" : markdownTable(rows);
}

/**
 * Writes rows as a table of Markdown, the first one as its head. Pure.
 * @param {string[][]} rows @returns {string} "" if it is no table of two columns or rows at least
 */
export function markdownTable(rows) {
  const filled = rows.filter((row) => row.some((cell) => cell.trim()));
  const width = Math.max(0, ...filled.map((row) => row.length));
  if (width * filled.length < 2 || width < 2 || width * filled.length > maxCells) return "";
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  const [head, ...body] = filled.map((row) => Array.from({ length: width }, (_, at) => inCell(row[at] ?? "")));
  return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n");
}

/** @param {string} text */
const inCell = (text) => text.trim().replace(/\s+/g, " ").replace(/([\\|])/g, "\\$1");
