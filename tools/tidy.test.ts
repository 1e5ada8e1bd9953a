// Checks the rules of style (tools/tidy/rules.ts). A file that is not exempt must pass; an exempt
// one that passes must leave the list, so that the list only shrinks.

import { describe, expect, test } from 'vitest';
import { findViolations, problems, readExempt, repositoryFiles } from './tidy/check.ts';

describe('tidy', () => {
  test('files keep the rules, and exempt files leave the list once they do', () => {
    expect(problems(findViolations(repositoryFiles()), readExempt())).toEqual([]);
  });

  const rulesBrokenBy = (path: string, text: string): string[] =>
    findViolations(new Map([[path, text]])).map(({ rule }) => rule);

  test.each([
    ['words', 'src/api/a.ts', '// Nobody waits.'],
    ['words', 'docs/a.md', 'Watchers are told.'],
    ['openings', 'src/api/a.ts', '/** What is stored. */'],
    ['openings', 'src/api/a.ts', '  // Of the nodes that fit.'],
    ['line-length', 'src/api/a.ts', 'x'.repeat(121)],
    ['single-import', 'src/api/a.ts', "import { a } from 'b';\nimport type { C } from 'b';"],
    ['optional-members', 'src/api/a.ts', '  readonly a?: string | undefined;'],
    ['io', 'src/api/a.ts', "import { readFile } from 'node:fs/promises';"],
    ['io', 'src/scheduler/a.ts', "import { isIP, connect } from 'node:net';"],
    ['io', 'src/api/a.ts', "import {\n  readFile,\n  stat,\n} from 'node:fs/promises';"],
    ['ambient', 'src/api/a.ts', 'const now = Date.now();'],
    ['ambient', 'src/api/a.ts', 'setImmediate(resolve);'],
    ['ambient', 'src/machinery/turn.ts', 'setTimeout(resolve, 1);'],
    ['ambient', 'src/api/a.ts', 'const signal = AbortSignal.timeout(1);'],
    ['ambient', 'src/api/a.ts', 'crypto.getRandomValues(bytes);'],
    ['ambient', 'src/api/a.ts', "await fetch('http://example.com');"],
    ['readme-size', 'src/api/README.md', 'word '.repeat(800)],
    ['dead-exports', 'src/api/a.ts', 'export const alone = 1;'],
  ])('%s finds what it is for in %s', (rule, path, text) => {
    expect(rulesBrokenBy(path, text)).toEqual([rule]);
  });

  test.each([
    ['src/api/a.ts', '// No client waits.\n/** Returns what is stored. */'],
    ['src/api/a.ts', "import { isIP, type Socket } from 'node:net';"],
    ['src/api/a.ts', 'clock.setInterval(1, look);\n// No setImmediate(), no Date.now().'],
    ['src/machinery/pending-work.ts', 'setImmediate(resolve);'],
    ['src/kubelet/logs/a.ts', "import { readFile } from 'node:fs/promises';"],
    ['src/api/a.ts', "import { a } from 'b';\nimport * as c from 'b';"],
    ['src/api/a.ts', '  readonly a: string | undefined;'],
    ['src/api/a.test.ts', "import { readFile } from 'node:fs/promises';"],
  ])('passes what is right: %s', (path, text) => {
    expect(rulesBrokenBy(path, text)).toEqual([]);
  });

  test('an exemption that is not needed is a problem', () => {
    expect(problems([], new Set(['words\tsrc/a.ts']))).toEqual([
      'tools/tidy/exempt.tsv: words src/a.ts passes: remove the line (npm run tidy -- --update)',
    ]);
  });
});
