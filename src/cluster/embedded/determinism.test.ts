// The same seed gives the same history: in one process, and in others.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import { PROGRAMS_VARIABLE } from '#machinery/worker-source.ts';
import { hashOfScenario } from './determinism.scenario.ts';

const RUNS = partOrWhole(5, 100);

test(
  `the same seed gives the same history, ${RUNS} times in one process`,
  { timeout: 300_000 },
  async () => {
    const first: string[] = [];
    const expected = await hashOfScenario('seed', (line) => first.push(line));
    for (let run = 1; run < RUNS; run++) {
      const lines: string[] = [];
      const hash = await hashOfScenario('seed', (line) => lines.push(line));
      if (hash !== expected) {
        const at = lines.findIndex((line, index) => line !== first[index]);
        expect({ run, at, line: lines[at] }).toEqual({ run, at, line: first[at] });
      }
    }
    expect(await hashOfScenario('another seed')).not.toBe(expected);
  },
);

test('another process has the same history', async () => {
  const bundled = join(process.env[PROGRAMS_VARIABLE] ?? '', 'determinism.js');
  const program = `const { hashOfScenario } = await import(${JSON.stringify(bundled)});
    process.stdout.write(await hashOfScenario('seed'));`;
  const args = ['--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe(await hashOfScenario('seed'));
});
