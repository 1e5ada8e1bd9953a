// Counts the writes while time passes: a watch on everything, checked against the growth of the
// revision, so that no write is missed.

import { namespaces } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { groupVersionPath } from '#client/request.ts';
import type { WatchEvent } from '#client/transport.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { formatRows } from './table.ts';

interface Discovered {
  readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
}

export class WriteCounter {
  readonly #client: Client;
  readonly #counts = new Map<string, number>();
  readonly #watches: WatchStream<WatchEvent<unknown>>[] = [];
  readonly #reading: Promise<void>[] = [];
  #since = 0;

  static async start(client: Client): Promise<WriteCounter> {
    const counter = new WriteCounter(client);
    await counter.#start();
    return counter;
  }

  private constructor(client: Client) {
    this.#client = client;
  }

  async #start(): Promise<void> {
    const { transport } = this.#client;
    this.#since = await this.#revision();
    const { groups } = await transport.request<{
      groups: { preferredVersion: { groupVersion: string } }[];
    }>({
      method: 'GET',
      path: '/apis',
    });
    for (const groupVersion of [
      'v1',
      ...groups.map((group) => group.preferredVersion.groupVersion),
    ]) {
      const [group, version] = groupVersion.includes('/')
        ? (groupVersion.split('/') as [string, string])
        : ['', groupVersion];
      const path = groupVersionPath(group, version);
      const { resources } = await transport.request<Discovered>({ method: 'GET', path });
      for (const { name, verbs } of resources) {
        if (!verbs.includes('watch')) continue;
        const query = { resourceVersion: this.#since, timeoutSeconds: 10_000_000 };
        const watch = await transport.watch<unknown>({
          method: 'GET',
          path: `${path}/${name}`,
          query,
        });
        this.#watches.push(watch);
        this.#reading.push(this.#read(name, watch));
      }
    }
  }

  async #read(resource: string, watch: WatchStream<WatchEvent<unknown>>): Promise<void> {
    for await (const { type } of watch) {
      const key = `${resource} ${type}`;
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  /** Stops. Returns a line for each resource and type of event. */
  async stop(): Promise<string> {
    const total = (await this.#revision()) - this.#since;
    for (const watch of this.#watches) watch.stop();
    await Promise.all(this.#reading);
    const rows = [...this.#counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, count]) => [...key.split(' '), count]);
    const seen = rows.reduce((sum, row) => sum + Number(row[2]), 0);
    return formatRows([
      ['RESOURCE', 'EVENT', 'COUNT'],
      ...rows,
      ...(seen === total ? [] : [['unseen', '', total - seen]]),
    ]);
  }

  async #revision(): Promise<number> {
    return Number(
      (await this.#client.resource(namespaces).list({ limit: 1 })).metadata.resourceVersion,
    );
  }
}
