// Container events from any runtime: from containerd's event service (all versions), from CRI's
// GetContainerEvents (CRI-O), or by polling once a second. Clients never have to poll themselves.

import {
  type ContainerEvent,
  type ContainerEventType,
  isCriError,
  type RuntimeService,
  toNanoseconds,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { Broadcast } from '../broadcast.ts';
import type { CriConnection } from './connection.ts';
import { nativeEvents } from './event-service.ts';

export interface EventSourceConfig {
  readonly connection: Pick<CriConnection, 'stream' | 'streamOf'>;
  readonly runtime: Pick<RuntimeService, 'listContainers' | 'listPodSandbox' | 'podSandboxStatus'>;
  readonly clock: Clock;
}

/** How long CRI may lag behind containerd's event, in milliseconds. */
const LAG_TIMEOUT_MS = 10_000;
const POLL_MS = 1000;
/** The period of listing everything in addition to events, in milliseconds. */
const CHECK_UP_MS = 30_000;

/** The stage of a container or sandbox, as far as events show. */
type Stage = 'created' | 'started' | 'stopped' | 'deleted';

const stageOf: Readonly<Record<ContainerEventType, Stage>> = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
};
const typeOf: Readonly<Record<Stage, ContainerEventType>> = {
  created: 'CONTAINER_CREATED_EVENT',
  started: 'CONTAINER_STARTED_EVENT',
  stopped: 'CONTAINER_STOPPED_EVENT',
  deleted: 'CONTAINER_DELETED_EVENT',
};
const order: readonly Stage[] = ['created', 'started', 'stopped', 'deleted'];

interface Seen {
  readonly podSandboxId: string;
  readonly stage: Stage;
}

/** Reads one container or sandbox from CRI, or all of them without an ID. */
async function look(
  runtime: EventSourceConfig['runtime'],
  id?: string,
): Promise<Map<string, Seen>> {
  const filter = id === undefined ? undefined : { id };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox(filter),
    runtime.listContainers(filter),
  ]);
  const seen = new Map<string, Seen>();
  for (const { id: podSandboxId, state } of sandboxes) {
    seen.set(podSandboxId, {
      podSandboxId,
      stage: state === 'SANDBOX_READY' ? 'started' : 'stopped',
    });
  }
  for (const container of containers) {
    const stage =
      container.state === 'CONTAINER_CREATED'
        ? 'created'
        : container.state === 'CONTAINER_RUNNING'
          ? 'started'
          : 'stopped';
    seen.set(container.id, { podSandboxId: container.podSandboxId, stage });
  }
  return seen;
}

async function toEvent(
  config: EventSourceConfig,
  containerId: string,
  podSandboxId: string,
  stage: Stage,
): Promise<ContainerEvent> {
  let podSandboxStatus;
  try {
    ({ status: podSandboxStatus } = await config.runtime.podSandboxStatus(podSandboxId));
  } catch (error) {
    // The sandbox is gone with its containers.
    if (!isCriError(error, 'NotFound')) throw error;
  }
  const createdAt = toNanoseconds(config.clock.now());
  return {
    containerId,
    containerEventType: typeOf[stage],
    createdAt,
    podSandboxStatus,
    containersStatuses: [],
  };
}

/** Yields the changes between two lists, one for each stage in between. */
function* differences(
  before: ReadonlyMap<string, Seen>,
  now: ReadonlyMap<string, Seen>,
): Generator<[string, Seen], void> {
  for (const [id, { podSandboxId, stage }] of now) {
    const last = before.get(id)?.stage;
    const from = last === undefined ? 0 : order.indexOf(last) + 1;
    for (const passed of order.slice(from, order.indexOf(stage) + 1))
      yield [id, { podSandboxId, stage: passed }];
  }
  for (const [id, { podSandboxId }] of before)
    if (!now.has(id)) yield [id, { podSandboxId, stage: 'deleted' }];
}

/** Yields the delays between lists of everything. */
function* checkUps(): Generator<number, never> {
  yield 0;
  yield POLL_MS;
  for (;;) yield CHECK_UP_MS;
}

/**
 * Publishes containerd's events, each delayed until CRI shows the change: a client that calls CRI
 * after an event sees its effect. A periodic list finds missed events, for example from before the
 * subscription.
 */
class NativeSource {
  readonly #config: EventSourceConfig;
  readonly #events = new Broadcast<ContainerEvent>();
  readonly #over = new AbortController();
  /** By container: the chain that publishes its events in order, independently of others. */
  readonly #queues = new Map<string, Promise<void>>();
  /** By container: the last published stage. */
  readonly #published = new Map<string, Seen>();
  #failure: unknown;

