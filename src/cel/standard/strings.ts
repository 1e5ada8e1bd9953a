// The text functions of the language: contains, startsWith, endsWith, matches.

import { compilePattern, sizeOfPattern } from '#machinery/text/pattern.ts';
import type { RE2JS } from 're2js';
import { matchesRegex, sizeOf, traversal, traversesFirst } from '../cost.ts';
import { global, member, type CallCost, type Functions } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { BOOL, STRING } from '../types.ts';
import { countUncharged } from '../work-limit.ts';

/** The total size of the compiled patterns that are kept: some tens of megabytes. */
const MAX_COMPILED = 100_000;
/** The work of compiling a character, in units of cost. */
const WORK_OF_CHARACTER = 25;

/** Expressions have few patterns and use them repeatedly. */
const compiled = new Map<string, RE2JS>();
let compiledSize = 0;

/** Compiles a pattern. Matching takes linear time for any pattern. Throws EvaluationError. */
export function compileRegex(pattern: string): RE2JS {
  const cached = compiled.get(pattern);
  if (cached !== undefined) return cached;
  const size = sizeOfPattern(pattern);
  const regex = compilePattern(pattern);
  if (typeof regex === 'string') throw evaluationError(regex);
  compiledSize += size;
  if (compiledSize > MAX_COMPILED) {
    compiled.clear();
    compiledSize = size;
  }
  compiled.set(pattern, regex);
  // After it is kept: the next turn finds it.
  countUncharged(size * WORK_OF_CHARACTER);
  return regex;
}

const matches = (text: string, pattern: string): boolean => compileRegex(pattern).test(text);
const searchesFirst: CallCost = (args) => traversal(sizeOf(args[0])) * traversal(sizeOf(args[1]));

export const stringFunctions: Functions = {
  contains: [
    member(
      'contains_string',
      [STRING, STRING],
      BOOL,
      (text: string, part: string) => text.includes(part),
      searchesFirst,
    ),
  ],
  startsWith: [
    member(
      'starts_with_string',
      [STRING, STRING],
      BOOL,
      (text: string, start: string) => text.startsWith(start),
      traversesFirst,
    ),
  ],
  endsWith: [
    member(
      'ends_with_string',
      [STRING, STRING],
      BOOL,
      (text: string, end: string) => text.endsWith(end),
      traversesFirst,
    ),
  ],
  matches: [
    global('matches', [STRING, STRING], BOOL, matches, matchesRegex),
    member('matches_string', [STRING, STRING], BOOL, matches, matchesRegex),
  ],
};
