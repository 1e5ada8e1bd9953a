// Maintains the Node and its Lease in the API: creates or adopts the Node object, renews the Lease
// every few seconds, and writes the status when it has changed, or every few minutes if it has not.

import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type Clock, pause, stir } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { EventReason, EventSink } from '../events.ts';
import { formatMicroTime, parseTime } from '#machinery/text/time.ts';
import type { Node, NodeStatus } from '../types.ts';
import { HeartbeatGrid, type Heartbeat, type HeartbeatKeeper } from './heartbeats.ts';
import {
  makeNodeStatus,
  nodeStatusPatch,
  PRESSURE_CONDITIONS,
  sameExtendedResources,
  sameNodeStatus,
  type NodeFacts,
} from './node-status.ts';

export interface NodeReporterConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: EventSink;
  readonly nodeName: string;
  /** See KubeletConfig. */
  readonly takesOver?: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly v1.Taint[];
  readonly podCIDRs: readonly string[];
  readonly unschedulable: boolean;
  /** Gathers the facts for the status; called at each check. Never rejects. */
  readonly facts: () => Promise<NodeFacts>;
  /**
   * Reports, without waiting, whether `facts` would return facts that are equal to the last ones.
   * Default: it is not known.
   */
  readonly isUnchanged?: () => boolean;
  /** The time between two checks of the status and renewals of the Lease, in milliseconds. */
  readonly checkMs: number;
  /** The time after which an unchanged status is reported, in milliseconds. */
  readonly reportMs: number;
  readonly leaseDurationSeconds: number;
  /** See HeartbeatGrid. */
  readonly heartbeatTickMs?: number;
  /** Absent: the kubelet makes each heartbeat itself. */
  readonly keeper?: HeartbeatKeeper;
  /** Stirs (see `pause` of the clock) when something of the node may have changed. */
  readonly topic: string;
  /** The Node as the API has it, if it is known to exist. Default: it is created, or read. */
  readonly known?: Node;
  /** The state of the reporter in whose place this one is. Default: it is read from the API. */
  readonly successorOf?: ReporterState;
}

/** The state of a reporter of the same Node, whose clock was the same. */
export interface ReporterState {
  readonly node: Node;
  /** The monotonic time of the last written status. */
  readonly reportedAt: number;
  /** The monotonic time of the next renewal of the Lease. Undefined: it is due. */
  readonly leaseDue: number | undefined;
  readonly wasReady: boolean;
  readonly pressure: ReadonlySet<string>;
}

const LEASE_NAMESPACE = 'kube-node-lease';
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 7000;
/**
 * The first delay between checks of a node that is not ready, in milliseconds, doubled each time:
 * pods wait for the node.
 */
const FIRST_CHECK_MS = 100;

export class NodeReporter {
  readonly #config: NodeReporterConfig;
  #node: Node | undefined;
  /** The Node as informers of this process have it: it shares its parts with other Nodes. */
  #seen: Node | undefined;
  /** The monotonic time of the last written status. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** The monotonic time of the next renewal of the Lease; undefined while one is made. */
  #leaseDue: number | undefined;
  #wasReady: boolean | undefined;
  /** The pressure that was last reported. */
  #pressure: ReadonlySet<string> | undefined;
  /** When the Lease, which exists, is due for the first time here. Undefined: now. */
  #firstLeaseDue: number | undefined;
  #nudge: (() => void) | undefined;
  /** The Node in the configuration, until it has been used. */
  #known: Node | undefined;
  /** The renewals, if they have begun before the registration. */
  #renewing: Promise<void> | undefined;
  /** `nudge` was called while a report was in flight. */
  #isNudged = false;
  readonly #grid: HeartbeatGrid;
  /** Ends that the keeper reports the status. */
  #endKeeping: (() => void) | undefined;
  /** The facts and the Node of the last check that had nothing to report. */
  #unchanged: { readonly facts: NodeFacts; readonly node: Node | undefined } | undefined;

  constructor(config: NodeReporterConfig) {
    this.#config = config;
    this.#known = config.known;
    this.#node = config.known;
    const { clock, checkMs, nodeName, heartbeatTickMs, known, keeper } = config;
    this.#grid = new HeartbeatGrid(clock, checkMs, nodeName, heartbeatTickMs);
    if (known !== undefined && keeper?.makesFirst === true && isReady(known))
      this.#firstLeaseDue = this.#grid.after(clock.monotonic(), 'lease');
  }

