// The text functions of the language: contains, startsWith, endsWith, matches.

import { LruCache } from '#machinery/collections/lru.ts';
import { RE2JS, RE2JSException } from 're2js';
import { matchesRegex, sizeOf, traversal, traversesFirst } from '../cost.ts';
import { global, member, type CallCost, type Functions } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { BOOL, STRING } from '../types.ts';

/** Expressions have few patterns and use them repeatedly. */
const compiled = new LruCache<string, RE2JS>({ capacity: 512 });

/** Compiles a pattern. Matching takes linear time for any pattern. Throws EvaluationError. */
export function compileRegex(pattern: string): RE2JS {
  const cached = compiled.get(pattern);
  if (cached !== undefined) return cached;
  try {
    const regex = RE2JS.compile(pattern);
    compiled.set(pattern, regex);
    return regex;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw evaluationError(error.message);
  }
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
