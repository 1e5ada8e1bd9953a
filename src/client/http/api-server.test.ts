// The transport and informers against the API server itself, over TLS.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServer } from '#apiserver/server.ts';
import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { Client } from '../client.ts';
import { createClient } from '../create-client.ts';
import { SharedInformerFactory } from '../informers/index.ts';
import { makeCertificate } from '../testing/certificate.ts';
import { createHttpTransport } from './index.ts';

const clock = systemClock;
const logger = recordingLogger();
let server: ApiServer;
let client: Client;
const until = (condition: wait.Condition) =>
  wait.pollImmediately({ clock, intervalMs: 5, timeoutMs: 60_000 }, condition);

beforeEach(async () => {
  const { key, cert } = await makeCertificate();
  server = new ApiServer({
    storage: createMemoryStorage({ clock, logger }),
    clock,
    logger,
    random: systemRandom,
    port: 0,
    tls: { key, cert, clientCa: cert },
    tokens: new Map([
      ['secret', { name: 'admin', groups: ['system:masters', 'system:authenticated'] }],
    ]),
  });
  const { url } = await server.listen();
  await server.start();
  client = createClient(createHttpTransport({ server: url, ca: cert, token: 'secret', clock }));
});
afterEach(async () => {
  client.transport.close();
  await server.stop();
});

describe('HTTP transport and the API server', () => {
  test('writes, reads, deletes, and rejects with the errors of the server', async () => {
    const maps = client.resource(configMaps).namespace('default');
    const made = await maps.create({ metadata: { name: 'a' }, data: { k: 'ü'.repeat(100_000) } });
    expect(made.metadata.uid).not.toBe('');
    expect(await maps.get('a')).toEqual(made);
    expect(
      apierrors.isAlreadyExists(
        await maps.create({ metadata: { name: 'a' } }).catch((error: unknown) => error),
      ),
    ).toBe(true);
    const stale = { ...made, metadata: { ...made.metadata, resourceVersion: '1' } };
    expect(apierrors.isConflict(await maps.update(stale).catch((error: unknown) => error))).toBe(
      true,
    );
    await maps.patch('a', 'application/merge-patch+json', { data: { k: null, l: '1' } });
    expect((await maps.get('a')).data).toEqual({ l: '1' });
    await maps.delete('a', { preconditions: { uid: made.metadata.uid } });
    expect(apierrors.isNotFound(await maps.get('a').catch((error: unknown) => error))).toBe(true);
    expect(await client.transport.text({ method: 'GET', path: '/readyz' })).toBe('ok');
  });

  test('keeps informers in sync', async () => {
    const informers = new SharedInformerFactory({
      client,
      clock,
      random: systemRandom,
      logger,
      detectMutations: true,
    });
    const stop = new AbortController();
    const informer = informers.informerFor(configMaps, { labelSelector: 'watched' });
    const received: string[] = [];
    informer.addEventHandler({
      onAdd: ({ metadata }) => received.push(`add ${metadata.name}`),
      onUpdate: (_, { metadata }) => received.push(`update ${metadata.name}`),
      onDelete: ({ metadata }) => received.push(`delete ${metadata.name}`),
    });
    informers.informerFor(namespaces);
    const maps = client.resource(configMaps).namespace('default');
    await maps.create({ metadata: { name: 'before', labels: { watched: '' } } });
    informers.start(stop.signal);
    await informers.waitForCacheSync(stop.signal);
    await maps.create({ metadata: { name: 'after', labels: { watched: '' } } });
    await maps.create({ metadata: { name: 'other' } });
    await maps.patch('other', 'application/merge-patch+json', {
      metadata: { labels: { watched: '' } },
    });
    await maps.patch('before', 'application/merge-patch+json', { data: { k: 'v' } });
    await maps.patch('after', 'application/merge-patch+json', { metadata: { labels: null } });
    await until(() => received.length >= 5);
    expect(received).toEqual([
      'add before',
      'add after',
      'add other',
      'update before',
      'delete after',
    ]);
    expect(informer.lister.get('default', 'before')?.data).toEqual({ k: 'v' });
    expect(informer.lister.size).toBe(2);
    stop.abort();
    await informers.stopped();
  });
});
