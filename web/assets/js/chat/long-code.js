// Lays out long code a screen at a time. It is split into chunks that the browser skips until they are near the viewport; an
// extremely long line is truncated on screen but not on the clipboard.

const long = 60000;
const linesInChunk = 200;
const longestLine = 10000;

/**
 * Splits a text into chunks that concatenate to the text.
 * @param {string} text
 * @returns {{text: string, lines: number}[]} a single chunk if the text is not long
 */
export function chunksOf(text) {
  if (text.length < long) return [{ text, lines: 0 }];
  const chunks = [];
  let chunk = "";
  let lines = 0;
  const close = () => {
    if (chunk) chunks.push({ text: chunk, lines: Math.max(1, lines) });
    chunk = "";
    lines = 0;
  };
  for (const line of text.split(/(?<=\n)/)) {
    if (line.length > longestLine) {
      close();
      for (let at = 0; at < line.length; at += longestLine)
        chunks.push({ text: line.slice(at, at + longestLine), lines: 1 });
      continue;
    }
    chunk += line;
    lines += 1;
    if (lines >= linesInChunk || chunk.length >= long) close();
  }
  close();
  return chunks;
}

/** Puts a text into a code element. @param {Element} code @param {string} text */
export function setCode(code, text) {
  const chunks = chunksOf(text);
  if (chunks.length < 2) {
    if (code.textContent !== text || code.childElementCount > 0) code.textContent = text;
    return;
  }
  // Other content (plain text, or highlighting) is replaced.
  if ([...code.childNodes].some((node) => !(node instanceof Element && node.className === "code-chunk")))
    code.replaceChildren();
  chunks.forEach((chunk, index) => {
    const there = code.children[index];
    if (there?.textContent === chunk.text) return;
    const element = document.createElement("span");
    element.className = "code-chunk";
    element.style.setProperty("--lines", String(chunk.lines));
    element.textContent = chunk.text;
    if (there) there.replaceWith(element);
    else code.append(element);
  });
  while (code.children.length > chunks.length) code.lastElementChild?.remove();
}
