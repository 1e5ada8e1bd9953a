// Compares heartbeats that are made together with single requests: by all traces that they leave.

import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { KeyValue, StorageEvent } from '#storage/interface.ts';
import type { TestServer } from '../../testing/server.ts';

/** Returns the client of a node's kubelet. */
export function kubeletClient({ server }: Pick<TestServer, 'server'>, nodeName: string): Client {
  const user = {
    name: `system:node:${nodeName}`,
    groups: ['system:nodes', 'system:authenticated'],
  };
  const handler = server.inProcess(user);
  return createClient(createInProcessTransport({ handler, userAgent: 'kubelet' }));
}

export interface TracedServer extends Pick<TestServer, 'storage' | 'client'> {
  /** All events under the prefix. */
  readonly events: readonly StorageEvent[];
}

/** Returns everything under a prefix of the storage that clients and operators can see. */
export async function tracesOf(
  { storage, client, events }: TracedServer,
  prefix: string,
): Promise<object> {
  const metrics = await client.transport.text({ method: 'GET', path: '/metrics' });
  const { items, revision } = await storage.list(prefix);
  return {
    items: items.map(textOf),
    revision,
    events: events.map((event) => {
      if (event.type === 'progress') return event;
      const current = event.type === 'put' ? textOf(event.kv) : event.key;
      return `${event.type} ${event.revision} ${current} ${event.previous && textOf(event.previous)}`;
    }),
    metrics: metrics.split('\n').filter((line) => !/^(process_|nodejs_)/.test(line)),
  };
}

function textOf({ key, value, createRevision, modRevision }: KeyValue): string {
  return `${key} ${createRevision} ${modRevision} ${Buffer.from(value).toString('latin1')}`;
}
