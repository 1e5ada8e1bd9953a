// Checkpoints of containers, with a runtime that can make them.

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CriError, type RuntimeService } from '#cri/index.ts';
import { checkpoint, type CheckpointInput } from './checkpoint.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'checkpoint-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

function inputWith(
  checkpointContainer: RuntimeService['checkpointContainer'],
  more: Partial<CheckpointInput> = {},
): CheckpointInput {
  return {
    runtime: { checkpointContainer } as RuntimeService,
    directory: join(root, 'checkpoints'),
    namespace: 'default',
    pod: 'web',
    container: 'main',
    containerId: 'c1',
    timeoutSeconds: 0,
    now: Date.UTC(2026, 0, 2, 3, 4, 5),
    ...more,
  };
}

test('the runtime gets the place of the file, and as much time as it needs', async () => {
  const calls: unknown[][] = [];
  const make = (...args: unknown[]): Promise<void> => {
    calls.push(args);
    return Promise.resolve();
  };
  const path = join(root, 'checkpoints/checkpoint-web_default-main-2026-01-02T03:04:05Z.tar');
  expect(await checkpoint(inputWith(make))).toBe(path);
  await checkpoint(inputWith(make, { timeoutSeconds: 600 }));
  expect(calls).toEqual([
    ['c1', path, 120, { timeoutMs: 120_000 }],
    ['c1', path, 600, { timeoutMs: 600_000 }],
  ]);
  // A checkpoint has all of the container's memory.
  expect((await stat(join(root, 'checkpoints'))).mode & 0o777).toBe(0o700);
});

test.each<[string, CheckpointInput['containerId'], number, string]>([
  ['no container', undefined, 0, 'container main not found'],
  ['a negative time', 'c1', -1, 'CheckpointContainer requires the timeout value to be > 0'],
  ['a failure of the runtime', 'c1', 0, 'rpc error: code = Internal desc = no criu'],
])('%s is reported', async (_, containerId, timeoutSeconds, why) => {
  const fail = () => Promise.reject(new CriError('Internal', 'no criu'));
  await expect(checkpoint(inputWith(fail, { containerId, timeoutSeconds }))).rejects.toThrow(
    `checkpointing of default/web/main failed (${why})`,
  );
});
