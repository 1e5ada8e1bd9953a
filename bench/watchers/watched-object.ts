// The object that is watched: a ConfigMap of 4 KB.

import { configMaps, namespaces } from '#api/groups/core/v1/index.ts';
import type { Target } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import type { OpenOrder } from './client.ts';

const NAMESPACE = 'fan-out';
const NAME = 'watched';
const collection = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const EVENT_BYTES = 4096;

/** Returns the object's JSON without its last field, a number. */
export function watchedBody(): string {
  return JSON.stringify({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: NAME, namespace: NAMESPACE },
    data: { filler: 'x'.repeat(EVENT_BYTES - 600), serial: '' },
  }).slice(0, -3);
}

/** Creates the object. Returns its path, and that of watches that begin now. */
export async function createWatched(
  target: Target,
): Promise<Pick<OpenOrder, 'watchPath' | 'objectPath'>> {
  const { client, close } = connectTo(target);
  try {
    await client
      .resource(namespaces)
      .create({ metadata: { name: NAMESPACE } })
      .catch((error: unknown) => {
        // A server that was measured before has it.
        if ((error as { code?: unknown }).code !== 409) throw error;
      });
    const maps = client.resource(configMaps).namespace(NAMESPACE);
    const previous = (await maps.list()).items.find(({ metadata }) => metadata.name === NAME);
    if (previous !== undefined) await maps.delete(NAME);
    const { metadata } = await maps.create({ metadata: { name: NAME } });
    return {
      watchPath:
        `${collection}?watch=1&resourceVersion=${metadata.resourceVersion}` +
        `&fieldSelector=metadata.name%3D${NAME}`,
      objectPath: `${collection}/${NAME}`,
    };
  } finally {
    close();
  }
}
