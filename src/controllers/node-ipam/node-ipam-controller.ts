// Allocates a range of pod addresses to every node.

import { type Node, nodes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { CidrSet } from './cidr.ts';

type ReadNode = Immutable<Node>;

export interface NodeIpamConfig extends ControllerConfig {
  /** The cluster's pod ranges: one, or one IPv4 and one IPv6 range. */
  readonly clusterCidrs: readonly string[];
  /** Service ranges, which are excluded from the pod ranges. Default: none. */
  readonly serviceCidrs?: readonly string[];
  /** The prefix length of a node's range. Default: 24. */
  readonly nodeMaskSizeIPv4?: number;
  /** The same for IPv6. Default: 64. */
  readonly nodeMaskSizeIPv6?: number;
}

export class NodeIpamController implements Controller {
  readonly name = 'node-ipam-controller';
  readonly run: Controller['run'];
  readonly #config: NodeIpamConfig;
  readonly #sets: readonly CidrSet[];
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #queue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #allocations: Family<Counter>;
  readonly #releases: Family<Counter>;
  readonly #tries: Family<Histogram>;
  /** By UID: allocated ranges that the cache does not show yet. */
  readonly #reserved = new Map<string, readonly string[]>();
  /** UIDs in #reserved for which the outcome of the write is unknown. */
  readonly #uncertain = new Set<string>();

  /** Throws RangeError if the ranges cannot be used. */
  constructor(config: NodeIpamConfig) {
    const { nodeMaskSizeIPv4 = 24, nodeMaskSizeIPv6 = 64 } = config;
    this.#config = config;
    this.#sets = config.clusterCidrs.map(
      (cidr) => new CidrSet(cidr, cidr.includes(':') ? nodeMaskSizeIPv6 : nodeMaskSizeIPv4),
    );
    for (const cidr of config.serviceCidrs ?? []) for (const set of this.#sets) set.occupy(cidr);
    const instruments = config.instruments ?? new Instruments();
    const description = (name: string, help: string) => ({
      name: `node_ipam_controller_${name}`,
      help,
      labels: ['clusterCIDR'],
    });
    this.#allocations = instruments.counter(
      description('cidrset_cidrs_allocations_total', 'Ranges given to nodes.'),
    );
    this.#releases = instruments.counter(
      description('cidrset_cidrs_releases_total', 'Ranges given back.'),
    );
    this.#tries = instruments.histogram(
      description(
        'cidrset_allocation_tries_per_request',
        'Ranges that were taken already, before one was found that was free.',
      ),
      exponentialBuckets(1, 5, 5),
    );
    const gauge = (name: string, help: string, value: (set: CidrSet) => number): void =>
      instruments.gauge(description(name, help), () =>
        this.#sets.map((set, index) => [[config.clusterCidrs[index] ?? ''], value(set)]),
      );
    // The spelling of the name is upstream's.
    gauge('cirdset_max_cidrs', 'How many ranges there are.', ({ size }) => size);
    gauge(
      'cidrset_usage_cidrs',
      'Which share of the ranges is taken.',
      ({ size, free }) => (size - free) / size,
    );
    // The workers start after the sync: all occupied ranges are recorded before the first
    // allocation.
    const builder = new ControllerBuilder(config, {
      queue: 'cidr_allocator_node',
      workers: 5,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#queue = builder.queue;
    this.#recorder = builder.recorder('cidrAllocator');
    this.#nodes = builder.for(nodes, {
      predicate: { ...only((node) => rangesOf(node).length === 0), delete: false },
      onSeen: (node) => this.#seen(node),
      onGone: (node) => this.#gone(node),
    });
    this.run = builder.complete();
  }

  #seen(node: ReadNode): void {
    const cidrs = rangesOf(node);
    if (cidrs.length === 0) return;
    this.#forget(node.metadata.uid, cidrs);
    for (const cidr of cidrs) {
      if (!this.#occupy(cidr)) {
        this.#config.logger.warn('a node has a range that is not of this cluster', {
          node: node.metadata.name,
          cidr,
        });
      }
    }
  }

  #gone(node: ReadNode): void {
    const cidrs = [...rangesOf(node), ...(this.#reserved.get(node.metadata.uid) ?? [])];
    this.#reserved.delete(node.metadata.uid);
    this.#uncertain.delete(node.metadata.uid);
    this.#release(cidrs);
    // Other nodes may wait for a range.
    for (const other of this.#nodes.lister.list())
      if (rangesOf(other).length === 0) this.#queue.add(other.metadata.name);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const node = this.#nodes.lister.getByKey(name);
    if (node === undefined || rangesOf(node).length > 0) return reconciled;
    const { uid } = node.metadata;
    if (this.#reserved.has(uid) && !this.#uncertain.has(uid)) return reconciled;
    const cidrs = this.#reserved.get(uid) ?? this.#allocate();
    if (cidrs === undefined) {
      this.#recorder.event(
        { kind: 'Node', name, uid },
        'Normal',
        'CIDRNotAvailable',
        `Node ${name} status is now: CIDRNotAvailable`,
      );
      throw new Error(`no range of addresses is left for node ${name}`);
    }
    this.#reserved.set(uid, cidrs);
    const patch = { metadata: { uid }, spec: { podCIDR: cidrs[0], podCIDRs: cidrs } };
    try {
      await this.#config.client
        .resource(nodes)
        .patch(name, 'application/strategic-merge-patch+json', patch, { signal });
      this.#uncertain.delete(uid);
      return reconciled;
    } catch (error) {
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) {
        // The node is gone, was replaced, or got a range from another writer: reconcile again.
        this.#uncertain.delete(uid);
        this.#reserved.delete(uid);
        this.#release(cidrs);
        return requeue;
      }
      // The write may have taken effect: the ranges stay reserved, and the write is retried.
      this.#uncertain.add(uid);
      throw error;
    }
  }

  /** Allocates one range of each set; undefined if a set is exhausted. */
  #allocate(): readonly string[] | undefined {
    const cidrs: string[] = [];
    for (const [index, set] of this.#sets.entries()) {
      const found = set.allocate();
      if (found === undefined) {
        this.#release(cidrs);
        return undefined;
      }
      const range = this.#config.clusterCidrs[index] ?? '';
      cidrs.push(found.cidr);
      this.#allocations.with(range).value++;
      this.#tries.with(range).observe(found.passed);
    }
    return cidrs;
  }

  /** The node has ranges: releases other ranges that were reserved for it. */
  #forget(uid: string, has: readonly string[]): void {
    const given = this.#reserved.get(uid) ?? [];
    this.#reserved.delete(uid);
    this.#uncertain.delete(uid);
    this.#release(given.filter((cidr) => !has.includes(cidr)));
  }

  #occupy(cidr: string): boolean {
    try {
      return this.#sets.some((set) => set.occupy(cidr));
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  #release(cidrs: readonly string[]): void {
    for (const cidr of cidrs) {
      for (const [index, set] of this.#sets.entries()) {
        const before = set.free;
        set.release(cidr);
        if (set.free > before)
          this.#releases.with(this.#config.clusterCidrs[index] ?? '').value += set.free - before;
      }
    }
  }
}

function rangesOf({ spec }: ReadNode): readonly string[] {
  return spec.podCIDRs ?? (spec.podCIDR ? [spec.podCIDR] : []);
}
