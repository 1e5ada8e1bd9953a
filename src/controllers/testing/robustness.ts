// Proves that the outcome of a controller does not depend on faults: a scenario runs without
// faults, and then once for each possible fault. Every run must end in the same state.
//
// The faults:
// - The controller is stopped after each of its writes in turn, before it sees the response, and a
//   new one is started.
// - Its cache shows nothing until the other components are idle, and then everything at once.
// - Each of its watch events in turn is lost with its connection.
// - Each write fails with a conflict at its first attempt.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { createClient } from '#client/create-client.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Transport, TransportRequest, WatchEvent } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { startTestCluster, type TestCluster, type TestClusterConfig } from './test-cluster.ts';

type Make = (config: ControllerConfig) => Controller;

export interface Scenario {
  /** The controller under test. */
  readonly subject: Make;
  /** Other controllers that the scenario needs, without faults. */
  readonly others?: readonly Make[];
  /** The steps of the scenario. The cluster settles between steps. */
  readonly steps: readonly ((cluster: TestCluster) => Promise<void>)[];
  /** Kinds whose objects are the outcome. */
  readonly outcome: readonly ResourceType[];
  /**
   * Selects the subject's writes that count. Default: all. Other writes get no faults, for example
   * deletions of all objects of a kind that has none.
   */
  readonly counts?: (request: TransportRequest) => boolean;
  /** The configuration of the cluster. */
  readonly cluster?: TestClusterConfig;
  /** The time after each step. Default: '10m', so that every retry has happened. */
  readonly rest?: string;
}

export interface Robustness {
  /** The number of the subject's writes in the run without faults. */
  readonly writes: number;
  /** The number of watch events that it received. */
  readonly events: number;
  /** The final state of the cluster without faults. */
  readonly outcome: readonly unknown[];
  /** By fault: the final state. */
  readonly disturbed: ReadonlyMap<string, readonly unknown[]>;
}

/**
 * Runs the scenario. Use it in a test of its own, and expect every disturbed outcome to equal the
 * undisturbed one.
 */
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
  /** Set by `runSubject`. */
  onStop: () => void = () => undefined;
  /** Set by the runner of the subject: see Scenario. */
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

/** Runs the subject, and starts a new one whenever it is stopped. */
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

/** Fields that differ between runs: identities and versions. */
const PASSING = new Set(['uid', 'resourceVersion', 'managedFields', 'generateName', 'apiVersion']);
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text);
const isUid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/**
 * Returns the value without fields that differ between runs. Generated names keep their prefix
 * only.
 */
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
