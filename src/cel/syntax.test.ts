// Compares the parser and the checker with cel-go's results for the same expressions: trees, and
// messages with their positions.
import { tests as checking } from '@bufbuild/cel-spec/testdata/checking.js';
import { tests as parsing } from '@bufbuild/cel-spec/testdata/parsing.js';
import { describe, expect, test } from 'vitest';
import { Environment } from './environment.ts';
import { formatIssues } from './errors.ts';
import { conformanceTests } from './testing/suite.ts';
import { toDebugString } from './testing/debug-string.ts';

interface Case {
  readonly original: { readonly expr: string };
  readonly ast?: string;
  readonly error?: string;
}

const environment = new Environment({ homogeneousLiterals: false, crossTypeComparisons: false });
/** The number of equal messages, of 197. */
const AGREEING = 162;
const quoting = environment.extend({ quotedNames: true });
const unadorned = (ast: string): string => ast.replaceAll(/\^#[^#]*#/g, '');

describe('trees', () => {
  const cases: Case[] = [...(parsing.tests as Case[]), ...(checking.tests as Case[])];
  for (const it of conformanceTests())
    if (it.ast !== undefined) cases.push({ original: { expr: it.expr }, ast: it.ast });

  test('are those of cel-go', () => {
    const different: unknown[] = [];
    let same = 0;
    for (const { original, ast } of cases) {
      if (ast === undefined) continue;
      const parsed = quoting.parse(original.expr);
      const actual =
        parsed.expression === undefined
          ? formatIssues(original.expr, parsed.issues)
          : toDebugString(parsed.expression);
      if (actual === unadorned(ast)) same++;
      else different.push([original.expr, actual, unadorned(ast)]);
    }
    expect(different).toEqual([]);
    expect(same).toBeGreaterThan(1500);
  });
});

describe('messages', () => {
  const cases = [...(parsing.tests as Case[]), ...(checking.tests as Case[])].filter(
    ({ error }) => error !== undefined,
  );

  test('are those of cel-go', () => {
    const different: string[] = [];
    for (const { original, error } of cases) {
      const message = environment.compile(original.expr).error?.message ?? 'compiled';
      // Only the first syntax error is reported here; cel-go continues by guessing.
      const wanted = error!.replaceAll(/ERROR: :(?=-?\d)/g, 'ERROR: <input>:');
      const grammar = wanted.includes('Syntax error');
      const first = (text: string): string => text.split('\nERROR')[0]!;
      if (grammar ? first(message) !== first(wanted) : message !== wanted)
        different.push(original.expr);
    }
    // The differences: recursion limits of cel-go's tests, error recovery of its parser generator,
    // protobuf types.
    expect(cases.length - different.length).toBe(AGREEING);
  });
});
