// The proxy of a node: watches services, their EndpointSlices and the node, decides for changed
// services, and has a back end apply the result.
//
// Changes are collected by service while an update is applied; the next update contains all of
// them. After a failed update everything is decided and applied again, with a growing delay.
// Nothing is applied before the first lists are complete, so that a restart does not remove correct
// rules.

import { type Node, nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { EventRecorder } from '#client/events/index.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { contains, formatIp, isGlobalUnicast, parseCidr, parseIp } from '#machinery/net/ip.ts';
import type { Random } from '#machinery/random.ts';
import { nextTurn } from '#machinery/turn.ts';
import { Claims } from './claims.ts';
import { decideService, serviceKey, serviceOf } from './decide.ts';
import type { ProxyHealth } from './health/proxy-health.ts';
import { ServiceHealth } from './health/service-health.ts';
import type { ProxyMetrics } from './metrics.ts';
import type { Backend, NodeFacts, Service, ServiceRules, Slice } from './model.ts';

export interface ProxierConfig {
  readonly client: Client;
  readonly nodeName: string;
  /**
   * Creates the back end; called once at the start. `network`: returns current properties of node
   * and services.
   */
  readonly makeBackend: (network: ProxierNetwork) => Backend;
  /** Returns the addresses of this machine's interfaces. Called whenever the node changes. */
  readonly machineAddresses: () => readonly string[];
  /** Ports of the node's components, such as 'tcp/6443'. */
  readonly reservedPorts: readonly string[];
  /** The node's addresses that serve node ports, for health checks. */
  readonly nodePortAddresses: NodePortAddresses;
  /** The minimum time between the starts of two updates, in milliseconds. Default: 0. */
  readonly minSyncPeriodMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: ProxyMetrics;
  readonly health: ProxyHealth;
}

/**
 * 'primary': the node's InternalIPs. 'all': every address except loopback. Otherwise: the machine's
 * addresses in these ranges.
 */
export type NodePortAddresses = 'primary' | 'all' | readonly string[];

/** Properties of the cluster that back ends read. */
export interface ProxierNetwork {
  /** Returns the InternalIPs of the Node object. */
  nodeIPs(): readonly string[];
  serviceCidrs(): readonly string[];
}

/** The maximum time until changes by other programs are repaired, as upstream. */
const FULL_SYNC_PERIOD_MS = 3_600_000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
const SELECTOR = '!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless';
const ZONE = 'topology.kubernetes.io/zone';
const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

export class Proxier {
  readonly #config: ProxierConfig;
  readonly #slices = new Map<string, Map<string, Slice>>();
  readonly #claims = new Claims();
  /** Ports without local endpoints, by service: 'internal IPv4' … */
  readonly #withoutLocal = new Map<string, readonly string[]>();
  /** Services of the last decisions. */
  readonly #known = new Set<string>();
  #dirty = new Set<string>();
  #triggers: number[] = [];
  /** All services must be decided and applied again. */
  #complete = true;
  #node: NodeFacts;
  #nodeIPs: readonly string[] = [];
  #wake: (() => void) | undefined;

  constructor(config: ProxierConfig) {
    this.#config = config;
    this.#node = this.#factsOf(undefined);
  }

  /** Runs until the signal aborts. Rules stay. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, logger, nodeName, health, makeBackend } = this.#config;
    const informers = new SharedInformerFactory({ client, clock, random, logger });
    const serviceInformer = informers.informerFor(services, { labelSelector: SELECTOR });
    const sliceInformer = informers.informerFor(endpointSlices, { labelSelector: SELECTOR });
    const nodeInformer = informers.informerFor(nodes, {
      fieldSelector: `metadata.name=${nodeName}`,
    });
    const cidrInformer = informers.informerFor(serviceCIDRs);
    const onService = (object: {
      readonly metadata: { readonly namespace?: string; readonly name: string };
    }): void =>
      this.#changed('service', serviceKey(object.metadata.namespace ?? '', object.metadata.name));
    serviceInformer.addEventHandler({
      onAdd: onService,
      onUpdate: (_, object) => onService(object),
      onDelete: onService,
    });
    sliceInformer.addEventHandler({
      onAdd: (slice) => this.#putSlice(slice),
      onUpdate: (previous, slice) => {
        if (serviceOf(previous) !== serviceOf(slice)) this.#removeSlice(previous);
        this.#putSlice(slice);
      },
      onDelete: (slice) => this.#removeSlice(slice),
    });
    const onNode = (node: Immutable<Node> | undefined): void => this.#setNode(node);
    nodeInformer.addEventHandler({
      onAdd: onNode,
      onUpdate: (_, node) => onNode(node),
      onDelete: () => onNode(undefined),
    });
    const onCidr = (): void => this.#changedAll();
    cidrInformer.addEventHandler({ onAdd: onCidr, onUpdate: onCidr, onDelete: onCidr });
    informers.start(signal);
    const recorder = new EventRecorder({
      client,
      clock,
      random,
      logger,
      component: 'kube-proxy',
      host: nodeName,
    });
    const serviceHealth = new ServiceHealth({
      addresses: () => this.#healthAddresses(),
      isHealthy: () => health.healthy,
      logger,
      onFailure: (service, port, message) => {
        const [namespace = '', name = ''] = service.split('/');
        const text = `node ${nodeName} failed to start healthcheck "${service}" on port ${port}: ${message}`;
        const subject = { apiVersion: 'v1', kind: 'Service', namespace, name };
        recorder.event(subject, 'Warning', 'FailedToStartServiceHealthcheck', text, {
          action: 'Listen',
        });
      },
    });
    const backend = makeBackend({
      nodeIPs: () => this.#nodeIPs,
      serviceCidrs: () => cidrInformer.lister.list().flatMap(({ spec }) => spec?.cidrs ?? []),
    });
    const fullSync = clock.setInterval(FULL_SYNC_PERIOD_MS, () => this.#changedAll());
    const stopped = (): void => this.#wake?.();
    signal.addEventListener('abort', stopped);
    try {
      await informers.waitForCacheSync(signal);
      await this.#syncUntil(signal, backend, serviceHealth, (key) =>
        serviceInformer.lister.getByKey(key),
      );
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', stopped);
      fullSync.cancel();
      await serviceHealth.close();
      recorder.stop();
      await backend.close();
      if (signal.aborted) await informers.stopped();
    }
  }

  async #syncUntil(
    signal: AbortSignal,
    backend: Backend,
    serviceHealth: ServiceHealth,
    serviceOfKey: (key: string) => Service | undefined,
  ): Promise<void> {
    const { clock, logger, metrics, health, minSyncPeriodMs = 0 } = this.#config;
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      if (!this.#complete && this.#dirty.size === 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
        // Events of one API transaction arrive in one turn or the next.
        await nextTurn();
        continue;
      }
      const start = clock.monotonic();
      const complete = this.#complete;
      const keys = this.#dirty;
      const triggers = this.#triggers;
      this.#complete = false;
      this.#dirty = new Set();
      this.#triggers = [];
      metrics.started();
      try {
        const update = this.#claims.resolve({
          complete,
          changes: await this.#decide(complete ? this.#allKeys(keys) : keys, serviceOfKey),
        });
        this.#note(update.changes, complete);
        await backend.sync(update);
        await serviceHealth.update(update);
        if (!this.#complete && this.#dirty.size === 0) health.updated();
        const seconds = (clock.monotonic() - start) / 1000;
        metrics.synced(complete ? 'full' : 'partial', seconds, this.#countWithoutLocal());
        for (const trigger of triggers) metrics.programmed(trigger);
        logger.debug('proxy: rules synced', {
          backend: backend.name,
          services: update.changes.size,
          complete,
          seconds,
        });
        retryMs = FIRST_RETRY_MS;
      } catch (error) {
        if (signal.aborted) return;
        this.#complete = true;
        metrics.failed();
        logger.error('proxy: sync failed, retrying', {
          backend: backend.name,
          delayMs: retryMs,
          err: error,
        });
        await clock.sleep(retryMs, signal).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
        continue;
      }
      const restMs = minSyncPeriodMs - (clock.monotonic() - start);
      if (restMs > 0) await clock.sleep(restMs, signal).catch(() => undefined);
    }
  }

  /** Returns the keys of all existing and earlier services. */
  #allKeys(dirty: ReadonlySet<string>): ReadonlySet<string> {
    return new Set([...this.#known, ...dirty]);
  }

  /** Decides in parts, so that thousands of services do not block the process. */
  async #decide(
    keys: Iterable<string>,
    serviceOfKey: (key: string) => Service | undefined,
  ): Promise<Map<string, ServiceRules | undefined>> {
    const { clock } = this.#config;
    const decided = new Map<string, ServiceRules | undefined>();
    let since = clock.monotonic();
    for (const key of keys) {
      const service = serviceOfKey(key);
      if (service === undefined) this.#known.delete(key);
      else this.#known.add(key);
      const slices = [...(this.#slices.get(key)?.values() ?? [])];
      decided.set(
        key,
        service === undefined ? undefined : decideService(service, slices, this.#node),
      );
      if (clock.monotonic() - since < TURN_MS) continue;
      await nextTurn();
      since = clock.monotonic();
    }
    return decided;
  }

  /**
   * Logs parts that were left out, once per state of a service, and counts ports without local
   * endpoints.
   */
  #note(changes: ReadonlyMap<string, ServiceRules | undefined>, complete: boolean): void {
    if (complete) this.#withoutLocal.clear();
    for (const [key, rules] of changes) {
      for (const problem of rules?.problems ?? [])
        this.#config.logger.warn('proxy: left out of the rules', { service: key, problem });
      const without = (rules?.ports ?? []).flatMap(({ internal, external, family }) => [
        ...(internal === 'drop' ? [`internal ${family}`] : []),
        ...(external === 'drop' ? [`external ${family}`] : []),
      ]);
      if (without.length > 0) this.#withoutLocal.set(key, without);
      else this.#withoutLocal.delete(key);
    }
  }

  #countWithoutLocal(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const label of [...this.#withoutLocal.values()].flat())
      counts.set(label, (counts.get(label) ?? 0) + 1);
    return counts;
  }

  #changed(kind: 'service' | 'endpoint', key: string): void {
    this.#config.metrics.changed(kind);
    this.#config.health.queued();
    this.#dirty.add(key);
    this.#wake?.();
  }

  #changedAll(): void {
    this.#config.health.queued();
    this.#complete = true;
    this.#wake?.();
  }

  #putSlice(slice: Slice): void {
    const key = serviceOf(slice);
    if (key === undefined) return;
    const slices = this.#slices.get(key) ?? new Map<string, Slice>();
    this.#slices.set(key, slices.set(slice.metadata.name, slice));
    const trigger = Date.parse(slice.metadata.annotations?.[TRIGGER_TIME] ?? '');
    if (!Number.isNaN(trigger) && this.#triggers.length < MAX_TRIGGERS)
      this.#triggers.push(trigger);
    this.#changed('endpoint', key);
  }

  #removeSlice(slice: Slice): void {
    const key = serviceOf(slice);
    const slices = key === undefined ? undefined : this.#slices.get(key);
    if (key === undefined || slices === undefined) return;
    slices.delete(slice.metadata.name);
    if (slices.size === 0) this.#slices.delete(key);
    this.#changed('endpoint', key);
  }

  #setNode(node: Immutable<Node> | undefined): void {
    this.#config.health.setNode(node);
    const facts = this.#factsOf(node);
    const nodeIPs = addressesOf(node);
    const isSame =
      facts.zone === this.#node.zone &&
      sameItems(facts.addresses, this.#node.addresses) &&
      sameItems(nodeIPs, this.#nodeIPs);
    this.#node = facts;
    this.#nodeIPs = nodeIPs;
    if (!isSame) this.#changedAll();
  }

  #factsOf(node: Immutable<Node> | undefined): NodeFacts {
    const { nodeName, machineAddresses, reservedPorts } = this.#config;
    const own = machineAddresses().flatMap((text) => canonical(text) ?? []);
    return {
      name: nodeName,
      zone: node?.metadata.labels?.[ZONE] ?? '',
      addresses: new Set([...own, ...addressesOf(node)]),
      reservedPorts: new Set(reservedPorts),
    };
  }

  #healthAddresses(): readonly string[] | undefined {
    const { nodePortAddresses, machineAddresses } = this.#config;
    return addressesForNodePorts(nodePortAddresses, this.#nodeIPs, machineAddresses());
  }
}

