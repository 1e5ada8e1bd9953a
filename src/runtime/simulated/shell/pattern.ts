// Shell patterns (`*`, `?`, `[a-z]`), with a matcher that takes linear time for each `*`, so that
// no pattern is slow.

/** A part of a pattern. `quoted`: its characters match literally. */
export interface PatternPart {
  readonly text: string;
  readonly quoted: boolean;
}

type Matcher =
  | { readonly kind: 'star' }
  | { readonly kind: 'one'; readonly matches: (char: string) => boolean };

export class Pattern {
  readonly #matchers: readonly Matcher[];
  /** False for a pattern that matches only itself. */
  readonly special: boolean;

  constructor(parts: readonly PatternPart[]) {
    const matchers: Matcher[] = [];
    let special = false;
    for (const { text, quoted } of parts) {
      const chars = [...text];
      for (let i = 0; i < chars.length; i++) {
        const char = chars[i]!;
        const set = !quoted && char === '[' ? readSet(chars, i) : undefined;
        if (!quoted && char === '*') matchers.push({ kind: 'star' });
        else if (!quoted && char === '?') matchers.push({ kind: 'one', matches: () => true });
        else if (set !== undefined) {
          matchers.push({ kind: 'one', matches: set.matches });
          i = set.end;
        } else {
          matchers.push({ kind: 'one', matches: (each) => each === char });
          continue;
        }
        special = true;
      }
    }
    this.#matchers = matchers;
    this.special = special;
  }

  matches(text: string): boolean {
    const chars = [...text];
    const matchers = this.#matchers;
    let at = 0;
    let matcher = 0;
    let star = -1;
    let resume = 0;
    while (at < chars.length) {
      const current = matchers[matcher];
      if (current?.kind === 'star') {
        star = matcher++;
        resume = at;
      } else if (current?.kind === 'one' && current.matches(chars[at]!)) {
        matcher++;
        at++;
      } else if (star !== -1) {
        matcher = star + 1;
        at = ++resume;
      } else return false;
    }
    while (matchers[matcher]?.kind === 'star') matcher++;
    return matcher === matchers.length;
  }
}

function readSet(
  chars: readonly string[],
  start: number,
): { end: number; matches: (char: string) => boolean } | undefined {
  let at = start + 1;
  const negated = chars[at] === '!' || chars[at] === '^';
  if (negated) at++;
  const ranges: [string, string][] = [];
  for (let first = true; at < chars.length; first = false) {
    const char = chars[at]!;
    if (char === ']' && !first) {
      return {
        end: at,
        matches: (each) => ranges.some(([low, high]) => each >= low && each <= high) !== negated,
      };
    }
    const high = chars[at + 2];
    if (chars[at + 1] === '-' && high !== undefined && high !== ']') {
      ranges.push([char, high]);
      at += 3;
    } else {
      ranges.push([char, char]);
      at++;
    }
  }
  return undefined;
}
