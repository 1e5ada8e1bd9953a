import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { rotateLogs } from './rotate-logs.ts';

const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, with: () => silent };

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rotate-'));
  path = join(directory, '0.log');
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

/** Rotates the logs of a runtime whose containers start a new file, or fail to. */
function rotate(
  clock: VirtualClock,
  reopen: () => Promise<void> = () => writeFile(path, ''),
): Promise<void> {
  const { runtime } = createSimulatedRuntime({ clock });
  runtime.reopenContainerLog = reopen;
  return rotateLogs({
    runtime,
    clock,
    logger: silent,
    containers: [{ id: 'c', logPath: path }],
    maxBytes: 10,
    maxFiles: 3,
  });
}

test('a file above the limit is moved, and only the newest files are kept', async () => {
  const clock = new VirtualClock();
  await writeFile(path, 'small');
  await rotate(clock);
  expect(await readdir(directory)).toEqual(['0.log']);
  for (let round = 0; round < 4; round++) {
    await writeFile(path, `round ${round} is large`);
    await clock.advance('1m');
    await rotate(clock);
  }
  const files = (await readdir(directory)).toSorted();
  expect(files).toEqual(['0.log', '0.log.20260101-000300', '0.log.20260101-000400']);
  expect(await readFile(join(directory, '0.log.20260101-000400'), 'utf8')).toBe('round 3 is large');
});

test('a container that cannot start a new file keeps its own', async () => {
  const clock = new VirtualClock();
  await writeFile(path, 'this one is large');
  await rotate(clock, () => Promise.reject(new Error('not running')));
  expect(await readdir(directory)).toEqual(['0.log']);
  expect(await readFile(path, 'utf8')).toBe('this one is large');
});
