// Renews the Leases of many nodes at once: what as many patches of single Leases would do, for the
// kubelets that share the process of the server. Each Lease gets its own revision, event and history,
// and each renewal is counted in the metrics of requests.
//
// A Lease is renewed here only if nothing could tell the difference. Every other one is refused, and
// its kubelet makes the plain request: when its user may not, when an admission plugin looks at the
// content, when the request would be recorded in the audit log, and when the Lease is missing, or
// another client has written it (lease-template.ts).

import { leases } from '#api/groups/coordination/v1/index.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { Slots } from '#machinery/slots.ts';
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
import { storagePrefix } from '../registry/storage-prefix.ts';
import type { UserInfo } from '../request.ts';
import { RequestState } from '../request-state.ts';
import {
  type LeaseHolder,
  type LeaseTemplate,
  leaseTemplate,
  type RenewalTimes,
  renewalTimes,
} from './lease-template.ts';

/** Renewals of nodes' Leases at one time. */
export interface LeaseRenewalBatch {
  readonly nodes: readonly string[];
  /** The time of the renewals, in milliseconds since the epoch. */
  readonly renewedMs: number;
  readonly leaseDurationSeconds: number;
  /** The user agent of the kubelets. */
  readonly userAgent: string;
  /**
   * Watches without renewals leave these out: their clients have made them. Default: false, they get
   * them as all other changes.
   */
  readonly isKnown?: boolean;
}

export interface LeaseRenewalsConfig {
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
  /** Reports whether the server itself serves Leases, to clients in the process. */
  readonly serves: () => boolean;
}

const NAMESPACE = 'kube-node-lease';
const PREFIX = `${storagePrefix(leases)}${NAMESPACE}/`;
const PATH = `/apis/${leases.group}/${leases.version}/namespaces/${NAMESPACE}/${leases.resource}/`;
/** The number of Leases that are renewed in one turn of the event loop. */
const PER_TURN = 500;
/**
 * The number of those slices that are being written at a time, of all batches. The store commits
 * writes in their order: if it does not keep up with 100,000 nodes, renewals are late, and no other
 * write waits for more than these.
 */
const SLICES_IN_FLIGHT = 2;
const OK = 200;

/** A node whose Lease is renewed here. */
interface RenewedNode {
  readonly name: string;
  /** The key of the Lease. */
  readonly key: string;
  readonly user: UserInfo;
  /** The state of the Lease to which the next two belong. */
  state: KeyValue | undefined;
  /** Where renewals change the state. Undefined: they might change more. */
  places: LeaseTemplate['places'] | undefined;
  renewTime: string | undefined;
  /** The flow of the requests, according to this classifier. */
  flow: Flow | undefined;
  classifier: Classifier | undefined;
}

/** Common to all renewals of a slice. */
interface RenewalContext extends RenewalTimes {
  readonly holder: Omit<LeaseHolder, 'nodeName'>;
  /** The request of one of the nodes. */
  readonly request: RequestState;
  readonly kind: Kind;
  readonly isKnown: boolean;
}

export class LeaseRenewals {
  readonly #config: LeaseRenewalsConfig;
  readonly #nodes = new Map<string, RenewedNode>();
  readonly #slices = new Slots(SLICES_IN_FLIGHT);

  constructor(config: LeaseRenewalsConfig) {
    this.#config = config;
  }

  /**
   * Resolves with the nodes whose Leases were not renewed, when the others are stored. Waits for
   * seats of priority and fairness.
   */
  async renew(batch: LeaseRenewalBatch): Promise<readonly string[]> {
    const { nodes } = batch;
    const slices: Promise<readonly string[]>[] = [];
    for (let from = 0; from < nodes.length; from += PER_TURN) {
      if (from > 0) await nextTurn();
      const slice = nodes.slice(from, from + PER_TURN);
      slices.push(this.#slices.run(() => this.#renewSlice(batch, slice)));
    }
    return (await Promise.all(slices)).flat();
  }

  async #renewSlice(
    { renewedMs, leaseDurationSeconds, userAgent, isKnown = false }: LeaseRenewalBatch,
    names: readonly string[],
  ): Promise<readonly string[]> {
    const { catalog, clock, flowControl } = this.#config;
    const kind = catalog.snapshot().get(leases.group, leases.version, leases.resource);
    if (kind === undefined || !isServed(kind) || !this.#config.serves()) return names;
    const request = requestOf(names[0]!, userAgent);
    const holder = { leaseDurationSeconds, manager: managerOf(request, { fieldManager: '' }) };
    const refused = await Promise.all(
      [...this.#byFlow(names, request)].map(async ([flow, nodes]) => {
        const end = await flowControl.beginTogether(flow, nodes.length);
        let written: readonly RenewedNode[] = [];
        try {
          const times = renewalTimes(renewedMs, clock.now());
          written = await this.#renewNodes(nodes, { ...times, holder, request, kind, isKnown });
        } finally {
          end(written.length);
        }
        return this.#without(nodes, written);
      }),
    );
    return refused.flat();
  }

