// A store without space from the clients' view: writes fail with a clear error, everything else
// works, and writes work again when there is room.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';

test('a full store refuses writes, is not ready, serves reads, and accepts writes when there is room', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'coxswain-full-'));
  const maxBytes = 3 * 1024 * 1024;
  const storage = await openEmbeddedStorage({
    clock: systemClock,
    logger: silentLogger,
    dataDir,
    maxBytes,
  });
  const server = await startTestServer({ storage, clock: systemClock, logger: silentLogger });
  try {
    const maps = server.client.resource(configMaps).namespace('default');
    const ready = (): Promise<string> =>
      server.client.transport.text({ method: 'GET', path: '/readyz/etcd' });
    const data = { filler: 'x'.repeat(50_000) };
    const made: string[] = [];
    const create = async (name: string, given = data): Promise<unknown> => {
      try {
        await maps.create({ metadata: { name }, data: given });
        made.push(name);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    expect(await ready()).toBe('ok');
    let refused: unknown;
    while (refused === undefined) refused = await create(`map-${made.length}`);
    // The remaining space may be less than that, which is the limit of the check.
    const small = { filler: 'x'.repeat(500) };
    refused = undefined;
    while (refused === undefined) refused = await create(`map-${made.length}`, small);
    expect(apierrors.toStatus(refused)).toMatchObject({
      code: 500,
      reason: 'InternalError',
      message: expect.stringMatching(/^Internal error occurred: no space for the store: /),
    });
    await expect(ready()).rejects.toThrow(/no space for the store/);
    // Exactly the created objects are there.
    expect((await maps.list()).items.map(({ metadata }) => metadata.name)).toEqual(made.toSorted());
    expect((await maps.get('map-0')).data).toEqual(data);
    await expect(maps.create({ metadata: { name: 'one-more' }, data })).rejects.toThrow(
      /no space for the store/,
    );
    await expect(maps.get('one-more')).rejects.toMatchObject({ status: { reason: 'NotFound' } });
    // A deletion takes little room; once the history is forgotten, what was deleted gives its own back.
    await maps.delete('map-0');
    await storage.compact(await storage.currentRevision());
    expect(await ready()).toBe('ok');
    await maps.create({ metadata: { name: 'one-more' }, data });
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
