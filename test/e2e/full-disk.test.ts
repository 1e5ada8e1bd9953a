// A full disk: writes are refused with a clear error, reads succeed, and writes succeed again when
// there is room.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRoot } from '#cluster/machine/install.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

const missing =
  missingKubectl ??
  (process.platform === 'linux' && isRoot()
    ? undefined
    : 'mounting a small disk needs Linux and root');

describe.skipIf(missing !== undefined)(named('a full disk', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let disk: string;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  beforeAll(async () => {
    dir = temporaryDir();
    disk = join(dir.path, 'disk');
    mkdirSync(disk);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]);
    expect(mounted).toMatchObject({ status: 0 });
    cluster = await coxUp(['--runtime', 'simulated'], { dataDir: disk });
    kubectl = cluster.kubectl();
  });
  afterAll(async () => {
    await cluster?.stop();
    await run('umount', [disk]);
    dir.remove();
  });

  test('refuses writes, serves reads, recovers', async () => {
    await kubectl.run('create configmap before --from-literal=a=b');
    const ballast = join(disk, 'ballast');
    const fill = (): void => {
      // Fills the disk to the last block.
      for (const size of [1 << 20, 1 << 12]) {
        try {
          for (;;) writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    };
    fill();
    const value = 'x'.repeat(100_000);
    const refused = await eventually('a refusal', async () => {
      const result = await kubectl.try('create -f -', {
        input: `apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: fill-}\ndata: {a: ${value}}`,
      });
      return result.status !== 0 && result;
    });
    expect(refused.stderr).toMatch(/no (room|space)|disk is full/i);
    expect(await kubectl.run('get configmap before -o jsonpath={.data.a}')).toBe('b');
    expect(cluster.process.exitCode).toBeNull();
    rmSync(ballast);
    await eventually(
      'writes again',
      async () => (await kubectl.try('create configmap after --from-literal=a=c')).status === 0,
    );
    expect(await kubectl.run('get configmap after -o jsonpath={.data.a}')).toBe('c');
  });
});
