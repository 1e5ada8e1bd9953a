// Informers for tests of plugins: they contain the objects that the test adds, without an API
// server.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client, ResourceClient } from '#client/client.ts';
import { objectKey, SharedInformerFactory } from '#client/informers/index.ts';
import type { WatchEvent } from '#client/transport.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WatchQueue } from '#machinery/watch.ts';
import { RecordingLogger } from './handle.ts';

interface Kind {
  readonly objects: Map<string, KubeObject>;
  readonly watches: Set<WatchQueue<WatchEvent<KubeObject>>>;
}

export class TestInformers {
  readonly clock = new VirtualClock();
  readonly client: Client;
  readonly informers: SharedInformerFactory;
  readonly #kinds = new Map<string, Kind>();
  readonly #ended = new AbortController();
  #revision = 10;

  /** Creates the informers. `write`: handles calls other than list and watch. */
  constructor(write: Partial<ResourceClient<KubeObject>> = {}) {
    this.client = {
      resource: <T extends KubeObject>(type: ResourceType<T>) =>
        this.#resource(type, write) as unknown as ResourceClient<T>,
      transport: undefined as never,
    };
    this.informers = new SharedInformerFactory({
      client: this.client,
      clock: this.clock,
      random: new SeededRandom('informers'),
      logger: new RecordingLogger(),
      detectMutations: true,
    });
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Adds or replaces the object, with a new resource version. Returns it as informers have it. */
  put<T extends KubeObject>(type: ResourceType<T>, object: Immutable<T>): Immutable<T> {
    const { objects, watches } = this.#kind(type);
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#revision) },
    };
    const present = objects.has(objectKey(stored));
    objects.set(objectKey(stored), stored);
    for (const watch of watches)
      watch.push({ type: present ? 'MODIFIED' : 'ADDED', object: stored });
    return stored;
  }

  remove<T extends KubeObject>(type: ResourceType<T>, object: Immutable<T>): void {
    const { objects, watches } = this.#kind(type);
    objects.delete(objectKey(object));
    for (const watch of watches) watch.push({ type: 'DELETED', object });
  }

  /** Resolves when informers have all objects that were added so far. */
  async sync(): Promise<void> {
    this.informers.start(this.#ended.signal);
    await this.informers.waitForCacheSync(this.#ended.signal);
    for (let i = 0; i < 20; i++) await Promise.resolve();
  }

  stop(): void {
    this.#ended.abort();
    for (const { watches } of this.#kinds.values()) for (const watch of watches) watch.close();
  }

  #kind(type: { readonly group: string; readonly resource: string }): Kind {
    const key = `${type.resource}.${type.group}`;
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      kind = { objects: new Map(), watches: new Set() };
      this.#kinds.set(key, kind);
    }
    return kind;
  }

  #resource(
    type: ResourceType<KubeObject>,
    write: Partial<ResourceClient<KubeObject>>,
  ): Partial<ResourceClient<KubeObject>> {
    const { objects, watches } = this.#kind(type);
    const resource: Partial<ResourceClient<KubeObject>> = {
      ...write,
      namespace: () => resource as ResourceClient<KubeObject>,
      list: () =>
        Promise.resolve({
          metadata: { resourceVersion: String(this.#revision) },
          items: [...objects.values()] as never[],
        }),
      watch: () => {
        const queue = new WatchQueue<WatchEvent<KubeObject>>({
          onStop: () => watches.delete(queue),
        });
        watches.add(queue);
        return Promise.resolve(queue as never);
      },
    };
    return resource;
  }
}
