// Announces addresses of load balancers from this node: those for which this node is the first live
// candidate (decide.ts).
//
// An address is never taken from a machine that answers for it, unless it belongs to a node that is
// not ready. So a node that is wrongly considered dead keeps its addresses, and an address that
// another machine on the link has is reported instead of being taken over.

import { nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SERVICE_NAME_LABEL } from '#client/endpoints/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import { SharedInformerFactory, splitKey } from '#client/informers/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { IpPool } from '#machinery/net/ip-pool.ts';
import type { Random } from '#machinery/random.ts';
import { type Announcement, type ClusterState, decideAnnouncements, isReady } from './decide.ts';
import { NodeLeases } from './node-leases.ts';
import type { AnnouncedAddresses } from './system.ts';

export interface AnnouncerConfig {
  readonly client: Client;
  readonly nodeName: string;
  readonly pool: IpPool;
  readonly system: AnnouncedAddresses;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * The period of reading leases, of retrying addresses in use, and of comparing the machine with its
 * desired state.
 */
const TICK_MS = 3000;
/** The previous node withdraws the address at about the same time, so the first retry is quick. */
const RETRY_MS = 300;
/** Events within this time are handled together. */
const COLLECT_MS = 20;
/**
 * An address that is in use for this long is reported; if its node is not ready, it is taken over.
 */
const PATIENCE_MS = 6000;
const BY_SERVICE = 'service';

export class Announcer {
  readonly #config: AnnouncerConfig;
  readonly #leases: NodeLeases;
  /** Addresses for which other machines answer → since when, and whether this was reported. */
  readonly #conflicts = new Map<string, { readonly since: number; reported: boolean }>();
  #protected = '';
  /** The machine may have addresses: of this process, or initially of an earlier one. */
  #mayHold = true;
  #wake: (() => void) | undefined;
  #dirty = true;

  constructor(config: AnnouncerConfig) {
    this.#config = config;
    this.#leases = new NodeLeases(config);
  }

