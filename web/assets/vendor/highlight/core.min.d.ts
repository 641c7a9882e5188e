// The part of highlight.js that the worker uses, for the type check of the pages. Not served.

/** A piece of highlighted text: plain, or with a scope. */
export type Piece = string | { scope?: string; children: Piece[] };

declare const library: {
  registerLanguage(name: string, grammar: unknown): void;
  highlight(
    text: string,
    options: { language: string; ignoreIllegals: boolean },
  ): { _emitter?: { rootNode?: Piece } };
};

export default library;
