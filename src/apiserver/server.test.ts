import { describe, expect, test } from 'vitest';

import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import { serverPerTest } from './testing/server-per-test.ts';

const t = serverPerTest();

describe('ApiServer, in-process', () => {
  test('starts with the namespaces of every cluster', async () => {
    const list = await t.client.resource(namespaces).list();
    expect(list.items.map((item) => item.metadata.name)).toEqual([
      'default',
      'kube-node-lease',
      'kube-public',
      'kube-system',
    ]);
  });

  test('creates, reads, updates, lists, watches and deletes', async () => {
    const client = t.client.resource(configMaps).namespace('default');
    const watch = await client.watch();
    const events: string[] = [];
    const created = await client.create({ metadata: { name: 'a' }, data: { k: 'v' } });
    expect(created).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a', namespace: 'default' },
      data: { k: 'v' },
    });
    expect(await client.get('a')).toEqual(created);
    const updated = await client.update({ ...created, data: { k: 'w' } });
    expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.metadata.resourceVersion),
    );
    expect((await client.list()).items).toEqual([updated]);
    await client.delete('a');
    for await (const event of watch) {
      events.push(`${event.type} ${event.object.metadata.name} ${event.object.data?.['k']}`);
      if (event.type === 'DELETED') break;
    }
    expect(events).toEqual(['ADDED a v', 'MODIFIED a w', 'DELETED a w']);
  });
});
