// Makes the heartbeats of many nodes at once: what as many patches of single objects would do, for the
// kubelets that share the process of the server. A heartbeat renews the Lease of a node, or reports that
// its status is the same. Each object gets its own revision, event and history, and each heartbeat is
// counted in the metrics of requests.
//
// A heartbeat is made here only if nothing could tell the difference. Every other one is refused, and its
// kubelet makes the plain request: when its user may not, when an admission plugin looks at the
// content, when the request would be recorded in the audit log, and when the object is missing, or
// another client has written it (heartbeat-kind.ts).

import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { Slots } from '#machinery/slots.ts';
import { formatTime } from '#machinery/text/time.ts';
import { nextTurn } from '#machinery/turn.ts';
import { type KeyValue, type Storage, StorageError } from '#storage/interface.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { AuditLog } from '../audit/index.ts';
import type { Attributes, Authorizer } from '../authorization/authorizer.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/kind.ts';
import { isServed } from '../catalog/snapshot.ts';
import { managerOf } from '../endpoints/manager-name.ts';
import type { RequestMetrics } from '../endpoints/request-metrics.ts';
import { endpointLabels } from '../endpoints/router.ts';
import { attributesOf } from '../filters/authorization.ts';
import { parseRequestInfo } from '../filters/request-info.ts';
import type { FlowControl } from '../flow-control/index.ts';
import type { Classifier } from '../flow-control/classifier.ts';
import type { Flow } from '../flow-control/flow.ts';
import type { RenewalRecord } from '../registry/renewed-states.ts';
import type { UserInfo } from '../request.ts';
import { RequestState } from '../request-state.ts';
import type { HeartbeatKind, HeartbeatTemplate, HeartbeatWriter } from './heartbeat-kind.ts';
import { leaseRenewals } from './lease-template.ts';
import { statusReports } from './status-template.ts';

/** Heartbeats of nodes at one time. */
export interface HeartbeatBatch {
  readonly kind: 'lease' | 'status';
  readonly nodes: readonly string[];
  /**
   * Only for statuses: the version of each Node whose status is unchanged since. Heartbeats here that have
   * followed it do not count.
   */
  readonly versions?: readonly string[];
  /** The time that they report, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Only for Leases. */
  readonly leaseDurationSeconds?: number;
  /** The user agent of the kubelets. */
  readonly userAgent: string;
  /**
   * Watches without renewals leave out these renewals: their clients have made them. Default: false,
   * they get them as all other changes.
   */
  readonly isKnown?: boolean;
}

export interface NodeHeartbeatsConfig {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly authorizer: Authorizer;
  readonly admission: AdmissionChain;
  readonly metrics: RequestMetrics;
  readonly flowControl: FlowControl;
  /** Absent: there is no audit log. */
  readonly audit?: AuditLog;
  /** Gets the revisions of renewals before they are committed. */
  readonly renewed: RenewalRecord;
  /** Reports whether the server itself serves the resource, to clients in the process. */
  readonly serves: (type: ResourceType) => boolean;
}

const KINDS = { lease: leaseRenewals, status: statusReports } as const;
/** The number of heartbeats that are made in one turn of the event loop. */
const PER_TURN = 500;
/**
 * The number of those slices that are being written at a time, of all batches. The store commits
 * writes in their order: if it does not keep up with 100,000 nodes, renewals are late, and no other
 * write waits for more than these.
 */
const SLICES_IN_FLIGHT = 2;
const OK = 200;

/** A node whose heartbeats of one kind are made here. */
interface BeatingNode {
  readonly name: string;
  /** The storage key of the object. */
  readonly key: string;
  readonly user: UserInfo;
  /** The version that the kubelet knows; undefined for Leases. */
  version: string | undefined;
  /** The state of the object to which the next three belong. */
  state: KeyValue | undefined;
  /** Where heartbeats change the state. Undefined: they might change more. */
  places: HeartbeatTemplate['places'] | undefined;
  time: string | undefined;
  managedTime: string | undefined;
  /** The flow of the requests, according to this classifier. */
  flow: Flow | undefined;
  classifier: Classifier | undefined;
}

/** Common to all heartbeats of a slice. */
interface BeatContext {
  readonly kind: HeartbeatKind;
  readonly served: Kind;
  readonly writer: Omit<HeartbeatWriter, 'nodeName'>;
  /** The reported time. */
  readonly time: string;
  /** The request of one of the nodes. */
  readonly request: RequestState;
  readonly isKnown: boolean;
}

