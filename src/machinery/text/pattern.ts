// Patterns of schemas, in RE2's syntax: matching takes linear time for any pattern.

import { RE2JS, RE2JSException } from 're2js';

/**
 * The largest program of a pattern, in characters with all repetitions written out: compiling it
 * takes about ten milliseconds. Upstream's limit is some hundred times as large.
 */
const MAX_PATTERN_SIZE = 5000;
/** The total length of patterns in the cache, in characters. */
const MAX_REMEMBERED = 1024 * 1024;

const problems = new Map<string, string | undefined>();
let remembered = 0;

/**
 * Returns the reason why the pattern cannot be compiled; undefined if it can. The result is cached:
 * schemas are validated in several passes.
 */
export function patternProblem(pattern: string): string | undefined {
  if (problems.has(pattern)) return problems.get(pattern);
  const compiled = compilePattern(pattern);
  const problem = typeof compiled === 'string' ? compiled : undefined;
  remembered += pattern.length;
  if (remembered > MAX_REMEMBERED) {
    problems.clear();
    remembered = pattern.length;
  }
  problems.set(pattern, problem);
  return problem;
}

/** Compiles a pattern. Returns Go's error text if it cannot be compiled. */
export function compilePattern(pattern: string): RE2JS | string {
  if (sizeOfPattern(pattern) > MAX_PATTERN_SIZE)
    return 'error parsing regexp: expression too large';
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return error.message;
  }
}

/**
 * Returns an upper bound for the size of a pattern's program: its length, times the repetitions of
 * each part.
 */
export function sizeOfPattern(pattern: string): number {
  let size = 0;
  /** The sizes before each open group. */
  const groups: number[] = [];
  /** The size before the last atom. */
  let atom = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === '(') {
      groups.push(size);
      size++;
    } else if (character === ')') {
      atom = groups.pop() ?? 0;
      size++;
    } else if (character === '{') {
      const repetition = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/.exec(pattern.slice(at, at + 12));
      if (repetition !== null)
        size =
          atom + (size - atom) * Math.max(1, Number(repetition[1]), Number(repetition[2] ?? 0));
      if (repetition !== null) at += repetition[0].length - 1;
    } else {
      if (character === '\\') at++;
      if (character !== '*' && character !== '+' && character !== '?') atom = size;
      size++;
    }
    if (size > MAX_PATTERN_SIZE) return size;
  }
  return size;
}