  #byFlow(
    names: readonly string[],
    request: RequestState,
  ): ReadonlyMap<Flow, readonly RenewedNode[]> {
    const { classifier } = this.#config.flowControl;
    const byFlow = new Map<Flow, RenewedNode[]>();
    for (const name of names) {
      const node = this.#nodeOf(name);
      if (node.classifier !== classifier) {
        node.classifier = classifier;
        // The classifier remembers users as long as they live, and this one is asked about once.
        node.flow = classifier.flowOf({ info: infoOf(request, name), user: userOf(name) });
      }
      const ofFlow = byFlow.get(node.flow!);
      if (ofFlow === undefined) byFlow.set(node.flow!, [node]);
      else ofFlow.push(node);
    }
    return byFlow;
  }

  /** Makes the renewals that may be made here. Resolves with their nodes. */
  async #renewNodes(
    nodes: readonly RenewedNode[],
    context: RenewalContext,
  ): Promise<readonly RenewedNode[]> {
    const { metrics, audit, renewed } = this.#config;
    const { request, kind, isKnown } = context;
    let forget: (() => void) | undefined;
    try {
      const countAdmission = this.#admit(nodes, context);
      if (countAdmission === undefined) return [];
      const { written, done } = this.#write(nodes, context);
      if (written.length === 0) return written;
      if (isKnown)
        forget = renewed.add(written[0]!.state!.modRevision, written.at(-1)!.state!.modRevision);
      const countRequests = metrics.beginTogether(request, written.length, endpointLabels(kind));
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

  #nodeOf(name: string): RenewedNode {
    let node = this.#nodes.get(name);
    if (node === undefined) {
      node = {
        name,
        key: PREFIX + name,
        user: userOf(name),
        state: undefined,
        places: undefined,
        renewTime: undefined,
        flow: undefined,
        classifier: undefined,
      };
      this.#nodes.set(name, node);
    }
    return node;
  }

  /**
   * Returns a function that counts admitted renewals; undefined if they are not all admitted, or
   * there are none. Throws StorageError.
   */
  #admit(
    nodes: readonly RenewedNode[],
    { holder, kind, request }: RenewalContext,
  ): ((renewals: number) => void) | undefined {
    const { storage, admission } = this.#config;
    for (const node of nodes) {
      const current = storage.now?.get(node.key);
      if (current === undefined || placesIn(node, current, holder) === undefined) continue;
      const object = decodeFromStorage<KubeObject>(current.value, current.modRevision);
      return admission.admitAlike({
        operation: 'UPDATE',
        kind: kind.type,
        resource: kind.type,
        subresource: '',
        namespace: NAMESPACE,
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
   * Writes the Leases that are in the expected state, if their nodes' users may, by requests that are
   * not recorded. Returns these nodes, and the promise that all are written. Throws StorageError.
   */
  #write(
    nodes: readonly RenewedNode[],
    { holder, request, renewTime, texts }: RenewalContext,
  ): { readonly written: readonly RenewedNode[]; readonly done: Promise<void> } {
    const { storage } = this.#config;
    if (storage.patchTogether === undefined) return { written: [], done: Promise.resolve() };
    const { info, query } = request;
    const first = attributesOf({ info, query, user: undefined });
    const { states, done } = storage.patchTogether(
      nodes.map(({ key }) => key),
      (current, index) => {
        const node = nodes[index]!;
        const places = placesIn(node, current, holder);
        // The request decides what happens to a renewal of the same instant, among others.
        if (places === undefined || node.renewTime === renewTime) return undefined;
        const { name, user } = node;
        const isAllowed = this.#isAllowed({ ...first, user, name, path: PATH + name });
        return isAllowed ? { places, texts } : undefined;
      },
    );
    const written: RenewedNode[] = [];
    for (const [index, node] of nodes.entries()) {
      const state = states[index];
      if (state === undefined) continue;
      // The new state has its times where the one before had them.
      node.state = state;
      node.renewTime = renewTime;
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

  /** Returns the names of the other nodes, and forgets these: they may have no Leases. */
  #without(nodes: readonly RenewedNode[], written: readonly RenewedNode[]): readonly string[] {
    if (written.length === nodes.length) return [];
    const done = new Set(written);
    const names = nodes.filter((node) => !done.has(node)).map(({ name }) => name);
    for (const name of names) this.#nodes.delete(name);
    return names;
  }
}

/** Returns where a renewal changes this state of a node's Lease. */
function placesIn(
  node: RenewedNode,
  current: KeyValue,
  holder: RenewalContext['holder'],
): LeaseTemplate['places'] | undefined {
  if (node.state !== current) {
    const template = leaseTemplate(current.value, { ...holder, nodeName: node.name });
    node.state = current;
    node.places = template?.places;
    node.renewTime = template?.renewTime;
  }
  return node.places;
}

/** Returns the request by which the kubelet of a node renews its Lease, without its body. */
function requestOf(nodeName: string, userAgent: string): RequestState {
  const request = new RequestState({
    method: 'PATCH',
    path: PATH + nodeName,
    query: '',
    headers: { 'content-type': 'application/merge-patch+json', 'user-agent': userAgent },
    body: { kind: 'object', object: undefined },
    remoteAddress: '127.0.0.1',
    user: userOf(nodeName),
  });
  request.info = parseRequestInfo(request);
  return request;
}

/** Returns the info of the request of another node. */
const infoOf = ({ info }: RequestState, nodeName: string): RequestState['info'] => ({
  ...info,
  path: PATH + nodeName,
  name: nodeName,
  pathName: nodeName,
});

function userOf(nodeName: string): UserInfo {
  return { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
}