  /**
   * Runs until the signal aborts. Then addresses that another node can take over are withdrawn; the
   * others stay.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, logger, nodeName, pool, system } = this.#config;
    const informers = new SharedInformerFactory({ client, clock, random, logger });
    const serviceInformer = informers.informerFor(services);
    const sliceInformer = informers.informerFor(endpointSlices);
    const nodeInformer = informers.informerFor(nodes);
    sliceInformer.addIndexers({
      [BY_SERVICE]: ({ metadata }) => [
        `${metadata.namespace ?? ''}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`,
      ],
    });
    const changed = (): void => {
      this.#dirty = true;
      this.#wake?.();
    };
    const handler = { onAdd: changed, onUpdate: changed, onDelete: changed };
    for (const informer of [serviceInformer, sliceInformer]) informer.addEventHandler(handler);
    nodeInformer.addEventHandler({
      ...handler,
      // Nodes are updated every few seconds; only readiness and labels matter.
      onUpdate: (before, node) => {
        if (isReady(before) !== isReady(node) || before.metadata.labels !== node.metadata.labels)
          changed();
      },
    });
    const recorder = new EventRecorder({
      client,
      clock,
      random,
      logger,
      component: 'kube-proxy',
      host: nodeName,
    });
    const state = (): ClusterState => ({
      services: serviceInformer.lister.list(),
      slicesOf: (key) => sliceInformer.lister.byIndex(BY_SERVICE, key),
      nodes: nodeInformer.lister.list(),
      pool,
    });
    const tick = clock.setInterval(TICK_MS, changed);
    let retry: Timer | undefined;
    const stopped = (): void => this.#wake?.();
    signal.addEventListener('abort', stopped);
    informers.start(signal);
    try {
      await informers.waitForCacheSync(signal);
      while (!signal.aborted) {
        if (!this.#dirty) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
          this.#wake = undefined;
          await clock.sleep(COLLECT_MS, signal).catch(() => undefined);
          continue;
        }
        this.#dirty = false;
        try {
          await this.#reconcile(state(), recorder, signal);
          const isYoung = [...this.#conflicts.values()].some(
            ({ since }) => clock.monotonic() - since < PATIENCE_MS,
          );
          if (isYoung) retry = clock.setTimer(RETRY_MS, changed);
        } catch (error) {
          // The next tick tries again.
          if (!signal.aborted)
            logger.error('announcer: addresses not updated, retrying', { err: error });
        }
      }
      await this.#giveUp(decideAnnouncements(state()), system);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      tick.cancel();
      retry?.cancel();
      signal.removeEventListener('abort', stopped);
      recorder.stop();
      if (signal.aborted) await informers.stopped();
    }
  }

  async #reconcile(
    state: ClusterState,
    recorder: EventRecorder,
    signal: AbortSignal,
  ): Promise<void> {
    const { nodeName, system, clock, logger } = this.#config;
    const announcements = decideAnnouncements(state);
    const isCandidate = [...announcements.values()].filter(({ candidates }) =>
      candidates.includes(nodeName),
    );
    // Only candidates before this node matter.
    const before = isCandidate.flatMap(({ candidates }) =>
      candidates.slice(0, candidates.indexOf(nodeName)),
    );
    await this.#leases.read(new Set(before), signal);
    const mine = isCandidate.filter(
      ({ candidates }) => candidates.find((name) => !this.#leases.isLost(name)) === nodeName,
    );
    const wanted = new Map(mine.map((announcement) => [announcement.address, announcement]));
    const held = await this.#held(wanted.size > 0);
    for (const address of held) {
      if (wanted.has(address)) continue;
      await system.remove(address);
      logger.info('announcer: address withdrawn', { address });
    }
    for (const address of this.#conflicts.keys())
      if (!wanted.has(address)) this.#conflicts.delete(address);
    await this.#protect([...wanted.values()]);
    const someNodeIsMissing = state.nodes.some((node) => !isReady(node));
    for (const announcement of wanted.values()) {
      const { address, service } = announcement;
      if (held.has(address)) continue;
      const conflict = this.#conflicts.get(address);
      const isOld = conflict !== undefined && clock.monotonic() - conflict.since >= PATIENCE_MS;
      const outcome = await system.add(address, { force: isOld && someNodeIsMissing });
      if (outcome === 'added') {
        this.#conflicts.delete(address);
        logger.info('announcer: address announced', { address, service });
        continue;
      }
      if (conflict === undefined)
        this.#conflicts.set(address, { since: clock.monotonic(), reported: false });
      const isReported = conflict?.reported ?? false;
      if (
        isReported ||
        (outcome === 'in use' && (!isOld || someNodeIsMissing || this.#leases.anyLost))
      )
        continue;
      this.#report(announcement, outcome, recorder);
      this.#conflicts.set(address, { since: conflict?.since ?? clock.monotonic(), reported: true });
    }
  }

  #report(
    { address, service }: Announcement,
    outcome: 'in use' | 'no link',
    recorder: EventRecorder,
  ): void {
    const { nodeName, logger } = this.#config;
    const why =
      outcome === 'in use'
        ? `another machine on the link of node ${nodeName} has it`
        : `no interface of node ${nodeName} leads to it`;
    logger.warn('announcer: address not announced', { address, service, reason: why });
    const { namespace, name } = splitKey(service);
    const subject = { apiVersion: 'v1', kind: 'Service', namespace, name };
    recorder.event(
      subject,
      'Warning',
      'AddressNotAnnounced',
      `address ${address} is not announced: ${why}`,
    );
  }

  /**
   * Returns the machine's announced addresses. It is read only if it may have some: each read
   * starts a program.
   */
  async #held(isWanted: boolean): Promise<ReadonlySet<string>> {
    if (!isWanted && !this.#mayHold) return new Set();
    const held = await this.#config.system.held();
    this.#mayHold = isWanted;
    return held;
  }

  async #protect(announcements: readonly Announcement[]): Promise<void> {
    const text = JSON.stringify(announcements.map(({ address, ports }) => [address, ports]).sort());
    if (text === this.#protected || (announcements.length === 0 && this.#protected === '')) return;
    await this.#config.system.protect(announcements);
    this.#protected = announcements.length === 0 ? '' : text;
  }

  async #giveUp(
    announcements: ReadonlyMap<string, Announcement>,
    system: AnnouncedAddresses,
  ): Promise<void> {
    if (!this.#mayHold) return;
    for (const address of await system.held()) {
      const others = (announcements.get(address)?.candidates ?? []).filter(
        (name) => name !== this.#config.nodeName,
      );
      if (others.some((name) => !this.#leases.isLost(name))) await system.remove(address);
    }
  }
}
