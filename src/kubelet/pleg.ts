// The pod lifecycle event generator: observes the pods in the runtime, and publishes every change.
//
// If the runtime has events, they name the pods to read again, and a relist every few minutes finds
// missed changes. If it has none, everything is listed once a second with two calls, independent of
// the number of pods. In both cases a pod is read in full only if its containers or sandboxes have
// changed, and only then is `onChange` called.

import type {
  Container as CriContainer,
  ContainerEvent,
  PodSandbox,
  RuntimeOutline,
  RuntimeService,
} from '#cri/index.ts';
import { type Clock, pause } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { POD_UID_LABEL } from './runtime/labels.ts';
import {
  groupByPod,
  groupOutline,
  listedFingerprint,
  listedStatus,
  outlinedStatus,
  podStatusOf,
  runsEntirely,
} from './runtime/listed-pods.ts';
import {
  findContainerById,
  type ContainerRecord,
  type RuntimePodStatus,
  type SandboxRecord,
} from './pod/pod-status.ts';
import {
  readContainer,
  readSandbox,
  toContainerState,
  type TerminationMessageReader,
} from './runtime/read-status.ts';

export interface PlegConfig {
  readonly runtime: RuntimeService;
  /** See Runtime. */
  readonly outline?: () => RuntimeOutline | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly readTerminationMessage: TerminationMessageReader;
  /** Called after every successful relist with its duration in seconds. */
  readonly onRelist?: (seconds: number) => void;
  /** The time between two relists of a runtime without events, in milliseconds. Default: 1,000. */
  readonly relistMs?: number;
  /** The time between two relists of a runtime with events, in milliseconds. Default: 300,000. */
  readonly eventedRelistMs?: number;
  /** Stirs (see `pause` of the clock) when the kubelet has changed something in the runtime. */
  readonly topic: string;
}

interface Refresh {
  /** The read in flight. */
  readonly current: Promise<RuntimePodStatus>;
  /** The read after it, for callers that arrived meanwhile. */
  next: Promise<RuntimePodStatus> | undefined;
}

export class Pleg {
  readonly #config: PlegConfig;
  readonly #statuses = new Map<string, RuntimePodStatus>();
  /** UIDs of pods of which only the lists have been read (see `adopt`). */
  readonly #listedOnly = new Set<string>();
  /** Reads in flight: at most one per pod, so that an older status never replaces a newer one. */
  readonly #refreshes = new Map<string, Refresh>();
  /** Container or sandbox → the pod's UID: events name only the container. */
  readonly #podOf = new Map<string, string>();
  /** Pods that their worker is changing now, with the events received meanwhile. */
  readonly #held = new Map<string, { readonly events: ContainerEvent[]; changed: boolean }>();
  /** Sandboxes that were read before their pod was. */
  readonly #fresh = new Map<string, SandboxRecord>();
  #relisting = false;
  #lastRelist = Number.NEGATIVE_INFINITY;
  /** Set by `listen`. */
  #onChange: (uid: string) => void = () => undefined;

  constructor(config: PlegConfig) {
    this.#config = config;
  }

  /**
   * Sets the callback for changes of a pod's sandboxes or containers. Must be called before the
   * first relist.
   */
  listen(onChange: (uid: string) => void): void {
    this.#onChange = onChange;
  }

  /**
   * Returns the last observed status; undefined if there is none. Of an adopted pod it has only what
   * lists show (see listedStatus), until `complete`.
   */
  get(uid: string): RuntimePodStatus | undefined {
    return this.#statuses.get(uid);
  }

  /** The monotonic time of the last successful relist. */
  get lastRelist(): number {
    return this.#lastRelist;
  }

  /** Returns every pod with a sandbox or container in the runtime. */
  pods(): Iterable<RuntimePodStatus> {
    return this.#statuses.values();
  }

  /** Reads the pod from the runtime. The read begins after the call. Does not call onChange. */
  refresh(uid: string): Promise<RuntimePodStatus> {
    const running = this.#refreshes.get(uid);
    if (running === undefined) return this.#begin(uid);
    running.next ??= running.current.then(
      () => this.#begin(uid),
      () => this.#begin(uid),
    );
    return running.next;
  }