export class NodeHeartbeats {
  readonly #config: NodeHeartbeatsConfig;
  readonly #nodes: Readonly<Record<HeartbeatBatch['kind'], Map<string, BeatingNode>>> = {
    lease: new Map(),
    status: new Map(),
  };
  readonly #slices = new Slots(SLICES_IN_FLIGHT);

  constructor(config: NodeHeartbeatsConfig) {
    this.#config = config;
  }

  /**
   * Resolves with the nodes whose heartbeats were not made, when the others are stored. Waits for
   * seats of priority and fairness.
   */
  async make(batch: HeartbeatBatch): Promise<readonly string[]> {
    const { nodes, versions } = batch;
    const slices: Promise<readonly string[]>[] = [];
    for (let from = 0; from < nodes.length; from += PER_TURN) {
      if (from > 0) await nextTurn();
      const end = from + PER_TURN;
      const slice = {
        ...batch,
        nodes: nodes.slice(from, end),
        ...(versions !== undefined && { versions: versions.slice(from, end) }),
      };
      slices.push(this.#slices.run(() => this.#makeSlice(slice)));
    }
    return (await Promise.all(slices)).flat();
  }

  async #makeSlice(batch: HeartbeatBatch): Promise<readonly string[]> {
    const { catalog, flowControl, serves } = this.#config;
    const kind = KINDS[batch.kind];
    const { group, version, resource } = kind.type;
    const served = catalog.snapshot().get(group, version, resource);
    if (served === undefined || !isServed(served) || !serves(kind.type)) return batch.nodes;
    const request = requestOf(kind, batch.nodes[0]!, batch.userAgent);
    const context: BeatContext = {
      kind,
      served,
      writer: {
        leaseDurationSeconds: batch.leaseDurationSeconds,
        manager: managerOf(request, { fieldManager: '' }),
      },
      time: kind.format(batch.atMs),
      request,
      isKnown: batch.isKnown === true && batch.kind === 'lease',
    };
    const all = this.#nodes[batch.kind];
    const nodes = batch.nodes.map((name, index) => {
      const node = nodeIn(all, kind, name);
      node.version = batch.versions?.[index];
      return node;
    });
    const refused = await Promise.all(
      [...this.#byFlow(nodes, context)].map(async ([flow, ofFlow]) => {
        const end = await flowControl.beginTogether(flow, ofFlow.length);
        let written: readonly BeatingNode[] = [];
        try {
          written = await this.#beat(ofFlow, context);
        } finally {
          end(written.length);
        }
        return refusedOf(all, ofFlow, written);
      }),
    );
    return refused.flat();
  }

  #byFlow(
    nodes: readonly BeatingNode[],
    { kind, request }: BeatContext,
  ): ReadonlyMap<Flow, readonly BeatingNode[]> {
    const { classifier } = this.#config.flowControl;
    const byFlow = new Map<Flow, BeatingNode[]>();
    for (const node of nodes) {
      const { name } = node;
      if (node.classifier !== classifier) {
        node.classifier = classifier;
        const info = { ...request.info, path: pathOf(kind, name), name, pathName: name };
        // The classifier remembers users as long as they live, and this one is asked about once.
        node.flow = classifier.flowOf({ info, user: userOf(name) });
      }
      const ofFlow = byFlow.get(node.flow!);
      if (ofFlow === undefined) byFlow.set(node.flow!, [node]);
      else ofFlow.push(node);
    }
    return byFlow;
  }

  /** Makes the heartbeats that may be made here. Resolves with their nodes. */
  async #beat(
    nodes: readonly BeatingNode[],
    context: BeatContext,
  ): Promise<readonly BeatingNode[]> {
    const { metrics, audit, renewed } = this.#config;
    const { request, served, kind, isKnown } = context;
    let forget: (() => void) | undefined;
    try {
      const countAdmission = this.#admit(nodes, context);
      if (countAdmission === undefined) return [];
      const { written, done } = this.#write(nodes, context);
      if (written.length === 0) return written;
      if (isKnown)
        forget = renewed.add(written[0]!.state!.modRevision, written.at(-1)!.state!.modRevision);
      const labels = { ...endpointLabels(served), subresource: kind.subresource };
      const countRequests = metrics.beginTogether(request, written.length, labels);
      let count = 0;
      try {
        await done;
        count = written.length;
      } finally {
        countAdmission(count);
        countRequests(count, OK);
        audit?.countUnrecorded(count);
      }
      return written;
    } catch (error) {
      forget?.();
      // The plain requests report it.
      if (error instanceof StorageError) return [];
      throw error;
    }
  }

  /**
   * Returns a function that counts admitted heartbeats; undefined if they are not all admitted, or
   * there are none. Throws StorageError.
   */
  #admit(
    nodes: readonly BeatingNode[],
    { kind, served, writer, request }: BeatContext,
  ): ((heartbeats: number) => void) | undefined {
    const { storage, admission } = this.#config;
    for (const node of nodes) {
      const current = storage.now?.get(node.key);
      if (current === undefined || placesIn(node, current, kind, writer) === undefined) continue;
      const object = decodeFromStorage<KubeObject>(current.value, current.modRevision);
      return admission.admitAlike({
        operation: 'UPDATE',
        kind: served.type,
        resource: served.type,
        subresource: kind.subresource,
        namespace: kind.namespace,
        name: node.name,
        object,
        oldObject: object,
        query: request.query,
        dryRun: false,
        user: node.user,
        warnings: [],
      });
    }
    return undefined;
  }

  /**
   * Writes the objects that are in the expected state, if their nodes' users may, by requests that are
   * not recorded. Returns these nodes, and the promise that all are written. Throws StorageError.
   */
  #write(
    nodes: readonly BeatingNode[],
    { kind, writer, request, time }: BeatContext,
  ): { readonly written: readonly BeatingNode[]; readonly done: Promise<void> } {
    const { storage, clock } = this.#config;
    if (storage.patchTogether === undefined) return { written: [], done: Promise.resolve() };
    const { info, query } = request;
    const first = attributesOf({ info, query, user: undefined });
    const managedTime = formatTime(clock.now());
    const textsFor = patchTexts(time, managedTime);
    const { states, done } = storage.patchTogether(
      nodes.map(({ key }) => key),
      (current, index) => {
        const node = nodes[index]!;
        const places = placesIn(node, current, kind, writer);
        // The request decides what happens to a heartbeat of the same instant, among others.
        if (places === undefined || node.time === time) return undefined;
        if (node.managedTime !== undefined && node.managedTime > managedTime) return undefined;
        const { name, user } = node;
        const isAllowed = this.#isAllowed({ ...first, user, name, path: pathOf(kind, name) });
        return isAllowed ? { places, texts: textsFor(places.length) } : undefined;
      },
    );
    const written: BeatingNode[] = [];
    for (const [index, node] of nodes.entries()) {
      const state = states[index];
      if (state === undefined) continue;
      // The new state has its times where the one before had them.
      node.state = state;
      node.time = time;
      if (node.managedTime !== undefined) node.managedTime = managedTime;
      written.push(node);
    }
    return { written, done };
  }

  /** Reports whether the request is allowed at once, and not recorded. */
  #isAllowed(attributes: Attributes): boolean {
    const { authorizer, audit } = this.#config;
    const decided = authorizer.authorize(attributes);
    if (decided instanceof Promise || decided.decision !== 'allow') return false;
    return audit === undefined || audit.levelOf(attributes) === 'None';
  }
}

