// The pod network component of a node: watches the Nodes of the cluster and the links of the
// machine, updates the machine, and reports in the Node whether pods have a network.

import { type Node, nodes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformer } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as wait from '#machinery/wait.ts';
import type { NodeRecord, PodNetworkSettings } from './model.ts';
import { type CniTarget, NodeNetwork } from './node-network.ts';
import { type PodNetworkSystem, systemPodNetwork } from './system.ts';

export interface PodNetworkConfig {
  /** The node's client, which needs the right to list and watch Nodes (PERMISSIONS). */
  readonly client: Client;
  readonly nodeName: string;
  readonly settings: PodNetworkSettings;
  readonly cni: CniTarget;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Default: this machine. */
  readonly system?: PodNetworkSystem;
  /** Called when the kubelet should check its runtime and its addresses. */
  readonly onChange?: () => void;
}

type ReadNode = Immutable<Node>;

/** The period of comparing the machine with its desired state: with other nodes, and without. */
const RESYNC_MS = 60_000;
const LONELY_RESYNC_MS = 300_000;
/** Changes of links within this time are handled together. */
const SETTLE_MS = 100;
/** The minimum time between two passes, so that many new nodes cost few passes. */
const MIN_INTERVAL_MS = 50;
const RETRY = { durationMs: 250, factor: 2, capMs: 30_000 } as const;
const SYNC_WARNING_MS = 10_000;

/**
 * Runs until the signal aborts. Routes and rules stay for the next process, so that pods keep their
 * network.
 */
export async function runPodNetwork(config: PodNetworkConfig, signal: AbortSignal): Promise<void> {
  await new PodNetworkAgent(config).run(signal);
}

class PodNetworkAgent {
  readonly #config: PodNetworkConfig;
  readonly #logger: Logger;
  readonly #system: PodNetworkSystem;
  readonly #network: NodeNetwork;
  readonly #records = new Map<string, NodeRecord>();
  #self: ReadNode | undefined;
  #dirty = true;
  #wake: (() => void) | undefined;
  #watching: Promise<void> | undefined;

  constructor(config: PodNetworkConfig) {
    const { nodeName, settings, cni, onChange } = config;
    this.#config = config;
    this.#logger = config.logger.with({ component: 'pod-network' });
    this.#system = config.system ?? systemPodNetwork();
    this.#network = new NodeNetwork({
      nodeName,
      settings,
      cni,
      system: this.#system,
      logger: this.#logger,
      ...(onChange !== undefined && { onConfigured: onChange, onAddressesChanged: onChange }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, nodeName } = this.#config;
    const informer = new SharedInformer<ReadNode>({
      name: 'nodes',
      source: client.resource(nodes),
      transform: relevant,
      clock,
      random,
      logger: this.#logger,
    });
    informer.addEventHandler({
      onAdd: (node) => this.#put(node),
      onUpdate: (_, node) => this.#put(node),
      onDelete: ({ metadata: { name } }) => {
        this.#records.delete(name);
        if (name === nodeName) this.#self = undefined;
        this.#changed();
      },
    });
    const running = informer.run(signal);
    const warning = clock.setTimer(SYNC_WARNING_MS, () =>
      this.#logger.warn(
        'the nodes of the cluster cannot be read yet; an administrator may have to grant it',
        {
          node: nodeName,
          hint: 'cox kubelet --print-permissions | kubectl apply -f -',
        },
      ),
    );
    const stopped = (): void => this.#wake?.();
    signal.addEventListener('abort', stopped);
    try {
      await informer.waitForSync(signal);
      warning.cancel();
      await this.#loop(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      warning.cancel();
      signal.removeEventListener('abort', stopped);
      if (signal.aborted) await Promise.all([running, this.#watching]);
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, nodeName } = this.#config;
    const backoff = new wait.Backoff(RETRY);
    while (!signal.aborted) {
      this.#dirty = false;
      const start = clock.monotonic();
      const { obstacle, failed, hasPeers } = await this.#network.sync(this.#records.values());
      if (hasPeers) this.#watching ??= this.#watch(signal);
      const isReported = await this.#report(obstacle, signal);
      this.#logger.debug('pod network: synced', {
        node: nodeName,
        nodes: this.#records.size,
        obstacle,
        seconds: (clock.monotonic() - start) / 1000,
      });
      if (!failed && isReported) backoff.reset();
      else this.#wakeAfter(backoff.next());
      await clock.sleep(MIN_INTERVAL_MS, signal).catch(() => undefined);
      if (signal.aborted || this.#dirty) continue;
      const resync = clock.setTimer(hasPeers ? RESYNC_MS : LONELY_RESYNC_MS, () => this.#resync());
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
      resync.cancel();
    }
  }

  #wakeAfter(delayMs: number): void {
    this.#config.clock.setTimer(delayMs, () => this.#changed());
  }

