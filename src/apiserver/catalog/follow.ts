// What authorizers and admission keep in memory of objects of the cluster: they follow the registry, so that they are behind by as
// little as any watcher is.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { Kind } from './kind.ts';
import { everything } from '../registry/selection.ts';
import type { EncodedWatchEvent } from '../request.ts';

export interface FollowerConfig {
  /** What is served, asked for at the start. */
  readonly served: () => readonly Kind[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Told of every object of a resource, also of those that are there already, in the order in which they change. */
export interface Keeper {
  set(object: KubeObject): void;
  /** `key`: as `keyOf` says it. */
  delete(key: string): void;
}

const SERVER = { name: 'system:apiserver', groups: ['system:masters'] } as const;
const RETRY_MS = 1_000;

/** 'namespace/name', or the name alone. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

export class Follower {
  readonly #config: FollowerConfig;
  readonly #streams = new Set<WatchStream<EncodedWatchEvent>>();
  #stopped = false;

  constructor(config: FollowerConfig) {
    this.#config = config;
  }

  serves(group: string, resource: string): boolean {
    return this.#served(group, resource) !== undefined;
  }

  /** Resolves when everything that there is now is known. Rejects if the store cannot be read, or nobody serves the resource. */
  async follow(group: string, resource: string, keeper: Keeper): Promise<void> {
    const known = new Set<string>();
    const stream = await this.#open(group, resource);
    await new Promise<void>((synced, failed) => {
      void this.#read(group, resource, stream, known, keeper, synced).catch(failed);
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const stream of this.#streams) stream.stop();
  }

  #served(group: string, resource: string): Kind | undefined {
    return this.#config.served().find(({ type }) => type.group === group && type.resource === resource);
  }

  async #open(group: string, resource: string): Promise<WatchStream<EncodedWatchEvent>> {
    const served = this.#served(group, resource);
    if (served?.rest.watch === undefined) throw new Error(`${resource} are not served, but needed to know who may do what`);
    const context = { user: SERVER, namespace: '', signal: new AbortController().signal, warnings: [] };
    const stream = await served.rest.watch(context, {
      selection: everything,
      resourceVersion: '',
      allowBookmarks: true,
      sendInitialEvents: true,
    });
    this.#streams.add(stream);
    return stream;
  }

  /** `onSynced`: called when what was there at first is known; what is not told of until then has gone. */
  async #read(
    group: string,
    resource: string,
    stream: WatchStream<EncodedWatchEvent>,
    known: Set<string>,
    keeper: Keeper,
    onSynced?: () => void,
  ): Promise<void> {
    const seen = new Set<string>();
    let syncing = true;
    try {
      for await (const { type, object } of stream) {
        if (type === 'ERROR') break;
        if (type === 'BOOKMARK') {
          if (!syncing) continue;
          syncing = false;
          for (const key of known) {
            if (seen.has(key)) continue;
            known.delete(key);
            keeper.delete(key);
          }
          onSynced?.();
          continue;
        }
        const value = object.object() as KubeObject;
        const key = keyOf(value);
        if (type === 'DELETED') {
          known.delete(key);
          keeper.delete(key);
          continue;
        }
        if (syncing) seen.add(key);
        known.add(key);
        keeper.set(value);
      }
    } finally {
      this.#streams.delete(stream);
    }
    if (this.#stopped) return;
    // Whoever may do something because of an object that has gone must not go on with it: begin anew, and again until it works.
    const { clock, logger } = this.#config;
    logger.debug('a watch that tells who may do what ended', { resource });
    clock.setTimer(RETRY_MS, () => void this.#again(group, resource, known, keeper));
  }

  async #again(group: string, resource: string, known: Set<string>, keeper: Keeper): Promise<void> {
    if (this.#stopped) return;
    const { clock, logger } = this.#config;
    try {
      await this.#read(group, resource, await this.#open(group, resource), known, keeper);
    } catch (err) {
      logger.warn('what tells who may do what cannot be read, will retry', { resource, err });
      clock.setTimer(RETRY_MS, () => void this.#again(group, resource, known, keeper));
    }
  }
}
