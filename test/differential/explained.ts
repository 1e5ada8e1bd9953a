// The differences that are known and meant: each has its reason in explained.tsv, or is a bug.

import { readFileSync } from 'node:fs';

export interface Explanation {
  /** Matches the title of the requests: method, path, and what is special about them. */
  readonly request: RegExp;
  /** Matches the line of the difference, from its beginning to its end. */
  readonly difference: RegExp;
  readonly reason: string;
  /** Whether a run may lack the difference, since it depends on time or on the order of maps. */
  readonly isOccasional: boolean;
}

const OCCASIONAL = 'occasional';

/** Throws an Error, with the number of the line, if the text has no such form. */
export function parseExplanations(text: string): readonly Explanation[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [request = '', difference = '', reason = '', often, ...rest] = line.split('\t');
    const isOccasional = often === OCCASIONAL;
    if (difference === '' || reason.trim() === '' || rest.length > 0)
      throw new Error(`explained.tsv:${index + 1}: three columns were expected`);
    if (often !== undefined && !isOccasional)
      throw new Error(`explained.tsv:${index + 1}: "${OCCASIONAL}" was expected`);
    return [
      {
        request: new RegExp(request),
        difference: new RegExp(`^(?:${difference})$`, 's'),
        reason,
        isOccasional,
      },
    ];
  });
}

/** An explained difference: the request's title, the line, and the explanations that match. */
export interface Explained {
  readonly title: string;
  readonly line: string;
  readonly explanations: readonly Explanation[];
}

export class Explanations {
  /** Every explained difference so far. */
  readonly explained: Explained[] = [];
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
      if (explanations.length === 0) return true;
      for (const explanation of explanations) this.#unused.delete(explanation);
      this.explained.push({ title, line, explanations });
      return false;
    });
  }

  /** Returns the explanations that should have matched by the end of a run, and have not. */
  get unused(): readonly Explanation[] {
    return [...this.#unused].filter(({ isOccasional }) => !isOccasional);
  }
}
