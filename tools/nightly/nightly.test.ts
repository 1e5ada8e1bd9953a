import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readOutput } from './output.ts';
import { mergeResults, nightPage, type StepResult } from './report.ts';
import { runStep } from './run-step.ts';
import { steps } from './steps.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'coxswain-nightly-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('each step is a script of package.json, or a program of the repository', () => {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: object };
  for (const { command, short } of steps)
    for (const [program, ...args] of [command, short]) {
      if (program === 'npm') expect(Object.keys(scripts)).toContain(args[2]);
      else expect(read(args.find((arg) => arg.endsWith('.ts')) ?? '')).not.toBe('');
    }
  expect(new Set(steps.map(({ name }) => name)).size).toBe(steps.length);
});

test('every benchmark is a step', () => {
  const [, object = ''] =
    /^const benchmarks[^\n]*\n([\s\S]*?)^};/m.exec(read('bench/main.ts')) ?? [];
  const names = [...object.matchAll(/^ {2}async '?([\w-]+)'?\(/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  const inNightly = steps.flatMap(({ name }) => /^bench (.*)$/.exec(name)?.[1] ?? []);
  expect(inNightly.sort()).toEqual(names.sort());
});

test('the short form does not replace recorded results of long runs', () => {
  expect(steps.filter(({ short }) => short.includes('--record'))).toEqual([]);
});

test('counts, failures and missed goals are read from the output', () => {
  const output = [
    '[3/9] \u001b[31mfailed [sig-apps] Job should a\u001b[0m',
    'failed\t3.1\t[sig-apps] Job should a\tno answer',
    '  creates                                      3,051 /s       goal ≥ 4,000 MISSED (0.76)',
    '  gets                                         3,051.5 /s     3,000 – 3,100   goal ≥ 2,000 met (1.52)',
    '  protobuf decode                   50,751 /s                  0.27 × JSON.parse (189,397)',
    '  stored and cached by the server     30.7 MB',
    '  other guests of the host took 0.2 % of this machine',
    '| durable creates | 9,107 /s | 3,060 /s | 3.0 × |',
    '8 passed, 1 failed, 0 skipped',
  ].join('\n');
  expect(readOutput(output)).toEqual({
    summary: '8 passed, 1 failed, 0 skipped',
    findings: ['[sig-apps] Job should a', 'misses its goal: creates'],
    figures: [
      { name: 'creates', value: 3051, unit: '/s', ratio: 0.76 },
      { name: 'gets', value: 3051.5, unit: '/s', ratio: 1.52 },
      { name: 'protobuf decode', value: 50_751, unit: '/s', ratio: 0.27 },
      { name: 'stored and cached by the server', value: 30.7, unit: 'MB' },
      { name: 'durable creates', value: 9107, unit: '/s', ratio: 3 },
    ],
  });
});

test.each([
  '19 of 20 passed, 1 failed, 3 skipped',
  '23,456 requests, 0 answered differently',
  '2000 cases, 5949 steps, 4819 evictions, 0 differences',
  '25 compared, 0 different',
  'torture: 12 held, 1 failed, 0 skipped (seed torture)',
])('the summary is found: %s', (line) => {
  expect(readOutput(`something\n${line}\n`).summary).toBe(line);
});

test('a failed part of torture is named without its figures', () => {
  const output = [
    'holds    linearizable: memory: 12839 operations (2.3 s)',
    'FAILED   power loss: 40 losses, 3878 writes acknowledged (11.3 s)',
  ].join('\n');
  expect(readOutput(output).findings).toEqual(['power loss']);
});

const result = (name: string, more: Partial<StepResult> = {}): StepResult => ({
  name,
  status: 0,
  seconds: 3,
  summary: '1 passed, 0 failed',
  findings: [],
  figures: [],
  date: '2030-01-01T00:00:00.000Z',
  commit: 'abc',
  ...more,
});

test('the page says what changed', () => {
  const page = (now: Partial<StepResult>, before?: Partial<StepResult>): string =>
    nightPage(['a', 'b'], [result('a', now)], before === undefined ? [] : [result('a', before)]);
  expect(page({ findings: ['x'] })).toContain(
    '- a: its first run: ok: 1 passed, 0 failed\n- a: x\n',
  );
  expect(page({}, {})).toContain('## What changed\n\nNothing.');
  const changed = page({ findings: ['y'], status: 1 }, { findings: ['x'] });
  expect(changed).toContain('- a: new: y\n- a: no longer: x\n');
  expect(changed).toContain(
    '| a | failed: 1 passed, 0 failed | ok: 1 passed, 0 failed (2030-01-01, abc) | 3 s |\n' +
      '| b | not run this time | never run |  |\n',
  );
  expect(page({ status: undefined }, {})).toContain('→ not done in time');
});

test('the page lists figures, and among the changes those that differ much', () => {
  const figures = (value: number, ratio: number) => [{ name: 'creates', value, unit: '/s', ratio }];
  const page = (value: number, ratio: number): string =>
    nightPage(
      ['a'],
      [result('a', { figures: figures(value, ratio) })],
      [result('a', { figures: figures(1000, 1) })],
    );
  expect(page(1100, 1.1)).toContain('## What changed\n\nNothing.');
  expect(page(1100, 1.1)).toContain('| a | creates | 1,100 /s (1.1) | 1,000 /s (1) |');
  expect(page(500, 0.5)).toContain('- a: creates: 1,000 /s (1) → 500 /s (0.5)\n');
});

test('a step that does not run keeps its last result', () => {
  const merged = mergeResults([result('a'), result('b')], [result('b', { status: 1 })]);
  expect(merged.map(({ name, status }) => [name, status])).toEqual([
    ['a', 0],
    ['b', 1],
  ]);
});

const run = (script: string, limitMs: number, signal = new AbortController().signal) =>
  runStep({
    command: [process.execPath, '-e', script],
    cwd: dir,
    logFile: join(dir, 'log'),
    limitMs,
    graceMs: 100,
    signal,
  });

test('a step has its status and its output', async () => {
  const script = "console.log('3 passed, 1 failed, 0 skipped'); process.exitCode = 3";
  expect(await run(script, 60_000)).toMatchObject({
    status: 3,
    summary: '3 passed, 1 failed, 0 skipped',
  });
});

test('a step that does not end is killed, even if it ignores SIGTERM', async () => {
  const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  expect((await run(script, 500)).status).toBeUndefined();
});

test('a step ends with the signal', async () => {
  expect((await run('setInterval(() => {}, 1000)', 60_000, AbortSignal.abort())).status).toBe(
    undefined,
  );
});
