// Searching with regular expressions: find, findAll.

import { matchesRegex } from '../cost.ts';
import { member, type Library } from '../declarations.ts';
import { compileRegex } from '../standard/strings.ts';
import { INT, list, STRING } from '../types.ts';
import { WorkLimit } from '../work-limit.ts';

/** The work of finding a match, as a number of visited parts. */
const PARTS_OF_MATCH = 16;

/** Yields the matches as Go finds them: no empty match right after another match. */
function* occurrences(text: string, pattern: string): Generator<string> {
  const matcher = compileRegex(pattern).matcher(text);
  let end = -1;
  while (matcher.find()) {
    const match = matcher.group() ?? '';
    if (match === '' && matcher.start() === end) continue;
    end = matcher.end();
    yield match;
  }
}

function find(text: string, pattern: string): string {
  for (const match of occurrences(text, pattern)) return match;
  return '';
}

function findAll(text: string, pattern: string, limit: number | bigint = -1): string[] {
  const matches: string[] = [];
  if (limit === 0) return matches;
  const work = new WorkLimit();
  for (const occurrence of occurrences(text, pattern)) {
    work.part(PARTS_OF_MATCH);
    matches.push(occurrence);
    if (matches.length === Number(limit)) break;
  }
  return matches;
}

export const regexLibrary: Library = {
  name: 'kubernetes.regex',
  functions: {
    find: [member('string_find_string', [STRING, STRING], STRING, find, matchesRegex)],
    findAll: [
      member('string_find_all_string', [STRING, STRING], list(STRING), findAll, matchesRegex),
      member(
        'string_find_all_string_int',
        [STRING, STRING, INT],
        list(STRING),
        findAll,
        matchesRegex,
      ),
    ],
  },
};
