// Names the nodes whose kubelets have something to do, from the changes of a store in memory. It
// reads the store and not the API, so that faults, recordings and histories do not see it.

import { nodes, pods, type Pod } from '#api/groups/core/v1/index.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type { KeyValue, StorageEvent } from '#storage/interface.ts';
import type { MemoryStorage } from '#storage/memory/index.ts';

const NODES = storagePrefix(nodes);
const PODS = storagePrefix(pods);

/**
 * Calls `onChange` with the name of a node for each change, from now on, of the node or of a pod
 * that is bound to it. Resolves when the signal aborts or the store closes.
 */
export async function watchNodeChanges(
  storage: MemoryStorage,
  onChange: (node: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const follow = async (prefix: string, nodesOf: (event: StorageEvent) => string[]) => {
    const stream = storage.watch(prefix);
    const stop = (): void => stream.stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      for await (const event of stream) for (const node of nodesOf(event)) onChange(node);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
  await Promise.all([
    follow(NODES, (event) => keysOf(event).map((key) => key.slice(NODES.length))),
    follow(PODS, (event) => statesOf(event).flatMap((state) => nodeOf(storage, state))),
  ]);
}

function keysOf(event: StorageEvent): string[] {
  if (event.type === 'progress') return [];
  return [event.type === 'put' ? event.kv.key : event.key];
}

function statesOf(event: StorageEvent): KeyValue[] {
  if (event.type === 'progress') return [];
  return event.type === 'put' ? [event.kv] : [event.previous];
}

/** Returns the node of a pod; none if the pod is not bound. */
function nodeOf({ decoded }: MemoryStorage, { value }: KeyValue): string[] {
  // The API server has decoded nearly every pod before.
  const pod = (decoded?.get(value)?.deref() ?? JSON.parse(Buffer.from(value).toString())) as Pod;
  const { nodeName = '' } = pod.spec ?? {};
  return nodeName === '' ? [] : [nodeName];
}
