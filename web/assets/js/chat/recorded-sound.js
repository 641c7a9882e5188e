// What a browser recorded in parts, as one file.

/**
 * @param {Blob[]} parts
 * @param {{mimeType: string}} recorder Firefox forgets its type when it stops; the parts keep theirs
 */
export const recordedSound = (parts, recorder) => new Blob(parts, { type: parts[0]?.type || recorder.mimeType });