  /**
   * Creates the Node, or adopts the existing one. Retries until it succeeds or the signal aborts.
   */
  async register(signal: AbortSignal): Promise<void> {
    const { takesOver = false, successorOf } = this.#config;
    if (successorOf !== undefined) {
      this.#succeed(successorOf);
      return;
    }
    if (takesOver && (await this.#takeOver(signal))) return;
    this.#event('Normal', 'Starting', 'Starting kubelet.');
    const isReported = this.#continueKnown();
    await this.#retry('node not registered', signal, async () => {
      const facts = await this.#config.facts();
      const status = makeNodeStatus(facts, undefined, this.#config.clock.now());
      const node = await this.#createOrTakeOver(status, signal);
      this.#node = node;
      await this.#report(signal, !isReported);
    });
  }

  /** Maintains the Node until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    // The other kubelet has reported the facts that the start has found.
    if (this.#config.takesOver === true && this.#wasReady === true) this.#isNudged = false;
    await Promise.all([this.#renewing ?? this.#renewLease(signal), this.#reportStatus(signal)]);
  }

  /**
   * Returns what a reporter that takes the place of this one needs to know, once this one has
   * stopped. Undefined: it has to read it from the API.
   */
  handOver(): ReporterState | undefined {
    // Otherwise the Node is not registered, or a keeper has not given the reports back.
    if (this.#node === undefined || this.#wasReady === undefined || this.#reportedAt === Infinity)
      return undefined;
    return {
      node: this.#node,
      reportedAt: this.#reportedAt,
      leaseDue: this.#leaseDue,
      wasReady: this.#wasReady,
      pressure: this.#pressure ?? new Set(),
    };
  }

  /** Renews the Lease of a Node that exists already, from before its registration on. */
  renewLease(signal: AbortSignal): void {
    this.#renewing = this.#renewLease(signal);
  }

  /**
   * Reports extended resources as allocatable that another client has added to the Node's capacity,
   * and no longer those that one has removed.
   */
  nodeSeen(node: Node): void {
    this.#seen = node;
    if (this.#node !== undefined) this.#node = this.#shared(this.#node);
    const reported = this.#node?.status.capacity;
    if (reported === undefined || sameExtendedResources(reported, node.status.capacity)) return;
    this.#node = node;
    this.nudge();
  }

  /** Returns the object that informers have of this state, if they have it. */
  #shared(node: Node): Node {
    const seen = this.#seen;
    return seen?.metadata.resourceVersion === node.metadata.resourceVersion ? seen : node;
  }

  /** Checks the status now, because something about the node has changed. */
  nudge(): void {
    this.#isNudged = true;
    this.#nudge?.();
  }

  #succeed({ node, reportedAt, leaseDue, wasReady, pressure }: ReporterState): void {
    this.#node = node;
    this.#reportedAt = reportedAt;
    this.#wasReady = wasReady;
    this.#pressure = pressure;
    this.#firstLeaseDue = leaseDue;
  }

  /**
   * Goes on with the known Node, if it is Ready. A status that is the same is reported within the
   * next period, at a random time: thousands of nodes that start together would report theirs at
   * once. Returns false if there is no such Node.
   */
  #continueKnown(): boolean {
    const { clock, random, reportMs } = this.#config;
    const known = this.#known;
    if (known === undefined || !isReady(known)) return false;
    this.#continueConditions(known);
    this.#reportedAt = clock.monotonic() - reportMs * random.float();
    return true;
  }

