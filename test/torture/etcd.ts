// The store on etcd while its members fail. Clients of several servers work on a few keys; members
// are killed, paused, slowed down and disconnected from each other; servers end between a write and its answer.
// The answers to the clients are checked like any history.

import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { type Random, SeededRandom, systemRandom } from '#machinery/random.ts';
import { openEtcdStorage } from '#storage/etcd/index.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcdCluster,
} from '#storage/etcd/testing/etcd-process.ts';
import { LossyProxy } from '#storage/etcd/testing/lossy-proxy.ts';
import { type Storage, StorageError, type StorageEvent } from '#storage/interface.ts';
import { openWatchCache } from '#storage/watch-cache/index.ts';
import { Network, slowDown } from './etcd-faults.ts';
import { isLinearizable, type KeyInput, type KeyOperation, type KeyOutput } from './checker.ts';

const MEMBERS = 3;
const SERVERS = 2;
const CLIENTS = 8;
const KEYS = 10;
/** How long a failed member stays away. */
const AWAY_MS = 1500;
const CALM_MS = 1000;
/** A client without an answer waits this long before it continues. */
const PAUSE_MS = 50;

export type Disturbance = 'kill' | 'pause' | 'partition' | 'server' | 'deafen' | 'slow';

export interface EtcdTortureOptions {
  readonly seed: string;
  readonly disturbances: readonly Disturbance[];
}

export interface EtcdTortureResult {
  readonly operations: number;
  readonly unknown: number;
  readonly disturbed: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

export function etcdMissing(): string | undefined {
  return hasEtcd() ? undefined : ETCD_HINT;
}

export async function tortureEtcd(options: EtcdTortureOptions): Promise<EtcdTortureResult> {
  const network = options.disturbances.includes('partition') ? new Network(MEMBERS) : undefined;
  const members: EtcdProcess[] = [];
  try {
    // The election timeout is long enough that a busy machine causes no elections.
    members.push(
      ...(await startEtcdCluster(MEMBERS, {
        places: network?.places,
        args: ['--election-timeout=1000'],
      })),
    );
    return await new Run(options, members, network).run();
  } finally {
    await Promise.all(members.map((member) => member.stop()));
    network?.remove();
  }
}

class Refusal extends Error {}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (value: Uint8Array | undefined): string =>
  value === undefined ? '' : new TextDecoder().decode(value);

class Run {
  readonly #options: EtcdTortureOptions;
  readonly #members: readonly EtcdProcess[];
  readonly #network: Network | undefined;
  readonly #random: Random;
  /** One storage per server; a new one replaces an ended one. */
  readonly #servers: Storage[] = [];
  /** One proxy before each member; servers connect only to the proxies. */
  readonly #proxies: readonly LossyProxy[];
  readonly #history: { readonly key: string; readonly operation: KeyOperation }[] = [];
  readonly #written: { readonly key: string; readonly value: string; readonly revision: number }[] =
    [];
  readonly #problems: string[] = [];
  #moment = 0;
  #serial = 0;
  #done = false;

