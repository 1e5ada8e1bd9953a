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
import {
  type KeyValue,
  type Storage,
  StorageError,
  type StorageNow,
  type UpdateDecision,
} from '#storage/interface.ts';
import { passingValueOf } from '#storage/value.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { AuditLog } from '../audit/index.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/kind.ts';
import { isServed } from '../catalog/snapshot.ts';
import { managerOf } from '../endpoints/manager-name.ts';
import type { RequestMetrics } from '../endpoints/request-metrics.ts';
import { endpointLabels } from '../endpoints/router.ts';
import { attributesOf } from '../filters/authorization.ts';
import { parseRequestInfo } from '../filters/request-info.ts';
import type { FlowControl } from '../flow-control/index.ts';
import type { Flow } from '../flow-control/flow.ts';
import type { RenewalRecord } from '../registry/renewed-states.ts';
import { storagePrefix } from '../registry/storage-prefix.ts';
import type { UserInfo } from '../request.ts';
import { RequestState } from '../request-state.ts';
import { type LeaseHolder, type LeasePlaces, leasePlaces, renewedLease } from './lease-template.ts';

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
  /** Gets each state before it is written. */
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
const KEEP: UpdateDecision = { action: 'keep' };
const NONE: ReadonlySet<string> = new Set();

/** A node whose Lease has been renewed here. */
interface RenewedNode {
  /** The key of the Lease. */
  readonly key: string;
  readonly user: UserInfo;
  /** The state of the Lease to which `places` belongs. */
  revision: number;
  places: LeasePlaces | undefined;
}

/** A renewal that is about to be written. */
interface Renewal {
  readonly nodeName: string;
  readonly node: RenewedNode;
  /** The state to be written in the place of `current`. */
  readonly value: Uint8Array;
  readonly current: KeyValue;
}

