// Composes the kubelet's CSI: the registry of drivers, their node information, the volumes, and the
// periodic work on them.

import { persistentVolumeClaims, secrets } from '#api/groups/core/v1/index.ts';
import { type CSIDriver, csiDrivers, volumeAttachments } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { SharedInformerFactory } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { EventSink } from './events.ts';
import type { TokenManager } from './tokens.ts';
import { podUid, type Node, type Pod } from './types.ts';
import type { ClaimSource, PersistentVolumeClaim } from './volumes/claims.ts';
import {
  CsiExpander,
  type CsiHost,
  CsiNodeInfo,
  csiNodeService,
  CsiVolumes,
  DriverRegistry,
  type GrowableVolume,
  NodeInfoUpdates,
} from './volumes/csi/index.ts';
import type { Mounter } from './volumes/mounter.ts';

export interface CsiConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly nodeName: string;
  readonly rootDir: string;
  readonly mounter: Mounter;
  /** False on simulated nodes, which only wait for volumes to be attached. */
  readonly hostFiles: boolean;
  readonly informers: SharedInformerFactory;
  readonly node: () => Node | undefined;
  readonly claims: ClaimSource;
  readonly tokens: TokenManager;
  readonly events: EventSink;
  /** The time between two looks for expanded volumes, in milliseconds. */
  readonly expansionCheckMs: number;
  /** The volumes in use have changed. */
  readonly onVolumesInUse: () => void;
}

const PUBLISH_RETRY_MS = 5_000;

export class Csi {
  readonly #config: CsiConfig;
  readonly drivers: DriverRegistry;
  readonly volumes: CsiVolumes;
  readonly #nodeInfo: CsiNodeInfo;
  readonly #expander: CsiExpander;
  /** Keys of background work in flight: no second one starts meanwhile. */
  readonly #running = new Set<string>();
  #checkedAt = Number.NEGATIVE_INFINITY;
  readonly #driverObjects: () => readonly Immutable<CSIDriver>[];
  readonly #updates = new NodeInfoUpdates();

  constructor(config: CsiConfig) {
    this.#config = config;
    const { client, clock, logger, signal, nodeName, claims, tokens } = config;
    const driverInformer = config.hostFiles ? config.informers.informerFor(csiDrivers) : undefined;
    this.#driverObjects = () => driverInformer?.lister.list() ?? [];
    this.#nodeInfo = new CsiNodeInfo({ client, clock, logger, nodeName, signal });
    this.drivers = new DriverRegistry({
      logger,
      connect: (endpoint) => csiNodeService(endpoint, clock, signal),
      nodeInfo: this.#nodeInfo,
    });
    const host: CsiHost = {
      rootDir: config.rootDir,
      nodeName,
      clock,
      logger,
      mounter: config.mounter,
      service: (driver) => this.drivers.get(driver),
      driverObject: (driver) => driverInformer?.lister.get('', driver),
      readDriverObject: (driver) => readDriver(client, driver, signal),
      attachment: (name) => client.resource(volumeAttachments).get(name, { signal }),
      nodeVolumes: () => {
        const { volumesInUse, volumesAttached } = config.node()?.status ?? {};
        return {
          inUse: volumesInUse ?? [],
          attached: (volumesAttached ?? []).map(({ name }) => name),
        };
      },
      onVolumesInUse: config.onVolumesInUse,
      secret: (namespace, name) =>
        client.resource(secrets).namespace(namespace).get(name, { signal }),
      token: (request) => tokens.getWithExpiration(request),
      onAttachLimit: (driver) => this.#refresh(driver),
      afterMount: (pod, volume, mounted) => this.#expander.expand(pod, volume, mounted),
    };
    this.volumes = new CsiVolumes(host);
    this.#expander = new CsiExpander({
      host,
      claims,
      logger,
      now: () => formatTime(clock.now()),
      patchStatus: (claim, status) => this.#patchStatus(claim, status),
      record: (pod, claim, type, reason, message) => {
        config.events.event(reference('Pod', pod.metadata), type, reason, message);
        config.events.event(
          reference('PersistentVolumeClaim', claim.metadata),
          type,
          reason,
          message,
        );
      },
    });
  }

  /** Creates the CSINode; retries until it succeeds or the signal aborts. */
  async publishNode(): Promise<void> {
    const { clock, logger, signal } = this.#config;
    while (!signal.aborted) {
      try {
        return await this.#nodeInfo.initialize();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('CSINode not written, retrying', { err: error });
      }
      await clock.sleep(PUBLISH_RETRY_MS, signal).catch(() => undefined);
    }
  }

  /** Grows a volume of another type than CSI if its claim waits for that. */
  grow(pod: Pod, volume: GrowableVolume): Promise<void> {
    return this.#expander.grow(pod, volume);
  }

  /**
   * Starts work that is due; none of it is awaited, since drivers may hang. `others`: the mounted
   * volumes of other types that can grow.
   */
  tick(others: readonly { readonly pod: Pod; readonly volume: GrowableVolume }[]): void {
    const { clock, expansionCheckMs } = this.#config;
    this.#background('unstage', () => this.volumes.unstageUnused());
    this.#refreshDue();
    if (clock.monotonic() - this.#checkedAt < expansionCheckMs) return;
    this.#checkedAt = clock.monotonic();
    const { mounted: csiVolumes } = this.volumes;
    this.#expander.retain(new Set([...csiVolumes, ...others].map(({ pod }) => podUid(pod))));
    for (const { pod, volume } of others) {
      this.#background(`expand ${podUid(pod)} ${volume.name}`, () => this.grow(pod, volume));
    }
    for (const { pod, volume, mounted } of csiVolumes) {
      if (volume.isInline) continue;
      this.#background(`expand ${podUid(pod)} ${volume.name}`, () =>
        this.#expander.expand(pod, volume, mounted),
      );
    }
  }

  /** Starts to ask the drivers for their node information that are due. */
  #refreshDue(): void {
    const periods = new Map(
      this.#driverObjects()
        .filter(({ metadata }) => this.drivers.has(metadata.name))
        .map(({ metadata, spec }) => [metadata.name, spec.nodeAllocatableUpdatePeriodSeconds ?? 0]),
    );
    for (const driver of this.#updates.due(periods, this.#config.clock.monotonic()))
      this.#refresh(driver);
  }

  #refresh(driver: string): void {
    this.#background(`node information of ${driver}`, () => this.drivers.refresh(driver));
  }

  close(): void {
    this.drivers.close();
  }

  async #patchStatus(claim: PersistentVolumeClaim, status: object): Promise<PersistentVolumeClaim> {
    const { client, signal } = this.#config;
    const { name, namespace = '', resourceVersion } = claim.metadata;
    return await client
      .resource(persistentVolumeClaims)
      .namespace(namespace)
      .patch(
        name,
        'application/merge-patch+json',
        { metadata: { resourceVersion }, status },
        { subresource: 'status', signal },
      );
  }

  #background(key: string, work: () => Promise<void>): void {
    if (this.#running.has(key)) return;
    this.#running.add(key);
    const { logger, signal } = this.#config;
    work()
      .catch((error: unknown) => {
        if (!signal.aborted) logger.warn('volume work failed', { work: key, err: error });
      })
      .finally(() => this.#running.delete(key));
  }
}

async function readDriver(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<Immutable<CSIDriver> | undefined> {
  return apierrors.unlessMissing(client.resource(csiDrivers).get(name, { signal }));
}

function reference(kind: string, { name, namespace = '', uid, resourceVersion }: Pod['metadata']) {
  return { apiVersion: 'v1', kind, namespace, name, uid, resourceVersion };
}