  constructor(
    options: EtcdTortureOptions,
    members: readonly EtcdProcess[],
    network: Network | undefined,
  ) {
    this.#options = options;
    this.#members = members;
    this.#network = network;
    this.#proxies = members.map(({ endpoint }) => new LossyProxy(endpoint));
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<EtcdTortureResult> {
    await Promise.all(this.#proxies.map((proxy) => proxy.listen()));
    for (let i = 0; i < SERVERS; i++) this.#servers.push(await this.#open(i));
    const observer = await this.#open(0);
    const begin = await observer.currentRevision();
    const stream = observer.watch('/t/', { afterRevision: begin });
    const received: StorageEvent[] = [];
    const watching = (async () => {
      for await (const event of stream) received.push(event);
    })();
    const clients = Array.from({ length: CLIENTS }, (_, client) => this.#client(client));
    const disturbed: Record<string, number> = {};
    for (const disturbance of this.#options.disturbances) {
      await systemClock.sleep(CALM_MS);
      await this.#disturb(disturbance);
      disturbed[disturbance] = (disturbed[disturbance] ?? 0) + 1;
    }
    await systemClock.sleep(CALM_MS);
    this.#done = true;
    await Promise.all(clients);
    // When the event of this write has arrived, all earlier events have, too.
    const { modRevision: last } = await this.#patiently(() =>
      observer.create('/t/last', encode('last')),
    );
    while ((received.at(-1)?.revision ?? 0) < last) await systemClock.sleep(20);
    stream.stop();
    await watching;
    this.#judge(received);
    await Promise.all([...this.#servers, observer].map((storage) => storage.close()));
    for (const proxy of this.#proxies) proxy.close();
    const unknown = this.#history.filter(
      ({ operation }) => operation.output.type === 'unknown',
    ).length;
    return {
      operations: this.#history.length,
      unknown,
      disturbed,
      problems: this.#problems.slice(0, 10),
    };
  }

  /**
   * Opens a server's storage. Each server begins with another member; one has a cache, one has
   * none.
   */
  async #open(index: number): Promise<Storage> {
    const endpoints = this.#proxies.map(({ endpoint }) => endpoint);
    endpoints.unshift(...endpoints.splice(index % endpoints.length));
    const storage = await openEtcdStorage({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      endpoints,
      logicalPrefix: '',
      compactionIntervalMs: 0,
      attemptTimeoutMs: 800,
      timeoutMs: 20_000,
    });
    return index === 0
      ? openWatchCache({ storage, clock: systemClock, logger: silentLogger })
      : storage;
  }

  async #disturb(disturbance: Disturbance): Promise<void> {
    const index = this.#random.int(MEMBERS);
    const member = this.#members[index]!;
    switch (disturbance) {
      case 'kill':
        member.signal('SIGKILL');
        await systemClock.sleep(AWAY_MS);
        await member.restart();
        break;
      case 'pause':
        member.signal('SIGSTOP');
        await systemClock.sleep(AWAY_MS);
        member.signal('SIGCONT');
        break;
      case 'slow':
        await slowDown(member.pid, 2 * AWAY_MS);
        break;
      case 'partition':
        this.#network?.cut(index);
        await systemClock.sleep(2 * AWAY_MS);
        this.#network?.mend(index);
        break;
      case 'deafen': {
        // The member carries the requests out, but their answers are lost: at all members, since
        // the test does not know which one gets the next request.
        for (const proxy of this.#proxies) proxy.losesAnswers = true;
        await systemClock.sleep(200);
        for (const proxy of this.#proxies) {
          proxy.losesAnswers = false;
          // After lost bytes, the rest of a connection cannot be decoded.
          proxy.disconnect();
        }
        break;
      }
      case 'server': {
        const server = this.#random.int(SERVERS);
        const old = this.#servers[server]!;
        // The server's writes are under way; their outcome is unknown.
        await old.close();
        this.#servers[server] = await this.#open(server);
        break;
      }
    }
  }

  async #client(client: number): Promise<void> {
    const seen = new Map<string, string>();
    while (!this.#done) {
      const key = `/t/${this.#random.int(KEYS)}`;
      const input = this.#choose(seen.get(key) ?? '');
      const called = this.#moment++;
      const output = await this.#perform(this.#servers[client % SERVERS]!, key, input);
      if (output.type === 'unknown') await systemClock.sleep(PAUSE_MS);
      // A read without an answer adds no constraint.
      if (output.type === 'unknown' && input.type === 'get') continue;
      this.#history.push({
        key,
        operation: { client, input, output, called, returned: this.#moment++ },
      });
      if (input.type === 'get' && output.type === 'done') seen.set(key, output.read ?? '');
      // The pause limits the number of operations for the checker.
      await systemClock.sleep(this.#random.int(20));
    }
  }

  #choose(seen: string): KeyInput {
    const value = `v${this.#serial++}`;
    const die = this.#random.int(20);
    if (die < 6) return { type: 'get' };
    if (die < 10) return { type: 'put', value };
    if (die < 15 && seen !== '') return { type: 'swap', expected: seen, value };
    if (die < 18) return { type: 'create', value };
    return { type: 'delete' };
  }

  async #perform(storage: Storage, key: string, input: KeyInput): Promise<KeyOutput> {
    const wrote = (value: string, revision: number): void =>
      void this.#written.push({ key, value, revision });
    try {
      switch (input.type) {
        case 'get':
          return { type: 'done', read: decode((await storage.get(key))?.value) };
        case 'create':
          wrote(input.value, (await storage.create(key, encode(input.value))).modRevision);
          return { type: 'done', read: '' };
        case 'delete': {
          const { previous, revision } = await storage.delete(key);
          wrote('', revision);
          return { type: 'done', read: decode(previous.value) };
        }
        case 'put':
        case 'swap': {
          const { previous, revision } = await storage.guaranteedUpdate(key, (current) => {
            if (input.type === 'swap' && decode(current?.value) !== input.expected)
              throw new Refusal();
            return { action: 'put', value: encode(input.value) };
          });
          wrote(input.value, revision);
          return { type: 'done', read: decode(previous?.value) };
        }
      }
    } catch (error) {
      if (error instanceof Refusal) return { type: 'refused' };
      if (error instanceof StorageError) {
        if (error.reason === 'KeyExists' || error.reason === 'KeyNotFound')
          return { type: 'refused' };
        if (error.reason === 'Unavailable' || error.reason === 'Closed') return { type: 'unknown' };
      }
      throw error;
    }
  }

  #judge(received: readonly StorageEvent[]): void {
    const values = new Set(
      received.map((event) => (event.type === 'put' ? decode(event.kv.value) : '')),
    );
    // The watch, which is checked below, shows whether the value of an unanswered write was
    // written.
    const was = ({ input, output }: KeyOperation): boolean =>
      output.type !== 'unknown' || !('value' in input) || values.has(input.value);
    for (let i = 0; i < KEYS; i++) {
      const operations = this.#history
        .filter(({ key }) => key === `/t/${i}`)
        .map(({ operation }) => operation);
      if (!isLinearizable(operations.filter(was)))
        this.#problems.push(`/t/${i}: ${operations.length} operations that no order explains`);
    }
    const events = new Map<number, string>();
    const latest = new Map<string, string>();
    let before = 0;
    for (const event of received) {
      if (event.type === 'progress') continue;
      const key = event.type === 'put' ? event.kv.key : event.key;
      const value = event.type === 'put' ? decode(event.kv.value) : '';
      if (event.revision <= before)
        this.#problems.push(`the watch sent ${event.revision} after ${before}`);
      if (decode(event.previous?.value) !== (latest.get(key) ?? ''))
        this.#problems.push(`the watch has a gap before ${event.revision}`);
      before = event.revision;
      latest.set(key, value);
      events.set(event.revision, `${key}=${value}`);
    }
    for (const { key, value, revision } of this.#written) {
      const event = events.get(revision);
      if (event !== `${key}=${value}`)
        this.#problems.push(
          `${key}=${value} was acknowledged as ${revision}, where there is ${event}`,
        );
    }
  }

  async #patiently<T>(operation: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await operation();
      } catch (error) {
        if (!(error instanceof StorageError) || error.reason !== 'Unavailable') throw error;
      }
    }
  }
}