/** The time for decisions in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;
/** The maximum number of recorded times per update. */
const MAX_TRIGGERS = 1000;

/** Returns the addresses at which node ports work; undefined: all except loopback. */
export function addressesForNodePorts(
  choice: NodePortAddresses,
  nodeIPs: readonly string[],
  machineAddresses: readonly string[],
): readonly string[] | undefined {
  if (choice === 'all') return undefined;
  if (choice === 'primary') return nodeIPs;
  const ranges = choice.flatMap((text) => parseCidr(text) ?? []);
  // A family without a range uses all addresses, as upstream.
  const everything = (['IPv4', 'IPv6'] as const).filter(
    (family) => !ranges.some((range) => range.family === family),
  );
  if (everything.length === 2 || ranges.every(({ prefix }) => prefix === 0)) return undefined;
  return machineAddresses.filter((text) => {
    const address = parseIp(text);
    if (address === undefined || !isGlobalUnicast(text)) return false;
    return everything.includes(address.family) || ranges.some((range) => contains(range, address));
  });
}

function canonical(text: string): string | undefined {
  const address = parseIp(text);
  return address === undefined ? undefined : formatIp(address);
}

function addressesOf(node: Immutable<Node> | undefined): readonly string[] {
  const internal = (node?.status.addresses ?? []).filter(
    ({ type }) => type === 'InternalIP' || type === 'ExternalIP',
  );
  return internal.flatMap(({ address }) => canonical(address) ?? []);
}

function sameItems(a: Iterable<string>, b: Iterable<string>): boolean {
  return [...a].sort().join(' ') === [...b].sort().join(' ');
}
