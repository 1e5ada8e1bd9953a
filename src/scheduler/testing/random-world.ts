// A random cluster as the scheduler sees it (cache, queue, informers) and, separately, its true
// state.

import fc from 'fast-check';
import { VirtualClock } from '#machinery/clock.ts';
import { SchedulerCache } from '../cache/cache.ts';
import { Snapshot } from '../cache/snapshot.ts';
import { EventHandlers } from '../event-handlers.ts';
import type { Node, Pod } from '../framework/objects.ts';
import { WaitingPods } from '../framework/waiting-pods.ts';
import { Nominator } from '../queue/nominator.ts';
import { SchedulingQueue, type SchedulingQueueConfig } from '../queue/scheduling-queue.ts';
import { RecordingLogger } from './handle.ts';
import { makeNode, makePod, type NodeOptions } from './objects.ts';
import { anyLabels, type AnyPod } from './random-pods.ts';
import type { ReferenceWorld } from './reference.ts';

const NODE_NAMES = ['n0', 'n1', 'n2', 'n3', 'n4'] as const;
/** The labels of the pods' namespaces. */
export const COLORS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  red: { color: 'warm' },
  green: { color: 'cold' },
  blue: {},
};
export const BUDGETS: NonNullable<ReferenceWorld['budgets']> = [
  { namespace: 'red', selector: { app: 'a' }, allowed: 1 },
  { namespace: 'red', selector: { tier: 'x' }, allowed: 0 },
];
export const SERVICES: NonNullable<ReferenceWorld['services']> = [
  { namespace: 'red', selector: { app: 'a' } },
  { namespace: 'red', selector: { tier: 'x' } },
];
export type Step =
  | { readonly kind: 'addPod'; readonly pod: AnyPod; readonly node: number }
  | { readonly kind: 'removePod' | 'startPod' | 'deletePod'; readonly pod: number }
  | {
      readonly kind: 'labelPod';
      readonly pod: number;
      readonly labels: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'resizePod';
      readonly pod: number;
      readonly cpu: string;
      readonly granted: boolean;
    }
  | { readonly kind: 'putNode'; readonly node: number; readonly as: NodeOptions }
  | { readonly kind: 'heartbeat' | 'removeNode' | 'cordon'; readonly node: number }
  | { readonly kind: 'nominate'; readonly pod: AnyPod; readonly node: number }
  | { readonly kind: 'land'; readonly pod: number; readonly node: number }
  | { readonly kind: 'takeBack'; readonly pod: number; readonly gone: boolean };

export const index = fc.nat({ max: 20 });
export const stepsOf = (
  pod: fc.Arbitrary<AnyPod>,
  node: fc.Arbitrary<NodeOptions>,
): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('addPod' as const), pod, node: index }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          'removePod' as const,
          'startPod' as const,
          'startPod' as const,
          'deletePod' as const,
        ),
        pod: index,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('labelPod' as const),
        pod: index,
        labels: anyLabels,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('resizePod' as const),
        pod: index,
        cpu: fc.constantFrom('0', '100m', '1', '3'),
        granted: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('putNode' as const), node: index, as: node }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('heartbeat' as const, 'removeNode' as const, 'cordon' as const),
        node: index,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('nominate' as const), pod, node: index }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('land' as const), pod: index, node: index }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('takeBack' as const),
        pod: index,
        gone: fc.boolean(),
      }),
    },
  );

/** The scheduler's parts and, separately, the true state. */
export class World {
  readonly snapshot = new Snapshot();
  readonly queue: SchedulingQueue;
  readonly nodes = new Map<string, Node>();
  readonly #cache: SchedulerCache;
  readonly #informed: EventHandlers;
  #placed: Pod[] = [];
  #nominated: Pod[] = [];
  #made = 0;

