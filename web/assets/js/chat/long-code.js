// Code of many pages: laid out a screen at a time. It stands in chunks, each of which the browser skips until it is near;
// a line that goes on for ever is cut for the eye and not for the clipboard.

const long = 60000;
const linesInChunk = 200;
const longestLine = 10000;

/**
 * The chunks of a text, which together are the text.
 * @param {string} text
 * @returns {{text: string, lines: number}[]} one for a text that is not long
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
      for (let at = 0; at < line.length; at += longestLine) chunks.push({ text: line.slice(at, at + longestLine), lines: 1 });
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
  // Whatever else stood there (one text, or colours) makes way.
  if ([...code.childNodes].some((node) => !(node instanceof Element && node.className === "code-chunk"))) code.replaceChildren();
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
