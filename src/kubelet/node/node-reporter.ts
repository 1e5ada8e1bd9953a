// Maintains the Node and its Lease in the API: creates or adopts the Node object, renews the Lease
// every few seconds, and writes the status when it has changed, or every few minutes if it has not.

import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { EventReason, EventSink } from '../events.ts';
import { formatMicroTime } from '#machinery/text/time.ts';
import type { Node, NodeStatus } from '../types.ts';
import { makeNodeStatus, nodeStatusPatch, sameNodeStatus, type NodeFacts } from './node-status.ts';

export interface NodeReporterConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: EventSink;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly v1.Taint[];
  readonly podCIDRs: readonly string[];
  readonly unschedulable: boolean;
  /** Gathers the facts for the status; called at each check. Never rejects. */
  readonly facts: () => Promise<NodeFacts>;
  /** The time between two checks of the status and renewals of the Lease, in milliseconds. */
  readonly checkMs: number;
  /** The time after which an unchanged status is reported, in milliseconds. */
  readonly reportMs: number;
  readonly leaseDurationSeconds: number;
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
  /** The monotonic time of the last written status. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  #wasReady: boolean | undefined;
  #nudge: (() => void) | undefined;
  /** `nudge` was called while a report was in flight. */
  #isNudged = false;

  constructor(config: NodeReporterConfig) {
    this.#config = config;
  }

  /**
   * Creates the Node, or adopts the existing one. Retries until it succeeds or the signal aborts.
   */
  async register(signal: AbortSignal): Promise<void> {
    this.#event('Normal', 'Starting', 'Starting kubelet.');
    await this.#retry('node not registered', signal, async () => {
      const facts = await this.#config.facts();
      const status = makeNodeStatus(facts, undefined, this.#config.clock.now());
      const node = await this.#createOrTakeOver(status, signal);
      this.#node = node;
      await this.#report(signal, true);
    });
  }

  /** Maintains the Node until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#renewLease(signal), this.#reportStatus(signal)]);
  }

  /** Checks the status now, because something about the node has changed. */
  nudge(): void {
    this.#isNudged = true;
    this.#nudge?.();
  }

  async #createOrTakeOver(status: NodeStatus, signal: AbortSignal): Promise<Node> {
    const { client, nodeName, labels, annotations, taints, podCIDRs, unschedulable } = this.#config;
    const resource = client.resource(nodes);
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
    return await resource.patch(nodeName, 'application/strategic-merge-patch+json', patch, {
      signal,
    });
  }

  async #reportStatus(signal: AbortSignal): Promise<void> {
    const { clock, checkMs, random } = this.#config;
    let waitingMs = FIRST_CHECK_MS;
    while (!signal.aborted) {
      const delayMs = this.#wasReady === true ? checkMs : Math.min(waitingMs, checkMs);
      waitingMs *= 2;
      if (await this.#sleepOrNudge(clock, wait.jitter(random, delayMs, 0.04), signal))
        waitingMs = FIRST_CHECK_MS;
      if (signal.aborted) return;
      await this.#retry('node status not reported', signal, () => this.#report(signal, false), 5);
    }
  }

  async #report(signal: AbortSignal, always: boolean): Promise<void> {
    const { client, clock, nodeName, reportMs } = this.#config;
    const facts = await this.#config.facts();
    const before = this.#node?.status;
    const status = makeNodeStatus(facts, before, clock.now());
    const due = clock.monotonic() - this.#reportedAt >= reportMs;
    if (!always && !due && before !== undefined && sameNodeStatus(before, status)) return;
    const patch = { status: nodeStatusPatch(status, before) };
    try {
      this.#node = await client
        .resource(nodes)
        .patch(nodeName, 'application/strategic-merge-patch+json', patch, {
          subresource: 'status',
          signal,
        });
    } catch (error) {
      // The Node was deleted while its kubelet runs: it is registered again.
      if (!apierrors.isNotFound(error) || always) throw error;
      this.#config.logger.warn('node is gone, registering again', { node: nodeName });
      this.#node = await this.#createOrTakeOver(status, signal);
    }
    this.#reportedAt = clock.monotonic();
    this.#tellReadiness(facts.problems.length === 0);
  }

  #tellReadiness(ready: boolean): void {
    if (this.#wasReady === ready) return;
    if (this.#wasReady === undefined) {
      for (const reason of [
        'NodeHasSufficientMemory',
        'NodeHasNoDiskPressure',
        'NodeHasSufficientPID',
      ] as const)
        this.#tellStatus(reason);
    }
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
    const { clock, checkMs } = this.#config;
    while (!signal.aborted) {
      await this.#retry('node lease not renewed', signal, () => this.#renewOnce(signal));
      try {
        await clock.sleep(checkMs, signal);
      } catch {
        return;
      }
    }
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

  /** Sleeps. Resolves with true if `nudge` was called. */
  #sleepOrNudge(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (isNudged: boolean): void => {
        timer.cancel();
        signal.removeEventListener('abort', stop);
        this.#nudge = undefined;
        this.#isNudged = false;
        resolve(isNudged);
      };
      const stop = (): void => finish(false);
      const timer = clock.setTimer(delayMs, stop);
      this.#nudge = () => finish(true);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      else if (this.#isNudged) finish(true);
    });
  }
}

function missingFrom(
  present: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): [string, string][] {
  return Object.entries(wanted).filter(([key, value]) => present?.[key] !== value);
}