  constructor(queue: Partial<SchedulingQueueConfig> = {}) {
    const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
    this.#cache = new SchedulerCache({ clock, logger });
    const nominator = new Nominator((node) => this.snapshot.nominationsChanged(node));
    this.queue = new SchedulingQueue({
      clock,
      logger,
      less: (a, b) => a.sequence < b.sequence,
      nominator,
      ...queue,
    });
    this.#informed = new EventHandlers({
      cache: this.#cache,
      queue: this.queue,
      waitingPods: new WaitingPods(),
      schedules: () => true,
    });
  }

  /** Updates the snapshot, as at the beginning of a cycle. */
  refresh(): void {
    this.#cache.updateSnapshot(this.snapshot);
  }

  /** Changes a waiting pod. */
  change(before: Pod, after: Pod): void {
    this.#informed.podUpdated(before, after);
  }

  apply(one: Step): void {
    switch (one.kind) {
      case 'addPod':
        this.#put(this.make(one.pod, nameOf(one.node)), undefined);
        break;
      case 'removePod': {
        const [gone] = this.#placed.splice(this.#at(one.pod), 1);
        if (gone !== undefined) this.#informed.podDeleted(gone);
        break;
      }
      case 'startPod':
        this.#change(one.pod, (pod) => ({
          ...pod,
          status: { ...pod.status, startTime: pod.status.startTime ?? this.#time() },
        }));
        break;
      case 'deletePod':
        this.#change(one.pod, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:01:00Z' },
        }));
        break;
      case 'labelPod':
        this.#change(one.pod, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, labels: one.labels },
        }));
        break;
      case 'resizePod':
        this.#change(one.pod, (pod) => resized(pod, one.cpu, one.granted));
        break;
      case 'putNode':
        this.#putNode(makeNode(nameOf(one.node), one.as));
        break;
      case 'heartbeat':
      case 'cordon': {
        const node = this.nodes.get(nameOf(one.node));
        if (node === undefined) break;
        if (one.kind === 'cordon')
          this.#putNode({ ...node, spec: { ...node.spec, unschedulable: true } });
        else this.#putNode({ ...node, status: { ...node.status, conditions: [] } });
        break;
      }
      case 'removeNode': {
        const gone = this.nodes.get(nameOf(one.node));
        this.nodes.delete(nameOf(one.node));
        if (gone !== undefined) this.#informed.nodeDeleted(gone);
        break;
      }
      case 'nominate': {
        const made = this.make(one.pod);
        const pod: Pod = {
          ...made,
          status: { ...made.status, nominatedNodeName: nameOf(one.node) },
        };
        this.#nominated.push(pod);
        this.#informed.podAdded(pod);
        break;
      }
      case 'land': {
        // Another scheduler has bound the pod: to its nominated node, or to another one.
        const [pod] = this.#nominated.splice(one.pod % Math.max(1, this.#nominated.length), 1);
        if (pod === undefined) break;
        const bound: Pod = { ...pod, spec: { ...pod.spec, nodeName: nameOf(one.node) } };
        this.#placed.push(bound);
        this.#informed.podUpdated(pod, bound);
        break;
      }
      case 'takeBack': {
        const [pod] = this.#nominated.splice(one.pod % Math.max(1, this.#nominated.length), 1);
        if (pod === undefined) break;
        const { nominatedNodeName: _, ...status } = pod.status;
        if (one.gone) this.#informed.podDeleted(pod);
        else this.#informed.podUpdated(pod, { ...pod, status });
        break;
      }
    }
  }

  make({ namespace, labels, spec, deleting, started }: AnyPod, nodeName?: string): Pod {
    const name = `p${this.#made++}`;
    return makePod(name, {
      namespace,
      labels,
      deleting,
      spec: { ...spec, ...(nodeName !== undefined && { nodeName }) },
      ...(started !== undefined && { status: { startTime: this.#time() } }),
    });
  }

  get truth(): ReferenceWorld {
    const placed = [...this.#placed];
    return {
      nodes: this.snapshot.nodes.map(({ name }) => this.nodes.get(name)!),
      podsOn: (node) => placed.filter(({ spec }) => spec.nodeName === node),
      namespaceLabels: (namespace) => COLORS[namespace] ?? {},
      services: SERVICES,
      budgets: BUDGETS,
    };
  }

  nominatedOn(node: string): readonly Pod[] {
    return this.#nominated.filter(({ status }) => status.nominatedNodeName === node);
  }

  /** Returns times, each one a second later than the last. */
  #time(): string {
    const seconds = this.#made;
    return (
      `2026-01-01T00:${String(Math.trunc(seconds / 60)).padStart(2, '0')}` +
      `:${String(seconds % 60).padStart(2, '0')}Z`
    );
  }

  #at(pod: number): number {
    return pod % Math.max(1, this.#placed.length);
  }

  #change(pod: number, change: (pod: Pod) => Pod): void {
    const before = this.#placed[this.#at(pod)];
    if (before === undefined) return;
    this.#made++;
    this.#put(change(before), before);
  }

  #put(pod: Pod, before: Pod | undefined): void {
    if (before === undefined) {
      this.#placed.push(pod);
      this.#informed.podAdded(pod);
    } else {
      this.#placed[this.#placed.indexOf(before)] = pod;
      this.#informed.podUpdated(before, pod);
    }
  }

  #putNode(node: Node): void {
    const before = this.nodes.get(node.metadata.name);
    this.nodes.set(node.metadata.name, node);
    if (before === undefined) this.#informed.nodeAdded(node);
    else this.#informed.nodeUpdated(before, node);
  }
}

function nameOf(node: number): string {
  return NODE_NAMES[node % NODE_NAMES.length]!;
}

/** Resizes the first container's request; if it is not granted, the pod keeps its allocation. */
function resized(pod: Pod, cpu: string, granted: boolean): Pod {
  const [first, ...others] = pod.spec.containers;
  if (first === undefined) return pod;
  const { requests } = first.resources;
  const containers = [{ ...first, resources: { requests: { ...requests, cpu } } }, ...others];
  const status = {
    name: first.name,
    state: {},
    lastState: {},
    ready: true,
    restartCount: 0,
    image: '',
    imageID: '',
  };
  const held = granted ? { ...requests, cpu } : { ...requests };
  return {
    ...pod,
    spec: { ...pod.spec, containers },
    status: {
      ...pod.status,
      containerStatuses: [{ ...status, allocatedResources: held, resources: { requests: held } }],
    },
  };
}