/** Common to all renewals of a batch. Times are milliseconds since the epoch. */
interface RenewalContext {
  readonly now: StorageNow;
  readonly holder: Omit<LeaseHolder, 'nodeName'>;
  readonly renewedMs: number;
  readonly nowMs: number;
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
    batch: LeaseRenewalBatch,
    nodes: readonly string[],
  ): Promise<readonly string[]> {
    const { catalog, flowControl } = this.#config;
    const kind = catalog.snapshot().get(leases.group, leases.version, leases.resource);
    if (kind === undefined || !isServed(kind) || !this.#config.serves()) return nodes;
    const request = requestOf(nodes[0]!, batch.userAgent);
    const refused = await Promise.all(
      [...this.#byFlow(nodes, request)].map(async ([flow, ofFlow]) => {
        const end = await flowControl.beginTogether(flow, ofFlow.length);
        let written = NONE;
        try {
          written = await this.#write(batch, ofFlow, kind, request);
        } finally {
          end(written.size);
        }
        return written.size === ofFlow.length ? [] : ofFlow.filter((name) => !written.has(name));
      }),
    );
    return refused.flat();
  }

  #byFlow(nodes: readonly string[], request: RequestState): ReadonlyMap<Flow, readonly string[]> {
    const { classifier } = this.#config.flowControl;
    const byFlow = new Map<Flow, string[]>();
    for (const nodeName of nodes) {
      const { user } = this.#nodeOf(nodeName);
      const flow = classifier.flowOf({ info: infoOf(request, nodeName), user });
      const ofFlow = byFlow.get(flow);
      if (ofFlow === undefined) byFlow.set(flow, [nodeName]);
      else ofFlow.push(nodeName);
    }
    return byFlow;
  }

  /** Makes the renewals that may be made here. Resolves with their nodes. */
  async #write(
    batch: LeaseRenewalBatch,
    nodes: readonly string[],
    kind: Kind,
    request: RequestState,
  ): Promise<ReadonlySet<string>> {
    const { metrics, audit } = this.#config;
    const renewals = this.#renewalsOf(batch, nodes, request);
    const [first] = renewals;
    if (first === undefined) return NONE;
    const countAdmission = this.#admit(kind, first, request);
    if (countAdmission === undefined) return NONE;
    const countRequests = metrics.beginTogether(request, renewals.length, endpointLabels(kind));
    const written = new Set<string>();
    try {
      await Promise.all(
        renewals.map(async (renewal) => {
          if (await this.#writeOne(renewal, batch.isKnown === true)) written.add(renewal.nodeName);
        }),
      );
      return written;
    } finally {
      countAdmission(written.size);
      countRequests(written.size, OK);
      audit?.countUnrecorded(written.size);
    }
  }

  /** Returns the renewals that may be made here. */
  #renewalsOf(
    { leaseDurationSeconds, renewedMs }: LeaseRenewalBatch,
    nodes: readonly string[],
    request: RequestState,
  ): readonly Renewal[] {
    const { clock, storage } = this.#config;
    const { now } = storage;
    if (now === undefined) return [];
    const holder = {
      leaseDurationSeconds,
      manager: managerOf(request, { fieldManager: '' }),
    };
    const times = { renewedMs, nowMs: clock.now() };
    return nodes.flatMap((nodeName) => {
      try {
        return this.#renewalOf(nodeName, request, { now, holder, ...times }) ?? [];
      } catch (error) {
        // The plain request reports it.
        if (error instanceof StorageError) return [];
        throw error;
      }
    });
  }

  /** Returns the renewal if the node's user may make it, and the Lease is in the expected state. */
  #renewalOf(
    nodeName: string,
    request: RequestState,
    { now, holder, renewedMs, nowMs }: RenewalContext,
  ): Renewal | undefined {
    const node = this.#nodeOf(nodeName);
    const current = now.get(node.key);
    if (current === undefined) {
      this.#nodes.delete(nodeName);
      this.#config.renewed.forget(node.key);
      return undefined;
    }
    const places = placesIn(current, node, { ...holder, nodeName });
    const value = places && renewedLease(passingValueOf(current), places, renewedMs, nowMs);
    // The request decides what happens to a renewal of the same instant, among others.
    if (value === undefined) return undefined;
    const { authorizer, audit } = this.#config;
    const { user } = node;
    const attributes = attributesOf({
      info: infoOf(request, nodeName),
      user,
      query: request.query,
    });
    const decided = authorizer.authorize(attributes);
    if (decided instanceof Promise || decided.decision !== 'allow') return undefined;
    if (audit !== undefined && audit.levelOf(attributes) !== 'None') return undefined;
    return { nodeName, node, value, current };
  }

  #nodeOf(nodeName: string): RenewedNode {
    let node = this.#nodes.get(nodeName);
    if (node === undefined) {
      node = {
        key: PREFIX + nodeName,
        user: userOf(nodeName),
        revision: 0,
        places: undefined,
      };
      this.#nodes.set(nodeName, node);
    }
    return node;
  }

  /** Returns a function that counts admitted renewals; undefined if they are not all admitted. */
  #admit(
    kind: Kind,
    { nodeName, node, current }: Renewal,
    request: RequestState,
  ): ((renewals: number) => void) | undefined {
    const object = decodeFromStorage<KubeObject>(current.value, current.modRevision);
    return this.#config.admission.admitAlike({
      operation: 'UPDATE',
      kind: kind.type,
      resource: kind.type,
      subresource: '',
      namespace: NAMESPACE,
      name: nodeName,
      object,
      oldObject: object,
      query: request.query,
      dryRun: false,
      user: node.user,
      warnings: [],
    });
  }

  /** Reports whether the Lease was written. */
  async #writeOne({ node, value, current }: Renewal, isKnown: boolean): Promise<boolean> {
    const { storage, renewed } = this.#config;
    const put: UpdateDecision = { action: 'put', value };
    let isPut = false;
    if (isKnown) renewed.renewing(node.key, value);
    try {
      const { revision } = await storage.guaranteedUpdate(
        node.key,
        (state) => {
          isPut = state?.modRevision === current.modRevision;
          return isPut ? put : KEEP;
        },
        { guess: current },
      );
      if (!isPut) return false;
      if (isKnown) renewed.renewed(node.key, value, revision);
      // The new state has its times where the one before had them.
      node.revision = revision;
      return true;
    } catch (error) {
      // The plain request reports it.
      if (error instanceof StorageError) return false;
      throw error;
    }
  }
}

/** Returns where the times are in the state of a node's Lease. */
function placesIn(
  { value, modRevision }: KeyValue,
  node: RenewedNode,
  holder: LeaseHolder,
): LeasePlaces | undefined {
  if (node.revision !== modRevision) {
    node.revision = modRevision;
    node.places = leasePlaces(value, holder);
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