/** Returns the node in the map, which gets it if need be. */
function nodeIn(nodes: Map<string, BeatingNode>, kind: HeartbeatKind, name: string): BeatingNode {
  let node = nodes.get(name);
  if (node === undefined) {
    node = {
      name,
      key: kind.prefix + name,
      user: userOf(name),
      version: undefined,
      state: undefined,
      places: undefined,
      time: undefined,
      managedTime: undefined,
      flow: undefined,
      classifier: undefined,
    };
    nodes.set(name, node);
  }
  return node;
}

/** Returns the names of the other nodes, and forgets these: they may have no such objects. */
function refusedOf(
  all: Map<string, BeatingNode>,
  nodes: readonly BeatingNode[],
  written: readonly BeatingNode[],
): readonly string[] {
  if (written.length === nodes.length) return [];
  const done = new Set(written);
  const names = nodes.filter((node) => !done.has(node)).map(({ name }) => name);
  for (const name of names) all.delete(name);
  return names;
}

/** Returns where a heartbeat changes this state of a node's object. */
function placesIn(
  node: BeatingNode,
  current: KeyValue,
  kind: HeartbeatKind,
  writer: BeatContext['writer'],
): HeartbeatTemplate['places'] | undefined {
  if (node.state !== current) {
    const isExpected = node.version === undefined || node.version === String(current.modRevision);
    const template = isExpected
      ? kind.template(current.value, { ...writer, nodeName: node.name })
      : undefined;
    node.state = current;
    node.places = template?.places;
    node.time = template?.time;
    node.managedTime = template?.managedTime;
  }
  return node.places;
}

/** Returns a function that returns the texts for a number of places. They are shared. */
function patchTexts(time: string, managedTime: string): (places: number) => readonly Uint8Array[] {
  const reported = Buffer.from(time);
  const managed = Buffer.from(managedTime);
  const byLength: (readonly Uint8Array[])[] = [];
  return (places) =>
    (byLength[places] ??= [
      ...Array.from({ length: places - 1 }, (): Uint8Array => reported),
      managed,
    ]);
}

function pathOf({ path, subresource }: HeartbeatKind, name: string): string {
  return subresource === '' ? path + name : `${path}${name}/${subresource}`;
}

/** Returns the request by which the kubelet of a node makes the heartbeat, without its body. */
function requestOf(kind: HeartbeatKind, nodeName: string, userAgent: string): RequestState {
  const request = new RequestState({
    method: 'PATCH',
    path: pathOf(kind, nodeName),
    query: '',
    headers: { 'content-type': kind.contentType, 'user-agent': userAgent },
    body: { kind: 'object', object: undefined },
    remoteAddress: '127.0.0.1',
    user: userOf(nodeName),
  });
  request.info = parseRequestInfo(request);
  return request;
}

function userOf(nodeName: string): UserInfo {
  return { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
}
