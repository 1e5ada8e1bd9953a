import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Night, nightPage, readOutput } from './report.ts';
import { shortSteps, steps } from './steps.ts';

test('each step is a command of package.json', () => {
  const { scripts } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { readonly scripts: Readonly<Record<string, string>> };
  expect(steps.map(({ command }) => command[0]!).filter((name) => !(name in scripts))).toEqual([]);
  expect(new Set(steps.map(({ name }) => name)).size).toBe(steps.length);
  expect(shortSteps.map(({ command }) => command[0]!).filter((name) => !(name in scripts))).toEqual(
    [],
  );
  // The short form must not replace the results of long runs.
  expect(shortSteps.filter(({ command }) => command.includes('--record'))).toEqual([]);
});

test('counts, failures and missed goals are read from the output', () => {
  const output = [
    '[3/9] failed [sig-apps] Job should a',
    'failed\t3.1\t[sig-apps] Job should a\tno answer',
    '  creates                                      3,051 /s       goal ≥ 4,000 MISSED (0.76)',
    '  gets                                         3,051 /s       goal ≥ 2,000 met (1.52)',
    '8 passed, 1 failed, 0 skipped',
  ].join('\n');
  expect(readOutput(output)).toEqual({
    summary: '8 passed, 1 failed, 0 skipped',
    findings: ['[sig-apps] Job should a', 'misses its goal: creates'],
  });
});

test('a failed part of torture is named without its figures', () => {
  const output = [
    'holds    linearizable: memory: 12839 operations (2.3 s)',
    'FAILED   power loss: 40 losses, 3878 writes acknowledged (11.3 s)',
    '',
    'torture: 12 held, 1 failed, 0 skipped (seed torture)',
  ].join('\n');
  expect(readOutput(output)).toEqual({
    summary: 'torture: 12 held, 1 failed, 0 skipped (seed torture)',
    findings: ['power loss'],
  });
});

test('the page says what changed', () => {
  const night = (findings: readonly string[], status: number | undefined): Night => ({
    date: '2030-01-01T00:00:00.000Z',
    commit: 'abc',
    steps: [{ name: 'slow', status, seconds: 3, summary: '1 passed, 0 failed', findings }],
  });
  expect(nightPage(night([], 0), undefined)).toContain('There is no run before this one.');
  expect(nightPage(night([], 0), night([], 0))).toContain('## What changed\n\nNothing.');
  const page = nightPage(night(['b'], 1), night(['a'], 0));
  expect(page).toContain('- slow: new: b\n- slow: no longer: a\n');
  expect(page).toContain('| slow | failed: 1 passed, 0 failed | ok: 1 passed, 0 failed | 3 s |');
  expect(nightPage(night([], undefined), night([], 0))).toContain('→ not done in time');
});
