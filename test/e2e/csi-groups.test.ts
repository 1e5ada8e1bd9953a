// Groups of snapshots of the reference CSI driver, with real file systems: a program writes to one
// volume after the other while groups are taken, and each group must have the order of its writes.

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isRoot } from '#cluster/machine/install.ts';
import { csiSchema, type CsiInput } from '#csi/schema.ts';
import { CsiDriver, systemHost } from '#csi-driver/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { execute } from '#machinery/execute.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import { recordingLogger } from '#machinery/log.ts';
import { named, temporaryDir } from './harness.ts';

const missing =
  process.platform !== 'linux' || !isRoot() ? 'mounting takes root on Linux' : undefined;

/** Writes growing numbers, each to both files, and to the disk before the next one. */
const WRITER = `
const fs = require('node:fs');
const { paths } = require('node:worker_threads').workerData;
const files = paths.map((path) => fs.openSync(path, 'w'));
for (let number = 1; ; number++)
  for (const file of files) {
    fs.writeSync(file, String(number).padStart(12, '0'), 0);
    fs.fdatasyncSync(file);
  }`;

const ROUNDS = 3;
const mountCapability: CsiInput<'VolumeCapability'> = {
  accessMode: { mode: 'SINGLE_NODE_WRITER' },
  mount: { fsType: 'ext4' },
};

describe.skipIf(missing !== undefined)(named('groups of snapshots', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let driver: CsiDriver;
  let connection: RpcConnection<typeof csiSchema>;
  let writer: Worker | undefined;
  const mounted: { readonly volumeId: string; readonly path: string }[] = [];

  const start = async (): Promise<void> => {
    const endpoint = join(dir.path, 'csi.sock');
    driver = await CsiDriver.start(
      {
        name: 'csi.coxswain.dev',
        version: 'v1',
        nodeName: 'node',
        directory: join(dir.path, 'state'),
        maxVolumes: 0,
        host: systemHost,
        clock: systemClock,
        logger: recordingLogger(),
      },
      { endpoint },
    );
    connection = new RpcConnection(csiSchema, endpoint, systemClock);
  };
  beforeEach(async () => {
    dir = temporaryDir();
    await start();
  });
  afterEach(async () => {
    await writer?.terminate();
    writer = undefined;
    for (const { volumeId, path: stagingTargetPath } of mounted.splice(0))
      await connection.call('Node', 'NodeUnstageVolume', { volumeId, stagingTargetPath });
    connection.close();
    driver.stop();
    dir.remove();
  });

  /** Creates a volume, or a copy of a snapshot, and returns where it is mounted. */
  async function mount(name: string, snapshotId?: string) {
    const { volume } = await connection.call('Controller', 'CreateVolume', {
      name,
      capacityRange: { requiredBytes: 32 * 1024 ** 2 },
      volumeCapabilities: [mountCapability],
      ...(snapshotId !== undefined && { volumeContentSource: { snapshot: { snapshotId } } }),
    });
    const path = join(dir.path, name);
    mkdirSync(path);
    const volumeId = volume?.volumeId ?? '';
    await connection.call('Node', 'NodeStageVolume', {
      volumeId,
      stagingTargetPath: path,
      volumeCapability: mountCapability,
    });
    mounted.push({ volumeId, path });
    return { volumeId, path };
  }

  const numberIn = (path: string): number => Number(readFileSync(join(path, 'number'), 'utf8'));

  test('have what was written first, if they have what was written after it', async () => {
    const [first, second] = [await mount('first'), await mount('second')];
    const paths = [first, second].map(({ path }) => join(path, 'number'));
    writer = new Worker(WRITER, { eval: true, workerData: { paths } });
    await expect
      .poll(() => numberIn(second.path), { timeout: 60_000, interval: 10 })
      .toBeGreaterThan(5);
    let last = 0;
    for (let round = 0; round < ROUNDS; round++) {
      // The volume that is written to last is copied first.
      const { groupSnapshot } = await connection.call(
        'GroupController',
        'CreateVolumeGroupSnapshot',
        { name: `round-${round}`, sourceVolumeIds: [second.volumeId, first.volumeId] },
      );
      const [ofSecond, ofFirst] = groupSnapshot?.snapshots ?? [];
      const after = numberIn((await mount(`second-${round}`, ofSecond?.snapshotId)).path);
      const before = numberIn((await mount(`first-${round}`, ofFirst?.snapshotId)).path);
      expect(after).toBeGreaterThan(last);
      expect([after, after + 1], `round ${round}`).toContain(before);
      last = after;
    }
    // The volumes are not frozen any more.
    const now = numberIn(second.path);
    await expect
      .poll(() => numberIn(second.path), { timeout: 60_000, interval: 10 })
      .toBeGreaterThan(now);
  }, 180_000);

  test('a driver that has ended while volumes were frozen lets them go at its next start', async () => {
    const { path } = await mount('frozen');
    expect((await execute(['fsfreeze', '--freeze', path], '')).code).toBe(0);
    connection.close();
    driver.stop();
    await start();
    // Thawing a file system that is not frozen fails.
    expect((await execute(['fsfreeze', '--unfreeze', path], '')).code).not.toBe(0);
  }, 60_000);
});