  #changed(): void {
    this.#dirty = true;
    this.#wake?.();
  }

  /** Compares the machine with its desired state. */
  #resync(): void {
    this.#network.markStale();
    this.#changed();
  }

  #put(node: ReadNode): void {
    const { name } = node.metadata;
    if (name === this.#config.nodeName) this.#self = node;
    const record = recordOf(node);
    if (JSON.stringify(this.#records.get(name)) === JSON.stringify(record)) return;
    this.#records.set(name, record);
    this.#changed();
  }

  /**
   * Watches changes of links. It also sees the agent's own changes: the machine is then read once
   * more, and found unchanged.
   */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    const backoff = new wait.Backoff(RETRY);
    let isPending = false;
    const onChange = (): void => {
      if (isPending) return;
      isPending = true;
      clock.setTimer(SETTLE_MS, () => {
        isPending = false;
        if (!signal.aborted) this.#resync();
      });
    };
    while (!signal.aborted) {
      try {
        await this.#system.watch(onChange, signal);
      } catch (error) {
        this.#logger.warn('pod network: links cannot be watched', { err: error });
      }
      await clock.sleep(backoff.next(), signal).catch(() => undefined);
    }
  }

  /** Writes the condition of the Node if it has changed. Returns false if the write failed. */
  async #report(obstacle: string | undefined, signal: AbortSignal): Promise<boolean> {
    const self = this.#self;
    if (self === undefined) return true;
    const wanted =
      obstacle === undefined
        ? {
            type: TYPE,
            status: 'False',
            reason: 'RouteCreated',
            message: 'RouteController created a route',
          }
        : {
            type: TYPE,
            status: 'True',
            reason: 'NoRouteCreated',
            message: `RouteController failed to create a route: ${obstacle.slice(0, 500)}`,
          };
    const present = self.status.conditions?.find(({ type }) => type === TYPE);
    if (
      present?.status === wanted.status &&
      present.reason === wanted.reason &&
      present.message === wanted.message
    )
      return true;
    const { client, clock, nodeName } = this.#config;
    const now = formatTime(clock.now());
    const lastTransitionTime = present?.status === wanted.status ? present.lastTransitionTime : now;
    const patch = {
      status: { conditions: [{ ...wanted, lastHeartbeatTime: now, lastTransitionTime }] },
    };
    try {
      const options = { subresource: 'status', signal };
      const written = await client
        .resource(nodes)
        .patch(nodeName, 'application/strategic-merge-patch+json', patch, options);
      if (this.#self === self) this.#self = relevant(written);
      return true;
    } catch (error) {
      if (!signal.aborted)
        this.#logger.warn('pod network: the condition of the node could not be written', {
          node: nodeName,
          err: error,
        });
      return false;
    }
  }
}

const TYPE = 'NetworkUnavailable';

/** Returns the parts of a Node that the agent uses. */
function relevant(node: ReadNode): ReadNode {
  const { name, uid, resourceVersion, creationTimestamp } = node.metadata;
  return {
    ...node,
    metadata: { name, uid, resourceVersion, creationTimestamp } as ReadNode['metadata'],
    spec: { podCIDR: node.spec.podCIDR, podCIDRs: node.spec.podCIDRs },
    status: {
      addresses: node.status.addresses,
      conditions: node.status.conditions?.filter(({ type }) => type === TYPE),
    },
  } as ReadNode;
}

function recordOf({ metadata, spec, status }: ReadNode): NodeRecord {
  return {
    name: metadata.name,
    created: metadata.creationTimestamp ?? '',
    podCidrs: (spec.podCIDRs ?? (spec.podCIDR === undefined ? [] : [spec.podCIDR])).slice(
      0,
      MAX_CLAIMS,
    ),
    addresses: (status.addresses ?? [])
      .filter(({ type }) => type === 'InternalIP')
      .slice(0, MAX_CLAIMS)
      .map(({ address }) => address),
  };
}

/** The maximum number of ranges or addresses per node; further ones are ignored. */
const MAX_CLAIMS = 16;
