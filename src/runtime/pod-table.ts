// The sandboxes and containers of one of our runtimes, by ID and by identity, with the CRI
// responses and events that are derived from their records. The behaviour of containers belongs to
// the runtime.

import {
  complete,
  type Container,
  type ContainerEvent,
  type ContainerEventType,
  type ContainerFilter,
  type ContainerStatusResponse,
  CriError,
  type Input,
  type PodSandbox,
  type PodSandboxFilter,
  type PodSandboxStatusResponse,
  toNanoseconds,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { Broadcast } from './broadcast.ts';
import { LabelIndex } from './label-index.ts';
import {
  containerKey,
  type ContainerRecord,
  matchesContainer,
  matchesSandbox,
  sandboxKey,
  type SandboxRecord,
  toContainer,
  toContainerStatus,
  toPodSandbox,
  toPodSandboxStatus,
} from './records.ts';

export interface Recorded {
  readonly record: ContainerRecord;
}

export interface Sandbox<C extends Recorded> {
  readonly record: SandboxRecord;
  readonly containers: readonly C[];
}

interface OpenSandbox<C extends Recorded> extends Sandbox<C> {
  /** Replaced by each change: an array that has grown has room for 16 more. */
  containers: readonly C[];
}

interface Content<C extends Recorded> {
  /** Sandboxes by ID. */
  readonly sandboxes: Map<string, OpenSandbox<C>>;
  /** Containers by ID; their sandboxes refer to the same objects. */
  readonly containers: Map<string, C>;
  readonly sandboxesByLabel: LabelIndex<OpenSandbox<C>>;
  readonly containersByLabel: LabelIndex<C>;
}

/** Content of a table from its beginning, which is added when it is first needed. */
export interface LaterContent {
  /** Adds it. It must not add what the table has already. */
  readonly fill: () => void;
  /** Reports whether nothing in it can have all of these labels. False: perhaps something has. */
  readonly lacks: (labels: Labels) => boolean;
  /** Reports whether a sandbox or container in it has this ID. */
  readonly has: (id: string) => boolean;
}

type Labels = Readonly<Record<string, string>>;

export class PodTable<C extends Recorded> {
  readonly #clock: Clock;
  #made: Content<C> | undefined;
  #later: LaterContent | undefined;
  readonly #events = new Broadcast<ContainerEvent>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Content that is added when it is first needed: most of thousands of nodes may never need it. */
  addLater(later: LaterContent): void {
    this.#later = later;
  }

  /** False: nothing has needed the later content yet. */
  get isFilled(): boolean {
    return this.#later === undefined;
  }

  /** Adds the later content, if that was not done. */
  fill(): void {
    const later = this.#later;
    this.#later = undefined;
    later?.fill();
  }

  /** The content without the later one. Made when it is first needed: many nodes have no pods. */
  get #content(): Content<C> {
    return (this.#made ??= {
      sandboxes: new Map(),
      containers: new Map(),
      sandboxesByLabel: new LabelIndex(({ record }) => record.config.labels),
      containersByLabel: new LabelIndex(({ record }) => record.config.labels),
    });
  }

  get #all(): Content<C> {
    this.fill();
    return this.#content;
  }

  /** Returns the content for a search by labels. Undefined: by none. */
  #having(labels: Labels | undefined): Content<C> {
    return labels !== undefined && this.#later?.lacks(labels) === true ? this.#content : this.#all;
  }

  /** Returns the containers that the table has without its later content. */
  presentContainers(): Iterable<C> {
    return this.#made?.containers.values() ?? [];
  }

  /** Returns the sandboxes that the table has without its later content. */
  presentSandboxes(): Iterable<Sandbox<C>> {
    return this.#made?.sandboxes.values() ?? [];
  }

  /** Returns the current time as a CRI timestamp. */
  now(): number {
    return toNanoseconds(this.#clock.now());
  }

  /** Adds a sandbox. Throws AlreadyExists if its identity is taken. */
  addSandbox(record: SandboxRecord): Sandbox<C> {
    const key = sandboxKey(record.config);
    const uid = record.config.metadata?.uid;
    // A node has few sandboxes, so their identities are not kept as texts of their own.
    const { sandboxes, sandboxesByLabel } = this.#having(record.config.labels);
    for (const { record: other } of sandboxes.values())
      if (other.config.metadata?.uid === uid && sandboxKey(other.config) === key)
        throw new CriError('AlreadyExists', `sandbox ${key} exists already`);
    const sandbox = { record, containers: [] };
    sandboxes.set(record.id, sandbox);
    sandboxesByLabel.add(sandbox);
    return sandbox;
  }

  /**
   * Adds a container. Throws NotFound if its sandbox does not exist, AlreadyExists if its identity
   * is taken.
   */
  addContainer(container: C): void {
    const { id, podSandboxId, config } = container.record;
    const sandbox = this.#open(podSandboxId);
    const key = containerKey(podSandboxId, config);
    if (sandbox.containers.some(({ record }) => containerKey(podSandboxId, record.config) === key))
      throw new CriError('AlreadyExists', `container ${key} exists already`);
    sandbox.containers = [...sandbox.containers, container];
    this.#content.containers.set(id, container);
    this.#content.containersByLabel.add(container);
  }

  /** Returns the sandbox; undefined if it does not exist. */
  findSandbox(id: string): Sandbox<C> | undefined {
    return this.#findSandbox(id);
  }

  findContainer(id: string): C | undefined {
    this.#fillFor(id);
    return this.#content.containers.get(id);
  }

  #findSandbox(id: string): OpenSandbox<C> | undefined {
    this.#fillFor(id);
    return this.#content.sandboxes.get(id);
  }

  #fillFor(id: string): void {
    const { sandboxes, containers } = this.#content;
    if (this.#later === undefined || sandboxes.has(id) || containers.has(id)) return;
    if (this.#later.has(id)) this.fill();
  }

  /** Returns the sandbox. Throws NotFound. */
  sandbox(id: string): Sandbox<C> {
    return this.#open(id);
  }

  /** Returns the sandbox if it runs. Throws NotFound or FailedPrecondition. */
  readySandbox(id: string): Sandbox<C> {
    const sandbox = this.#open(id);
    if (sandbox.record.state !== 'SANDBOX_READY')
      throw new CriError('FailedPrecondition', `sandbox ${id} is not ready`);
    return sandbox;
  }

  /** Returns the container. Throws NotFound. */
  container(id: string): C {
    const container = this.findContainer(id);
    if (container === undefined)
      throw new CriError('NotFound', `container ${JSON.stringify(id)} not found`);
    return container;
  }

  /** Returns the container if it runs. Throws NotFound or FailedPrecondition. */
  runningContainer(id: string): C {
    const container = this.container(id);
    if (container.record.state !== 'CONTAINER_RUNNING')
      throw new CriError('FailedPrecondition', `container ${id} is not running`);
    return container;
  }

  sandboxes(filter?: PodSandboxFilter): Sandbox<C>[] {
    const found: Sandbox<C>[] = [];
    const { sandboxesByLabel } = this.#having(filter?.labelSelector);
    for (const sandbox of sandboxesByLabel.candidates(filter?.labelSelector))
      if (matchesSandbox(sandbox.record, filter)) found.push(sandbox);
    return found;
  }

  containers(filter?: ContainerFilter): C[] {
    const found: C[] = [];
    const { containersByLabel } = this.#having(filter?.labelSelector);
    for (const container of containersByLabel.candidates(filter?.labelSelector))
      if (matchesContainer(container.record, filter)) found.push(container);
    return found;
  }

  /** Removes the container. Returns false if it did not exist. */
  removeContainer(id: string): boolean {
    const container = this.findContainer(id);
    if (container === undefined) return false;
    this.#content.containers.delete(id);
    this.#content.containersByLabel.delete(container);
    const sandbox = this.#content.sandboxes.get(container.record.podSandboxId);
    if (sandbox !== undefined)
      sandbox.containers = sandbox.containers.filter((each) => each !== container);
    return true;
  }

  /**
   * Removes the sandbox; its containers must be removed before. Returns false if it did not exist.
   */
  removeSandbox(id: string): boolean {
    const sandbox = this.#findSandbox(id);
    if (sandbox === undefined) return false;
    this.#content.sandboxes.delete(id);
    this.#content.sandboxesByLabel.delete(sandbox);
    return true;
  }

  listPodSandbox(filter?: PodSandboxFilter): PodSandbox[] {
    return this.sandboxes(filter).map(({ record }) => toPodSandbox(record));
  }

  listContainers(filter?: ContainerFilter): Container[] {
    return this.containers(filter).map(({ record }) => toContainer(record));
  }

  podSandboxStatus(id: string): PodSandboxStatusResponse {
    const { record, containers } = this.#open(id);
    return complete('PodSandboxStatusResponse', {
      status: toPodSandboxStatus(record),
      containersStatuses: containers.map((container) => toContainerStatus(container.record)),
      timestamp: this.now(),
    });
  }

  containerStatus(id: string): ContainerStatusResponse {
    return complete('ContainerStatusResponse', {
      status: toContainerStatus(this.container(id).record),
    });
  }

  /** Publishes a change of a container, or of the sandbox itself. */
  publish(sandbox: Sandbox<C>, containerId: string, containerEventType: ContainerEventType): void {
    if (!this.#events.hasListeners) return;
    this.#events.publish({
      containerId,
      containerEventType,
      createdAt: this.now(),
      podSandboxStatus: toPodSandboxStatus(sandbox.record),
      containersStatuses: sandbox.containers.map(({ record }) => toContainerStatus(record)),
    });
  }

  events(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.#events.subscribe(signal);
  }

  /** Ends all event streams. */
  close(): void {
    this.#events.close();
  }

  #open(id: string): OpenSandbox<C> {
    const sandbox = this.#findSandbox(id);
    if (sandbox === undefined)
      throw new CriError('NotFound', `sandbox ${JSON.stringify(id)} not found`);
    return sandbox;
  }
}

/** Returns the attributes for a container's or sandbox's stats. */
export function attributesOf({
  id,
  config,
}: Pick<SandboxRecord | ContainerRecord, 'id' | 'config'>): Input<'ContainerAttributes'> &
  Input<'PodSandboxAttributes'> {
  return { id, metadata: config.metadata, labels: config.labels, annotations: config.annotations };
}