  constructor(config: EventSourceConfig) {
    this.#config = config;
  }

  async *read(signal: AbortSignal): AsyncGenerator<ContainerEvent, void> {
    const until = AbortSignal.any([signal, this.#over.signal]);
    const output = this.#events.subscribe(this.#over.signal);
    const working = Promise.all([this.#follow(until), this.#checkUp(until)]);
    try {
      yield* output;
      if (this.#failure !== undefined && !signal.aborted) throw this.#failure;
    } finally {
      this.#over.abort();
      await working;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      for await (const { containerId, type } of nativeEvents(this.#config.connection, signal)) {
        this.#enqueue(containerId, () => this.#arrive(containerId, stageOf[type]));
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#events.close();
  }

  async #checkUp(signal: AbortSignal): Promise<void> {
    const { clock, runtime } = this.#config;
    try {
      // Initially, existing containers are published, too: they may have been created just before
      // the subscription.
      for (const delay of checkUps()) {
        await clock.sleep(delay, signal);
        const before = new Map(this.#published);
        for (const [id, seen] of differences(before, await look(runtime)))
          this.#enqueue(id, () => this.#tell(id, seen));
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  #fail(err: unknown): void {
    this.#failure ??= err;
    this.#events.close();
  }

  #enqueue(containerId: string, work: () => Promise<void>): void {
    const next = (this.#queues.get(containerId) ?? Promise.resolve())
      .then(work)
      .catch((error: unknown) => {
        if (!this.#over.signal.aborted) this.#fail(error);
      });
    this.#queues.set(containerId, next);
    void next.then(
      () => this.#queues.get(containerId) === next && this.#queues.delete(containerId),
    );
  }

  /** Waits until CRI shows that the container has reached this stage, and publishes the event. */
  async #arrive(containerId: string, stage: Stage): Promise<void> {
    const { clock, runtime } = this.#config;
    let podSandboxId = this.#published.get(containerId)?.podSandboxId;
    const arrived = async (): Promise<boolean> => {
      const seen = (await look(runtime, containerId)).get(containerId);
      podSandboxId = seen?.podSandboxId ?? podSandboxId;
      if (stage === 'deleted') return seen === undefined;
      // The container is deleted already: there is nothing to wait for.
      return seen === undefined
        ? stage !== 'created'
        : order.indexOf(seen.stage) >= order.indexOf(stage);
    };
    try {
      await wait.pollImmediately(
        { clock, intervalMs: 10, timeoutMs: LAG_TIMEOUT_MS, signal: this.#over.signal },
        arrived,
      );
    } catch (error) {
      if (!(error instanceof wait.WaitTimeoutError)) throw error;
    }
    await this.#tell(containerId, { podSandboxId: podSandboxId ?? containerId, stage });
  }

  async #tell(containerId: string, seen: Seen): Promise<void> {
    const { podSandboxId, stage } = seen;
    const last = this.#published.get(containerId)?.stage;
    // IDs are never reused: an unknown container that is deleted was published as deleted before,
    // or was never visible.
    if (last === undefined ? stage === 'deleted' : order.indexOf(last) >= order.indexOf(stage))
      return;
    if (stage === 'deleted') this.#published.delete(containerId);
    else this.#published.set(containerId, seen);
    this.#events.publish(await toEvent(this.#config, containerId, podSandboxId, stage));
  }
}

/** Lists once a second, and yields the changes. */
async function* fromPolling(
  config: EventSourceConfig,
  signal: AbortSignal,
): AsyncGenerator<ContainerEvent, void> {
  let before = await look(config.runtime);
  while (!signal.aborted) {
    try {
      await config.clock.sleep(POLL_MS, signal);
    } catch {
      return;
    }
    const now = await look(config.runtime);
    for (const [id, { podSandboxId, stage }] of differences(before, now))
      yield await toEvent(config, id, podSandboxId, stage);
    before = now;
  }
}

/**
 * Yields events from now on until the signal aborts. Throws a CriError when the runtime becomes
 * unavailable.
 */
export async function* containerEvents(
  config: EventSourceConfig,
  signal: AbortSignal,
): AsyncGenerator<ContainerEvent, void> {
  const sources = [
    () => new NativeSource(config).read(signal),
    () => config.connection.stream('RuntimeService', 'GetContainerEvents', {}, signal),
    () => fromPolling(config, signal),
  ];
  for (const source of sources) {
    try {
      yield* source();
      return;
    } catch (error) {
      if (!isCriError(error, 'Unimplemented')) throw error;
    }
  }
}
