// Informers with fixed objects and without changes, for plugins that look objects up.

import { createClient } from '#client/create-client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Transport } from '#client/transport.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WatchQueue } from '#machinery/watch.ts';
import { RecordingLogger } from './handle.ts';

export interface StaticInformers {
  readonly informers: SharedInformerFactory;
  /** Starts the informers, including those that were requested since. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Creates the informers. `objects`: by the collection's path, such as /api/v1/namespaces. A missing
 * collection is empty.
 */
export function staticInformers(
  objects: Readonly<Record<string, readonly unknown[]>>,
): StaticInformers {
  const refuse = (): never => {
    throw new Error('only lists and watches are answered here');
  };
  const transport: Transport = {
    request: async <T>({ path }: { readonly path: string }) =>
      ({ metadata: { resourceVersion: '1' }, items: objects[path] ?? [] }) as T,
    watch: async ({ signal }) => {
      const silent = new WatchQueue<never>();
      signal?.addEventListener('abort', () => silent.close(), { once: true });
      return silent;
    },
    text: refuse,
    stream: refuse,
    close: () => undefined,
  };
  const client = createClient(transport);
  const random = new SeededRandom('informers');
  const informers = new SharedInformerFactory({
    client,
    clock: new VirtualClock(),
    random,
    logger: new RecordingLogger(),
  });
  const stopping = new AbortController();
  return {
    informers,
    start: async () => {
      informers.start(stopping.signal);
      await informers.waitForCacheSync(stopping.signal);
    },
    stop: async () => {
      stopping.abort();
      await informers.stopped();
    },
  };
}
