import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import { connect } from '#client/connect.ts';
import { startCluster } from './start-cluster.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-recording-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('requests over the port are recorded, and replayed in their order', async () => {
  const file = join(folder, 'session.jsonl');
  // A file that is there, and that others may read, is overwritten and closed to them.
  writeFileSync(file, 'old', { mode: 0o644 });
  const cluster = await startCluster({ nodes: 1, port: 0, recordTo: file });
  try {
    const outside = await connect({ kubeconfig: cluster.kubeconfigPath as string });
    const inDefault = outside.client.resource(configMaps).namespace('default');
    await inDefault.create({ metadata: { name: 'a' }, data: { step: '1' } });
    await inDefault.patch('a', 'application/merge-patch+json', { data: { step: '2' } });
    await outside.client
      .resource(pods)
      .namespace('default')
      .create({
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'c', image: 'busybox' }] },
      });
    await expect(inDefault.create({ metadata: { name: 'a' } })).rejects.toThrow('already exists');
    outside.close();
    // The test's own client is in the process, and not recorded.
    await cluster.client
      .resource(configMaps)
      .namespace('default')
      .create({ metadata: { name: 'b' } });
  } finally {
    await cluster.stop();
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).not.toMatch(/authorization|bearer/i);

  const replayOnce = async (): Promise<string> => {
    const replayed = await startCluster({ nodes: 1, clock: 'virtual', hashHistory: true });
    try {
      const requests = await replayed.replay(file);
      const writes = requests.filter(({ method }) => method !== 'GET');
      expect(writes.map(({ method, code }) => `${method} ${code}`)).toEqual([
        'POST 201',
        'PATCH 200',
        'POST 201',
        'POST 409',
      ]);
      expect((await replayed.get(configMaps, 'a')).data).toEqual({ step: '2' });
      await replayed.waitFor(pods, 'p', 'Ready');
      return replayed.historyHash();
    } finally {
      await replayed.stop();
    }
  };
  expect(await replayOnce()).toBe(await replayOnce());
});

test.each([
  ['', /JSON/],
  ['{"coxswain":"recording","version":2}\n', /no recording of this version/],
  ['{"coxswain":"recording","version":1}\n{"atMs":1}\n', /:2: this is no recorded request/],
])('rejects the file %j', async (text, message) => {
  const file = join(folder, 'bad.jsonl');
  writeFileSync(file, text);
  const cluster = await startCluster({ nodes: 0, clock: 'virtual', controllers: ['-*'] });
  try {
    await expect(cluster.replay(file)).rejects.toThrow(message);
  } finally {
    await cluster.stop();
  }
});
