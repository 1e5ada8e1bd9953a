// Patterns of schemas, in RE2's syntax: matching takes time linear in the text, whatever the pattern.

import { RE2JS, RE2JSException } from 're2js';

/** Returns why the pattern cannot be compiled; undefined if it can. */
export function patternProblem(pattern: string): string | undefined {
  const compiled = compilePattern(pattern);
  return typeof compiled === 'string' ? compiled : undefined;
}

/** Compiles a pattern. Returns the problem, as Go words it, if it cannot be compiled. */
export function compilePattern(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return error.message;
  }
}
