// Proves of a controller that what it leaves behind does not depend on its luck: a scenario is run
// undisturbed, and then again and again with one thing going wrong, and every time the cluster has
// to end up the same.
//
//   - stopped after each of its writes in turn, before it sees the answer, and another one started
//     in its place - with a cache that shows nothing until everything else has come to rest, and
//     then all at once - with each of its watch events in turn lost with its connection - with
//     every write answered by a conflict when it is first tried

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { createClient } from '#client/create-client.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Transport, TransportRequest, WatchEvent } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { startTestCluster } from './test-cluster.ts';
import type { TestCluster, TestClusterConfig } from './test-cluster.ts';

type Make = (config: ControllerConfig) => Controller;

export interface Scenario {
  /** The controller that is put to the test. */
  readonly subject: Make;
  /** Others that it takes, to which nothing happens. */
  readonly others?: readonly Make[];
  /** The steps of the scenario. The cluster settles between steps. */
  readonly steps: readonly ((cluster: TestCluster) => Promise<void>)[];
  /** Kinds whose objects are the outcome. */
  readonly outcome: readonly ResourceType[];
  /**
   * Of the subject's writes those that matter. Default: all. The others are not counted, and
   * nothing is done to them: deletions of all objects of kinds of which there are none.
   */
  readonly counts?: (request: TransportRequest) => boolean;
  /** The cluster in which it happens. */
  readonly cluster?: TestClusterConfig;
  /** How long a step is given. Default: '10m', so that every retry has happened. */
  readonly rest?: string;
}

export interface Robustness {
  /** Writes of the subject in the undisturbed run. */
  readonly writes: number;
  /** Watch events that it received. */
  readonly events: number;
  /** The final state of the cluster without faults. */
  readonly outcome: readonly unknown[];
  /** By what went wrong: the outcome. */
  readonly disturbed: ReadonlyMap<string, readonly unknown[]>;
}

/** Run it in a test of its own, and expect every disturbed outcome to equal the undisturbed one. */
export async function disturb(scenario: Scenario): Promise<Robustness> {
  const calm = await runWith(scenario, new Disturbance());
  const disturbed = new Map<string, readonly unknown[]>();
  const run = async (what: string, disturbance: Disturbance): Promise<void> => {
    disturbed.set(what, (await runWith(scenario, disturbance)).outcome);
  };
  for (let n = 1; n <= calm.writes; n++)
    await run(`stopped after write ${n}`, new Disturbance({ stopAfterWrite: n }));
  for (let n = 1; n <= calm.events; n++)
    await run(`event ${n} lost`, new Disturbance({ loseEvent: n }));
  await run('stale cache', new Disturbance({ stale: true }));
  await run('conflicts', new Disturbance({ conflicts: true }));
  return { ...calm, disturbed };
}

interface Ill {
  readonly stopAfterWrite?: number;
  readonly loseEvent?: number;
  readonly stale?: boolean;
  readonly conflicts?: boolean;
}

class Disturbance {
  readonly #ill: Ill;
  readonly #tried = new Set<string>();
  readonly #held: (() => void)[] = [];
  writes = 0;
  events = 0;
  /** Set by whoever runs the subject. */
  onStop: () => void = () => undefined;
  /** Set by whoever runs the subject: see Scenario. */
  counts: (request: TransportRequest) => boolean = () => true;
  /** Events wait until `release`. */
  holding = false;

  constructor(ill: Ill = {}) {
    this.#ill = ill;
  }

  get stale(): boolean {
    return this.#ill.stale === true;
  }

