// Counts the requests, watches and watch events of each client, by user and user agent.

import type { WatchReader, WatchStream } from '#machinery/watch.ts';

/** The counts of one client since the server started. */
export interface ClientCounts {
  readonly user: string;
  readonly userAgent: string;
  reads: number;
  writes: number;
  /** Responses with a code from 400. */
  failures: number;
  /** Watches that were begun. */
  watches: number;
  /** Watches that are open now. */
  openWatches: number;
  /** Events of watches that the client has taken. */
  events: number;
}

/** Further clients are counted together. */
const MAX_CLIENTS = 500;
/** The combinations of names that are looked up without being shortened. */
const MAX_NAMES = 20_000;
const MAX_LENGTH = 100;
const OTHERS = 'others';

export class TrafficCounters {
  readonly #clients = new Map<string, ClientCounts>();
  /** By the user's name and the whole User-Agent, so that few requests cut texts. */
  #names = new Map<string, Map<string, ClientCounts>>();
  #nameCount = 0;

  get clients(): Iterable<ClientCounts> {
    return this.#clients.values();
  }

  /** Returns the counts of a client. */
  of(user: string, userAgent: string): ClientCounts {
    const known = this.#names.get(user)?.get(userAgent);
    if (known !== undefined) return known;
    const counts = this.#shortened(user, userAgent);
    if (this.#nameCount >= MAX_NAMES || user.length + userAgent.length > 4 * MAX_LENGTH)
      return counts;
    const ofUser = this.#names.get(user) ?? new Map<string, ClientCounts>();
    this.#names.set(user, ofUser.set(userAgent, counts));
    this.#nameCount++;
    return counts;
  }

  #shortened(user: string, userAgent: string): ClientCounts {
    // All kubelets are one client: a cluster may have thousands.
    const name = user.startsWith('system:node:') ? 'system:nodes' : user.slice(0, MAX_LENGTH);
    const agent = (userAgent.split(' ', 1)[0] ?? '').slice(0, MAX_LENGTH);
    return (
      this.#clients.get(`${name}\n${agent}`) ??
      (this.#clients.size < MAX_CLIENTS ? this.#add(name, agent) : this.#add(OTHERS, OTHERS))
    );
  }

  #add(user: string, userAgent: string): ClientCounts {
    const key = `${user}\n${userAgent}`;
    const present = this.#clients.get(key);
    if (present !== undefined) return present;
    const counts: ClientCounts = {
      user,
      userAgent,
      reads: 0,
      writes: 0,
      failures: 0,
      watches: 0,
      openWatches: 0,
      events: 0,
    };
    this.#clients.set(key, counts);
    return counts;
  }
}

/**
 * Returns the same stream, and counts it as open until it ends. `ended`: aborts when the consumer
 * has gone, if it does not stop the stream.
 */
export function countedWatch<E>(
  source: WatchStream<E>,
  counts: ClientCounts,
  ended: AbortSignal | undefined,
): WatchStream<E> {
  counts.watches++;
  counts.openWatches++;
  let isOpen = true;
  const end = (): void => {
    if (isOpen) counts.openWatches--;
    isOpen = false;
  };
  if (ended?.aborted === true) end();
  else ended?.addEventListener('abort', end, { once: true });
  return {
    stop: () => {
      end();
      source.stop();
    },
    ...(source.drain !== undefined && {
      drain: () => {
        const events = (source.drain as () => readonly E[])();
        counts.events += events.length;
        return events;
      },
    }),
    ...(source.read !== undefined && {
      read: (ready: () => void) => {
        const reader = (source.read as (ready: () => void) => WatchReader<E>)(ready);
        return {
          take: () => {
            const events = reader.take();
            counts.events += events.length;
            return events;
          },
          rearm: () => reader.rearm(),
          end: () => {
            const ended = reader.end();
            if (ended !== undefined) end();
            return ended;
          },
        };
      },
    }),
    [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
      const events = source[Symbol.asyncIterator]();
      // A consumer asks for the next event when it has taken the one before. Counting calls adds no
      // promise to each event of each watch.
      let asked = false;
      return {
        next: () => {
          if (asked) counts.events++;
          asked = true;
          return events.next();
        },
        return: async () => {
          end();
          await events.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