  #continueConditions(node: Node): void {
    this.#wasReady = isReady(node);
    const conditions = node.status.conditions ?? [];
    this.#pressure = new Set(
      conditions.filter(({ status }) => status === 'True').map(({ type }) => type),
    );
  }

  /**
   * Goes on where another kubelet of this node has left off, which the Node and the Lease tell.
   * False: there is no such Node.
   */
  async #takeOver(signal: AbortSignal): Promise<boolean> {
    const { client, clock, nodeName, checkMs } = this.#config;
    try {
      this.#node = await client.resource(nodes).get(nodeName, { signal });
      const lease = await client
        .resource(leases)
        .namespace(LEASE_NAMESPACE)
        .get(nodeName, { signal });
      const renewed = parseTime(lease.spec?.renewTime) ?? 0;
      // The grid is that of the other kubelet.
      if (renewed + checkMs > clock.now())
        this.#firstLeaseDue = this.#grid.after(clock.monotonic(), 'lease');
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      if (this.#node === undefined) return false;
    }
    const ready = this.#node.status.conditions?.find(({ type }) => type === 'Ready');
    const reportedMs = parseTime(ready?.lastHeartbeatTime) ?? 0;
    this.#reportedAt = clock.monotonic() - (clock.now() - reportedMs);
    if (ready !== undefined) this.#continueConditions(this.#node);
    return true;
  }

  async #createOrTakeOver(status: NodeStatus, signal: AbortSignal): Promise<Node> {
    const { client, nodeName, labels, annotations, taints, podCIDRs, unschedulable } = this.#config;
    const resource = client.resource(nodes);
    const known = this.#known;
    this.#known = undefined;
    if (known !== undefined) return await this.#complete(known, signal);
    try {
      return await resource.create(
        {
          metadata: { name: nodeName, labels, annotations },
          spec: {
            ...(podCIDRs.length > 0 ? { podCIDR: podCIDRs[0], podCIDRs } : {}),
            ...(taints.length > 0 ? { taints } : {}),
            ...(unschedulable ? { unschedulable } : {}),
          },
          status,
        },
        { signal },
      );
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
    const present = await resource.get(nodeName, { signal });
    // As upstream: a node that is Ready as before has no event NodeReady.
    if (isReady(present)) this.#wasReady ??= true;
    return await this.#complete(present, signal);
  }

  /** Adds labels, annotations and pod ranges that an existing Node lacks. */
  async #complete(present: Node, signal: AbortSignal): Promise<Node> {
    const { client, nodeName, labels, annotations, podCIDRs } = this.#config;
    const missing = missingFrom(present.metadata.labels, labels);
    const unsaid = missingFrom(present.metadata.annotations, annotations);
    const patch = {
      metadata: {
        ...(missing.length > 0 && { labels: Object.fromEntries(missing) }),
        ...(unsaid.length > 0 && { annotations: Object.fromEntries(unsaid) }),
      },
      // Fields that a controller has set are kept.
      ...(present.spec.podCIDR === undefined && podCIDRs.length > 0
        ? { spec: { podCIDR: podCIDRs[0], podCIDRs } }
        : {}),
    };
    if (missing.length === 0 && unsaid.length === 0 && !('spec' in patch)) return present;
    return await client
      .resource(nodes)
      .patch(nodeName, 'application/strategic-merge-patch+json', patch, { signal });
  }

  async #reportStatus(signal: AbortSignal): Promise<void> {
    const { clock, checkMs, random } = this.#config;
    const onAbort = (): void => {
      this.#endKeeping?.();
      this.#nudge?.();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    let waitingMs = FIRST_CHECK_MS;
    while (!signal.aborted) {
      const delayMs =
        this.#wasReady === true
          ? this.#grid.after(clock.monotonic(), 'status') - clock.monotonic()
          : wait.jitter(random, Math.min(waitingMs, checkMs), 0.04);
      waitingMs *= 2;
      if (await this.#sleepOrNudge(delayMs, signal)) waitingMs = FIRST_CHECK_MS;
      if (signal.aborted) return;
      await this.#retry('node status not reported', signal, () => this.#report(signal, false), 5);
    }
  }

  async #report(signal: AbortSignal, always: boolean): Promise<void> {
    const { client, clock, nodeName, reportMs } = this.#config;
    const facts = await this.#config.facts();
    const node = this.#node;
    const before = node?.status;
    const due = clock.monotonic() - this.#reportedAt >= reportMs;
    // Equal facts make an equal status, and to compare them costs a fifth of making it.
    const last = this.#unchanged;
    if (!always && !due && last?.node === node && deepEqual(last?.facts, facts)) return;
    const status = makeNodeStatus(facts, before, clock.now());
    if (!always && !due && before !== undefined && sameNodeStatus(before, status)) {
      this.#unchanged = { facts, node };
      if (this.#config.keeper?.makesFirst === true) this.#keepStatus();
      return;
    }
    this.#unchanged = undefined;
    this.#endKeeping?.();
    const patch = { status: nodeStatusPatch(status, before) };
    try {
      this.#node = this.#shared(
        await client
          .resource(nodes)
          .patch(nodeName, 'application/strategic-merge-patch+json', patch, {
            subresource: 'status',
            signal,
          }),
      );
    } catch (error) {
      // The Node was deleted while its kubelet runs: it is registered again.
      if (!apierrors.isNotFound(error) || always) throw error;
      this.#config.logger.warn('node is gone, registering again', { node: nodeName });
      this.#node = await this.#createOrTakeOver(status, signal);
    }
    this.#reportedAt = clock.monotonic();
    this.#tellPressure(facts.pressure ?? []);
    this.#tellReadiness(facts.problems.length === 0);
    if (!signal.aborted) this.#keepStatus();
  }

  /** Lets the keeper report the status as long as it stays the same, if it can. */
  #keepStatus(): void {
    const { keeper, clock, nodeName, reportMs, topic } = this.#config;
    if (this.#wasReady !== true || this.#endKeeping !== undefined) return;
    // Otherwise reports are not at regular times.
    if (reportMs % this.#config.checkMs !== 0) return;
    const nextDue = this.#grid.statusFrom(this.#reportedAt + reportMs);
    const version = this.#node?.metadata.resourceVersion;
    const heartbeat: Heartbeat = {
      kind: 'status',
      nodeName,
      nextDue,
      periodMs: reportMs,
      ...(version !== undefined && { version }),
    };
    this.#endKeeping = keeper?.takeOver(heartbeat, (next) => {
      this.#endKeeping = undefined;
      this.#reportedAt = next - reportMs;
      stir(clock, topic);
    });
    if (this.#endKeeping !== undefined) this.#reportedAt = Number.POSITIVE_INFINITY;
  }

  /** Records an event for each condition that has changed, and for all of them at the start. */
  #tellPressure(pressure: readonly string[]): void {
    const before = this.#pressure;
    this.#pressure = new Set(pressure);
    for (const { type, events: reasons } of PRESSURE_CONDITIONS) {
      const isUnder = this.#pressure.has(type);
      if (before?.has(type) !== isUnder) this.#tellStatus(reasons[isUnder ? 0 : 1]);
    }
  }

  #tellReadiness(ready: boolean): void {
    if (this.#wasReady === ready) return;
    this.#wasReady = ready;
    this.#tellStatus(ready ? 'NodeReady' : 'NodeNotReady');
  }

  #tellStatus(reason: EventReason): void {
    this.#event('Normal', reason, `Node ${this.#config.nodeName} status is now: ${reason}`);
  }

  #event(type: 'Normal' | 'Warning', reason: EventReason, message: string): void {
    const { nodeName, events } = this.#config;
    // As upstream, the Node's name is used as the UID, which is unknown before the node is
    // registered.
    events.event(
      { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName },
      type,
      reason,
      message,
    );
  }

  async #renewLease(signal: AbortSignal): Promise<void> {
    const { clock, checkMs, keeper } = this.#config;
    const firstDue = this.#firstLeaseDue;
    let due = firstDue ?? clock.monotonic();
    if (firstDue !== undefined && keeper?.makesFirst === true && !signal.aborted)
      due = await this.#leaveLease(firstDue, checkMs, signal);
    for (;;) {
      this.#leaseDue = due;
      if (due > clock.monotonic())
        await clock.sleep(due - clock.monotonic(), signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#leaseDue = undefined;
      await this.#retry('node lease not renewed', signal, () => this.#renewOnce(signal));
      if (signal.aborted) return;
      const next = this.#grid.after(clock.monotonic(), 'lease');
      due = await this.#leaveLease(next, checkMs, signal);
    }
  }

  /**
   * Leaves renewals to the keeper, if it can make them. Resolves with the time of the next renewal
   * that it does not make.
   */
  #leaveLease(nextDue: number, periodMs: number, signal: AbortSignal): Promise<number> {
    const { keeper, nodeName, leaseDurationSeconds } = this.#config;
    const lease: Heartbeat = { kind: 'lease', nodeName, nextDue, periodMs, leaseDurationSeconds };
    return new Promise((resolve) => {
      const end = keeper?.takeOver(lease, (next) => {
        if (end !== undefined) signal.removeEventListener('abort', end);
        resolve(next);
      });
      if (end === undefined) resolve(nextDue);
      else signal.addEventListener('abort', end, { once: true });
    });
  }

  /** Renews the Lease with one write. Reads it only if another client wrote it. */
  async #renewOnce(signal: AbortSignal): Promise<void> {
    const { client, clock, nodeName, leaseDurationSeconds } = this.#config;
    const resource = client.resource(leases).namespace(LEASE_NAMESPACE);
    const spec = {
      holderIdentity: nodeName,
      leaseDurationSeconds,
      renewTime: formatMicroTime(clock.now()),
    };
    try {
      await resource.patch(nodeName, 'application/merge-patch+json', { spec }, { signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      const uid = this.#node?.metadata.uid;
      await resource.create(
        {
          metadata: {
            name: nodeName,
            namespace: LEASE_NAMESPACE,
            ...(uid !== undefined
              ? { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid }] }
              : {}),
          },
          spec,
        },
        { signal },
      );
    }
  }

  /** Retries until the call succeeds, the signal aborts, or `attempts` are used up. */
  async #retry(
    failure: string,
    signal: AbortSignal,
    action: () => Promise<void>,
    attempts = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const { clock, logger, nodeName } = this.#config;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await action();
        return;
      } catch (error) {
        if (signal.aborted) return;
        // While a cluster starts, the first attempts are expected to fail.
        const log = attempt < 5 ? logger.debug.bind(logger) : logger.warn.bind(logger);
        log(failure, { node: nodeName, attempt, err: error });
        if (attempt >= attempts) return;
      }
      try {
        await clock.sleep(Math.min(MIN_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS), signal);
      } catch {
        return;
      }
    }
  }

  /** Resolves with true if it was nudged. */
  async #sleepOrNudge(delayMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, checkMs, topic } = this.#config;
    let nudged = this.#isNudged;
    // While the keeper reports, a check has nothing to do unless something of the node changes.
    const isKept =
      clock.polls !== undefined && this.#endKeeping !== undefined && delayMs === checkMs;
    if (!nudged && !isKept) {
      nudged = await this.#sleepUntilNudged(delayMs);
    } else if (!nudged) {
      const awake = new AbortController();
      this.#nudge = () => {
        nudged = true;
        awake.abort();
      };
      await pause(clock, checkMs, clock.monotonic(), { topic, signal: awake.signal }).catch(
        () => undefined,
      );
    }
    this.#nudge = undefined;
    this.#isNudged = false;
    return nudged && !signal.aborted;
  }

  /**
   * Resolves with true if it was nudged. A timer costs less than a signal for each check. A check
   * that has nothing to report is made in the timer: it costs no promise and no new timer, of which
   * thousands of nodes would have as many in memory.
   */
  #sleepUntilNudged(delayMs: number): Promise<boolean> {
    const { clock, checkMs } = this.#config;
    return new Promise((resolve) => {
      let timer = clock.setTimer(delayMs, () => {
        if (!this.#hasNothingToReport()) {
          resolve(false);
          return;
        }
        timer = clock.setInterval(checkMs, () => {
          if (this.#hasNothingToReport()) return;
          timer.cancel();
          resolve(false);
        });
      });
      this.#nudge = () => {
        timer.cancel();
        resolve(true);
      };
    });
  }

  /** Reports whether a report of the status would find nothing to do. False if it is not known. */
  #hasNothingToReport(): boolean {
    const { clock, reportMs, isUnchanged } = this.#config;
    const last = this.#unchanged;
    return (
      this.#wasReady === true &&
      last !== undefined &&
      last.node === this.#node &&
      clock.monotonic() - this.#reportedAt < reportMs &&
      isUnchanged?.() === true
    );
  }
}

function isReady({ status: { conditions = [] } }: Node): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

function missingFrom(
  present: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): [string, string][] {
  return Object.entries(wanted).filter(([key, value]) => present?.[key] !== value);
}