  release(): void {
    this.holding = false;
    for (const deliver of this.#held.splice(0)) deliver();
  }

  async request<T>(inner: Transport, request: TransportRequest): Promise<T> {
    // No state depends on Event objects.
    if (request.method === 'GET' || request.path.includes('/events') || !this.counts(request))
      return inner.request(request);
    this.writes++;
    const what = `${request.method} ${request.path}`;
    if (this.#ill.conflicts === true && request.method !== 'POST' && !this.#tried.has(what)) {
      this.#tried.add(what);
      throw apierrors.conflict(
        { group: '', resource: 'things' },
        request.path,
        new Error('another writer was first'),
      );
    }
    const stops = this.writes === this.#ill.stopAfterWrite;
    const answer = await inner.request<T>(request).catch((error: unknown) => {
      if (stops) this.onStop();
      throw error;
    });
    if (!stops) return answer;
    this.onStop();
    throw new Error('the controller was stopped before it saw the answer');
  }

  async watch<T>(inner: Transport, request: TransportRequest): Promise<WatchStream<WatchEvent<T>>> {
    const source = await inner.watch<T>(request);
    const queue = new WatchQueue<WatchEvent<T>>({ onStop: () => source.stop() });
    request.signal?.addEventListener('abort', () => queue.stop());
    const deliver = (action: () => void): void => {
      if (this.holding) this.#held.push(action);
      else action();
    };
    void (async () => {
      try {
        for await (const event of source) {
          if (event.type !== 'BOOKMARK') this.events++;
          if (event.type !== 'BOOKMARK' && this.events === this.#ill.loseEvent) {
            queue.fail(apierrors.resourceExpired('the events until now are lost'));
            source.stop();
            return;
          }
          deliver(() => queue.push(event));
        }
        deliver(() => queue.close());
      } catch (error) {
        deliver(() => queue.fail(error));
      }
    })();
    return queue;
  }
}

async function runWith(
  scenario: Scenario,
  disturbance: Disturbance,
): Promise<{ writes: number; events: number; outcome: readonly unknown[] }> {
  const cluster = await startTestCluster(scenario.cluster);
  disturbance.counts = scenario.counts ?? disturbance.counts;
  try {
    const subject = runSubject(cluster, scenario.subject, disturbance);
    for (const make of scenario.others ?? []) await cluster.run(make);
    for (const step of scenario.steps) {
      if (disturbance.stale) disturbance.holding = true;
      await step(cluster);
      await cluster.clock.advance('5s');
      disturbance.release();
      await cluster.clock.advance(scenario.rest ?? '10m');
    }
    await subject.stop();
    const { writes, events } = disturbance;
    return { writes, events, outcome: await outcomeOf(cluster.client, scenario.outcome) };
  } finally {
    await cluster.stop();
  }
}

/** The subject, and another one whenever it is stopped. */
function runSubject(
  cluster: TestCluster,
  make: Make,
  disturbance: Disturbance,
): { stop(): Promise<void> } {
  const { clock, logger, random, controllers } = cluster;
  let ended = false;
  let current: Promise<void> = Promise.resolve();
  let stopCurrent: () => void = () => undefined;
  const start = (): void => {
    const stop = new AbortController();
    stopCurrent = () => stop.abort();
    const disturbed = (inner: Transport): Client =>
      createClient({
        request: (request) => disturbance.request(inner, request),
        watch: (request) => disturbance.watch(inner, request),
        text: (request) => inner.text(request),
        stream: (request) => inner.stream(request),
        close: () => undefined,
      });
    const own = { name: '' };
    const client = disturbed(controllers.controller(() => own.name));
    const reading = disturbed(controllers.manager());
    const informers = new SharedInformerFactory({
      client: reading,
      clock,
      random,
      logger,
      detectMutations: true,
    });
    const controller = make({ client, informers, clock, random, logger });
    own.name = controller.name;
    informers.start(stop.signal);
    disturbance.onStop = () => {
      stop.abort();
      current = Promise.all([current, run, informers.stopped()]).then(() =>
        ended ? undefined : start(),
      );
    };
    const run = controller.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    current = run;
  };
  start();
  return {
    async stop() {
      ended = true;
      stopCurrent();
      await current;
    },
  };
}

async function outcomeOf(
  client: Client,
  types: readonly ResourceType[],
): Promise<readonly unknown[]> {
  const outcome: string[] = [];
  for (const type of types) {
    const { items } = await client.resource(type as ResourceType<KubeObject>).list();
    outcome.push(
      ...items.map((item) => JSON.stringify({ kind: type.kind, ...(plain(item, '') as object) })),
    );
  }
  return outcome.sort().map((text) => JSON.parse(text) as unknown);
}

/** Fields that differ between runs: identities and times. */
const PASSING = new Set(['uid', 'resourceVersion', 'managedFields', 'generateName', 'apiVersion']);
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text);
const isUid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** Without what is passing. Generated names keep only what they begin with. */
function plain(value: unknown, key: string): unknown {
  if (typeof value === 'string') return isTime(value) ? 'TIME' : isUid(value) ? 'UID' : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item, key));
    return key === 'conditions'
      ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : items;
  }
  const { generateName } = value as { generateName?: string };
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !PASSING.has(name))
      .map(([name, item]) => [
        name,
        name === 'name' && generateName !== undefined ? `${generateName}*` : plain(item, name),
      ])
      .sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)),
  );
}