  /** Reads the rest of an adopted pod, unless it was read. Rejects with CriError. */
  async complete(uid: string): Promise<void> {
    if (this.#listedOnly.has(uid)) await this.refresh(uid);
  }

  /** Completes all pods. A pod that cannot be read stays as it is. */
  async completeAll(): Promise<void> {
    await Promise.all([...this.#listedOnly].map((uid) => this.#look(uid)));
  }

  /** Records a sandbox that was just created and read, so that it need not be read again. */
  noteSandbox(sandbox: SandboxRecord): void {
    this.#fresh.set(sandbox.id, sandbox);
  }

  /**
   * Delays events of this pod until `release`: the caller changes the pod itself and reads its
   * status afterwards.
   */
  hold(uid: string): void {
    if (!this.#held.has(uid)) this.#held.set(uid, { events: [], changed: false });
  }

  release(uid: string): void {
    const held = this.#held.get(uid);
    this.#held.delete(uid);
    if (held === undefined) return;
    if (held.changed || held.events.some((event) => !this.#isKnown(uid, event)))
      void this.#look(uid);
  }

  forget(uid: string): void {
    const status = this.#statuses.get(uid);
    if (status !== undefined) this.#drop(status);
    this.#statuses.delete(uid);
    this.#listedOnly.delete(uid);
  }

  /**
   * Watches the runtime until the signal aborts. `relist` or `adopt` must be called once before.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, topic } = this.#config;
    const events = this.#config.runtime.containerEvents?.bind(this.#config.runtime);
    let evented = events !== undefined;
    const following =
      events === undefined
        ? undefined
        : this.#followEvents(events, signal, (works) => (evented = works));
    while (!signal.aborted) {
      const interval = evented
        ? (this.#config.eventedRelistMs ?? 300_000)
        : (this.#config.relistMs ?? 1000);
      try {
        // With events, a list finds only what the kubelet itself has done since the last one.
        if (evented) await pause(clock, interval, clock.monotonic(), { topic, signal });
        else await clock.sleep(interval, signal);
        await this.relist(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn('runtime not listed', { err: error });
      }
    }
    await following;
  }

  /** Lists everything, and reads each pod in full that has changed. */
  relist(signal?: AbortSignal): Promise<void> {
    return this.#relist(false, signal);
  }

  /**
   * Does the first relist in the place of another kubelet, which has observed the pods: those that
   * run are not read before they are needed.
   */
  adopt(signal?: AbortSignal): Promise<void> {
    const outline = this.#config.outline?.();
    return outline === undefined ? this.#relist(true, signal) : this.#adoptOutline(outline);
  }

  async #adoptOutline(outline: RuntimeOutline): Promise<void> {
    const { clock, onRelist } = this.#config;
    const start = clock.monotonic();
    const changed: string[] = [];
    for (const [uid, pod] of groupOutline(outline)) {
      if (runsEntirely(pod)) {
        this.#set(outlinedStatus(uid, pod));
        this.#listedOnly.add(uid);
      } else changed.push(uid);
    }
    this.#lastRelist = clock.monotonic();
    await Promise.all(changed.map((uid) => this.#look(uid)));
    onRelist?.((clock.monotonic() - start) / 1000);
  }

  async #relist(adopts: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { runtime, clock, onRelist } = this.#config;
    const start = clock.monotonic();
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandbox({}, { signal }),
      runtime.listContainers({}, { signal }),
    ]);
    const listed = groupByPod(sandboxes, containers);
    const changed: string[] = [];
    for (const [uid, pod] of listed) {
      if (adopts && !this.#statuses.has(uid) && runsEntirely(pod)) {
        this.#set(listedStatus(uid, pod));
        this.#listedOnly.add(uid);
      } else if (listedFingerprint(pod) !== this.#statuses.get(uid)?.fingerprint) changed.push(uid);
    }
    for (const uid of this.#statuses.keys()) if (!listed.has(uid)) changed.push(uid);
    this.#lastRelist = clock.monotonic();
    await Promise.all(changed.map((uid) => this.#look(uid)));
    onRelist?.((clock.monotonic() - start) / 1000);
  }

  /** Reads a pod that may have changed, and publishes the change. */
  async #look(uid: string): Promise<void> {
    const held = this.#held.get(uid);
    if (held !== undefined) {
      held.changed = true;
      return;
    }
    const before = this.#statuses.get(uid)?.fingerprint ?? '';
    try {
      const after = await this.refresh(uid);
      if (after.fingerprint !== before) this.#onChange(uid);
    } catch (error) {
      // The next relist finds the change again.
      this.#config.logger.warn('pod not read from the runtime', { uid, err: error });
    }
  }

  async #followEvents(
    containerEvents: (signal: AbortSignal) => AsyncIterable<ContainerEvent>,
    signal: AbortSignal,
    setWorks: (works: boolean) => void,
  ): Promise<void> {
    const { clock, logger } = this.#config;
    while (!signal.aborted) {
      try {
        const stream = containerEvents(signal);
        setWorks(true);
        for await (const event of stream) this.#onEvent(event);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('runtime events cut off, listing instead', { err: error });
      }
      if (signal.aborted) return;
      setWorks(false);
      try {
        // Relisting finds changes before the subscription.
        await this.relist(signal);
        await clock.sleep(1000, signal);
      } catch (error) {
        if (!signal.aborted) logger.warn('runtime not listed', { err: error });
      }
    }
  }

  #onEvent(event: ContainerEvent): void {
    const uid = event.podSandboxStatus?.metadata?.uid ?? this.#podOf.get(event.containerId) ?? '';
    if (uid === '') {
      // The removal of an unknown container is not published.
      if (event.containerEventType !== 'CONTAINER_DELETED_EVENT') this.#relistSoon();
      return;
    }
    const held = this.#held.get(uid);
    if (held !== undefined) held.events.push(event);
    else if (!this.#isKnown(uid, event)) void this.#look(uid);
  }

  /** Schedules a relist. Any number of events lead to one relist at a time. */
  #relistSoon(): void {
    if (this.#relisting) return;
    this.#relisting = true;
    this.relist()
      .catch((error: unknown) => this.#config.logger.warn('runtime not listed', { err: error }))
      .finally(() => {
        this.#relisting = false;
      });
  }

  /** Reports whether the change of the event was observed already. */
  #isKnown(uid: string, event: ContainerEvent): boolean {
    const status = this.#statuses.get(uid);
    if (status === undefined) return false;
    const container = findContainerById(status, event.containerId);
    const sandbox = status.sandboxes.find((candidate) => candidate.id === event.containerId);
    switch (event.containerEventType) {
      case 'CONTAINER_CREATED_EVENT':
        return container !== undefined || sandbox !== undefined;
      case 'CONTAINER_STARTED_EVENT':
        return container === undefined
          ? sandbox !== undefined
          : container.state === 'running' || container.state === 'exited';
      case 'CONTAINER_STOPPED_EVENT':
        return container?.state === 'exited' || sandbox?.ready === false;
      case 'CONTAINER_DELETED_EVENT':
        return container === undefined && sandbox === undefined;
    }
  }

  #begin(uid: string): Promise<RuntimePodStatus> {
    const current = this.#read(uid).finally(() => {
      // A later call has started the next read.
      if (this.#refreshes.get(uid)?.current === current) this.#refreshes.delete(uid);
    });
    this.#refreshes.set(uid, { current, next: undefined });
    return current;
  }

  async #read(uid: string): Promise<RuntimePodStatus> {
    const { runtime } = this.#config;
    const labelSelector = { [POD_UID_LABEL]: uid };
    const [sandboxList, containerList] = await Promise.all([
      runtime.listPodSandbox({ labelSelector }),
      runtime.listContainers({ labelSelector }),
    ]);
    const last = this.#statuses.get(uid);
    const before = this.#listedOnly.has(uid) ? undefined : last;
    const [sandboxes, containers] = await Promise.all([
      Promise.all(sandboxList.map((sandbox) => this.#readSandbox(sandbox, before))),
      Promise.all(containerList.map((container) => this.#readContainer(container, before))),
    ]);
    const status = podStatusOf(
      uid,
      { sandboxes: sandboxList, containers: containerList },
      sandboxes.filter(isThere),
      containers.filter(isThere),
    );
    if (last !== undefined) this.#drop(last);
    this.#listedOnly.delete(uid);
    if (status.fingerprint === '') this.#statuses.delete(uid);
    else this.#set(status);
    return status;
  }

  /** Reads a sandbox. An unchanged sandbox needs no call: its addresses do not change. */
  async #readSandbox(
    listed: PodSandbox,
    before: RuntimePodStatus | undefined,
  ): Promise<SandboxRecord | undefined> {
    const ready = listed.state === 'SANDBOX_READY';
    const known =
      before?.sandboxes.find((sandbox) => sandbox.id === listed.id) ?? this.#fresh.get(listed.id);
    this.#fresh.delete(listed.id);
    if (
      known !== undefined &&
      known.ready === ready &&
      (known.ips.length > 0 || known.hostNetwork || !ready)
    )
      return known;
    return await readSandbox(this.#config.runtime, listed);
  }

  async #readContainer(
    listed: CriContainer,
    before: RuntimePodStatus | undefined,
  ): Promise<ContainerRecord | undefined> {
    const known = before?.containers.find((container) => container.id === listed.id);
    if (known !== undefined && known.state === toContainerState(listed.state)) return known;
    return await readContainer(this.#config.runtime, listed, this.#config.readTerminationMessage);
  }

  #set(status: RuntimePodStatus): void {
    const { uid, sandboxes, containers } = status;
    this.#statuses.set(uid, status);
    for (const { id } of [...sandboxes, ...containers]) this.#podOf.set(id, uid);
  }

  #drop(status: RuntimePodStatus): void {
    for (const part of [...status.sandboxes, ...status.containers]) this.#podOf.delete(part.id);
  }
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}
