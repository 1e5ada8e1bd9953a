// The differences that are known and meant: each has its reason in explained.tsv, or is a bug.

import { readFileSync } from 'node:fs';

export interface Explanation {
  /** Matches the title of the requests: method, path, and what is special about them. */
  readonly request: RegExp;
  /** Matches the line of the difference, from its beginning to its end. */
  readonly difference: RegExp;
  readonly reason: string;
}

/** Throws an Error, with the number of the line, if the text has no such form. */
export function parseExplanations(text: string): readonly Explanation[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [request = '', difference = '', reason = '', ...rest] = line.split('\t');
    if (difference === '' || reason.trim() === '' || rest.length > 0)
      throw new Error(`explained.tsv:${index + 1}: three columns were expected`);
    return [
      { request: new RegExp(request), difference: new RegExp(`^(?:${difference})$`, 's'), reason },
    ];
  });
}

export class Explanations {
  readonly #unused: Set<Explanation>;
  readonly #all: readonly Explanation[];

  constructor(all: readonly Explanation[]) {
    this.#all = all;
    this.#unused = new Set(all);
  }

  static read(): Explanations {
    const file = new URL('explained.tsv', import.meta.url);
    return new Explanations(parseExplanations(readFileSync(file, 'utf8')));
  }

  /** Returns the lines that no explanation matches. */
  unexplained(title: string, lines: readonly string[]): readonly string[] {
    return lines.filter((line) => {
      const explanations = this.#all.filter(
        ({ request, difference }) => request.test(title) && difference.test(line),
      );
      for (const explanation of explanations) this.#unused.delete(explanation);
      return explanations.length === 0;
    });
  }

  /** Returns the explanations that have matched nothing so far. */
  get unused(): readonly Explanation[] {
    return [...this.#unused];
  }
}
