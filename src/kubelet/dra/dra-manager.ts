// Prepares the ResourceClaims of pods before their sandbox is created, and unprepares them when
// their last pod on this node has ended.

import type { ResourceClaim } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { type Container, podUid, type Pod } from '../types.ts';
import type { ClaimCache } from './claim-cache.ts';
import { cdiDevicesOf, type ClaimInfo, type PreparedDevice } from './claim-info.ts';
import { containerRequests, podClaim, podClaims } from './claim-names.ts';
import type { DraDriver } from './driver.ts';
import type { DeviceHealth, HealthCache } from './health-cache.ts';
import type { ClaimReference, PrepareDevice, ReportedHealth } from './schema.ts';

export interface DraMetrics {
  /** Records the preparation or unpreparation of all claims of a pod. */
  claimsHandled(
    operation: 'PrepareResources' | 'UnprepareResources',
    isError: boolean,
    seconds: number,
  ): void;
}

export interface DraManagerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: DraMetrics;
  readonly cache: ClaimCache;
  readonly health: HealthCache;
  /** Reads a claim from the API. */
  readonly claim: (namespace: string, name: string) => Promise<Immutable<ResourceClaim>>;
  /** Absent on a simulated node: claims are checked, and nothing prepares them. */
  readonly drivers?: { get(name: string): DraDriver };
}

/** A claim that a pod may use. */
interface CheckedClaim {
  readonly claim: Immutable<ResourceClaim>;
  /** By name of the driver; undefined on a simulated node. */
  readonly drivers: ReadonlyMap<string, DraDriver | undefined>;
}

export class DraManager {
  readonly #config: DraManagerConfig;

  constructor(config: DraManagerConfig) {
    this.#config = config;
  }

  /** Prepares all claims of the pod. Rejects with the reason for an event of the pod. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    if (!usesClaims(pod)) return;
    await this.#timed('PrepareResources', () =>
      this.#prepare(pod, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new Error(`prepare dynamic resources: ${errorMessage(error)}`, { cause: error });
      }),
    );
  }

  /**
   * Unprepares the claims that no other pod on this node uses. Rejects if that failed: the pod must
   * not be reported as terminated before.
   */
  async unprepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const claims = this.#claimsOf(podUid(pod));
    if (claims.length === 0) return;
    await this.#timed('UnprepareResources', () =>
      this.#unprepare(podUid(pod), claims, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new Error(`unprepare dynamic resources: ${errorMessage(error)}`, { cause: error });
      }),
    );
  }

  /** Unprepares claims of pods that have gone, for example while the kubelet did not run. */
  async reconcile(active: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const gone = new Set<string>();
    for (const { pods } of this.#config.cache.values())
      for (const uid of pods) if (!active.has(uid)) gone.add(uid);
    for (const uid of gone) {
      try {
        await this.#unprepare(uid, this.#claimsOf(uid), signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#config.logger.info('DRA manager: claims of a former pod not unprepared, will retry', {
          podUid: uid,
          reason: errorMessage(error),
        });
      }
    }
  }

  /** Returns the names of the CDI devices for the container's configuration. */
  cdiDevices(pod: Pod, container: Container): readonly string[] {
    const namespace = pod.metadata.namespace ?? '';
    return [...containerRequests(pod, container)].flatMap(([claimName, requests]) => {
      const info = this.#config.cache.get(namespace, claimName);
      if (info === undefined) {
        throw new Error(
          `internal error: unable to get claim info for ResourceClaim ${claimName} in namespace ${namespace}`,
        );
      }
      return requests.flatMap((request) => cdiDevicesOf(info, request));
    });
  }

  /** Returns the claims that the container uses, for the API of pod resources. */
  claimInfos(pod: Pod, container: Container): readonly ClaimInfo[] {
    const namespace = pod.metadata.namespace ?? '';
    return [...containerRequests(pod, container).keys()].flatMap(
      (claimName) => this.#config.cache.get(namespace, claimName) ?? [],
    );
  }

  /** Returns the claim behind an entry of the pod's spec; undefined if it is not known. */
  claimInfo(pod: Pod, podClaimName: string): ClaimInfo | undefined {
    try {
      const claim = podClaim(pod, podClaimName);
      return claim === undefined
        ? undefined
        : this.#config.cache.get(pod.metadata.namespace ?? '', claim.claimName);
    } catch {
      // The claim has not been created yet.
      return undefined;
    }
  }

  healthOf(driver: string, pool: string, device: string): DeviceHealth {
    return this.#config.health.get(driver, pool, device);
  }

  /**
   * Takes over a report of a driver; undefined: it sends no more. Returns the UIDs of pods with a
   * device whose health has changed.
   */
  healthReported(
    driver: string,
    reports: readonly ReportedHealth[] | undefined,
  ): ReadonlySet<string> {
    const { health, cache } = this.#config;
    if (reports === undefined) {
      health.clear(driver);
      return new Set();
    }
    const changed = new Set(
      health.update(driver, reports).map(({ poolName, deviceName }) => `${poolName}/${deviceName}`),
    );
    const pods = new Set<string>();
    for (const info of cache.values()) {
      const devices = info.drivers.get(driver) ?? [];
      if (devices.some(({ poolName, deviceName }) => changed.has(`${poolName}/${deviceName}`)))
        for (const uid of info.pods) pods.add(uid);
    }
    return pods;
  }

  async #prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { cache } = this.#config;
    // All claims are checked first: a pod that fails here can be deleted without any driver.
    const checked: CheckedClaim[] = [];
    for (const { claimName, isOwned } of podClaims(pod))
      checked.push(await this.#check(pod, claimName, isOwned));
    const batches = new Map<string, { driver: DraDriver; claims: ClaimInfo[] }>();
    const unprepared = new Set<ClaimInfo>();
    for (const { claim, drivers } of checked) {
      const info = this.#track(claim, podUid(pod));
      if (info.isPrepared) continue;
      unprepared.add(info);
      for (const [name, driver] of drivers) {
        if (driver === undefined) continue;
        const batch = batches.get(name) ?? { driver, claims: [] };
        batches.set(name, batch);
        batch.claims.push(info);
      }
    }
    // If preparing fails and the pod is deleted, the claims are found in the checkpoint.
    await cache.save();
    for (const [name, { driver, claims }] of batches)
      await this.#prepareBatch(name, driver, claims, signal);
    for (const info of unprepared) info.isPrepared = true;
    await cache.save();
  }

  async #check(pod: Pod, claimName: string, isOwned: boolean): Promise<CheckedClaim> {
    const { name, namespace = '', uid } = pod.metadata;
    let claim: Immutable<ResourceClaim>;
    try {
      claim = await this.#config.claim(namespace, claimName);
    } catch (error) {
      throw new Error(`fetch ResourceClaim ${claimName}: ${errorMessage(error)}`, { cause: error });
    }
    const owner = claim.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (isOwned && owner?.uid !== uid) {
      throw new Error(
        `ResourceClaim ${namespace}/${claimName} was not created for Pod ${namespace}/${name} (Pod is not owner)`,
      );
    }
    if (!(claim.status?.reservedFor ?? []).some((consumer) => consumer.uid === uid)) {
      throw new Error(
        `pod ${name} (${uid}) is not allowed to use ResourceClaim ${claimName} (${claim.metadata.uid})`,
      );
    }
    const { allocation } = claim.status ?? {};
    if (allocation === undefined) throw new Error(`ResourceClaim ${claimName}: not allocated`);
    const names = new Set((allocation.devices?.results ?? []).map(({ driver }) => driver));
    const drivers = new Map(
      [...names].map((driver) => [driver, this.#config.drivers?.get(driver)]),
    );
    return { claim, drivers };
  }

  /** Returns the claim's entry in the cache, with the pod as its user. */
  #track(claim: Immutable<ResourceClaim>, uid: string): ClaimInfo {
    const { cache } = this.#config;
    const { name, namespace = '' } = claim.metadata;
    let info = cache.get(namespace, name);
    if (info === undefined) {
      const results = claim.status?.allocation?.devices?.results ?? [];
      info = {
        uid: claim.metadata.uid ?? '',
        name,
        namespace,
        pods: new Set(),
        drivers: new Map(results.map(({ driver }) => [driver, []])),
        isPrepared: false,
      };
      cache.add(info);
    } else if (info.uid !== claim.metadata.uid) {
      throw new Error(
        `old ResourceClaim with same name ${name} and different UID ${info.uid} still exists ` +
          '(previous pod force-deleted?!)',
      );
    }
    info.pods.add(uid);
    return info;
  }

  async #prepareBatch(
    name: string,
    driver: DraDriver,
    claims: readonly ClaimInfo[],
    signal: AbortSignal,
  ): Promise<void> {
    const response = await driver
      .prepare(claims.map(referenceOf), signal)
      .catch((error: unknown) => {
        throw new Error(`NodePrepareResources: ${errorMessage(error)}`, { cause: error });
      });
    for (const [uid, result] of Object.entries(response.claims)) {
      const info = claims.find((claim) => claim.uid === uid);
      if (info === undefined)
        throw new Error(`NodePrepareResources returned result for unknown claim UID ${uid}`);
      if (result.error !== '') {
        throw new Error(
          `NodePrepareResources failed for ResourceClaim ${info.name}: ${result.error}`,
        );
      }
      info.drivers.set(name, result.devices.map(deviceOf));
    }
    const skipped = claims.length - Object.keys(response.claims).length;
    if (skipped !== 0) throw new Error(`NodePrepareResources skipped ${skipped} ResourceClaims`);
  }

  #claimsOf(uid: string): readonly ClaimInfo[] {
    return [...this.#config.cache.values()].filter(({ pods }) => pods.has(uid));
  }

  async #unprepare(uid: string, claims: readonly ClaimInfo[], signal: AbortSignal): Promise<void> {
    const { cache, drivers } = this.#config;
    const last = claims.filter(({ pods }) => pods.size === 1);
    const batches = new Map<string, ClaimInfo[]>();
    for (const info of last)
      for (const driver of info.drivers.keys())
        batches.set(driver, [...(batches.get(driver) ?? []), info]);
    if (drivers !== undefined)
      for (const [name, batch] of batches)
        await this.#unprepareBatch(drivers.get(name), batch, signal);
    for (const info of claims) {
      info.pods.delete(uid);
      // Another pod may have begun to use the claim meanwhile: it must be prepared again.
      if (last.includes(info)) info.isPrepared = false;
      if (info.pods.size === 0) cache.delete(info);
    }
    await cache.save();
  }

  async #unprepareBatch(
    driver: DraDriver,
    claims: readonly ClaimInfo[],
    signal: AbortSignal,
  ): Promise<void> {
    const response = await driver
      .unprepare(claims.map(referenceOf), signal)
      .catch((error: unknown) => {
        throw new Error(`NodeUnprepareResources: ${errorMessage(error)}`, { cause: error });
      });
    for (const [uid, result] of Object.entries(response.claims)) {
      const info = claims.find((claim) => claim.uid === uid);
      if (info === undefined)
        throw new Error(`NodeUnprepareResources returned result for unknown claim UID ${uid}`);
      if (result.error !== '') {
        throw new Error(
          `NodeUnprepareResources failed for ResourceClaim ${info.name}: ${result.error}`,
        );
      }
    }
    const skipped = claims.length - Object.keys(response.claims).length;
    if (skipped !== 0) throw new Error(`NodeUnprepareResources skipped ${skipped} ResourceClaims`);
  }

  async #timed(
    operation: 'PrepareResources' | 'UnprepareResources',
    work: () => Promise<void>,
  ): Promise<void> {
    const { clock, metrics } = this.#config;
    const startedAt = clock.monotonic();
    let isError = true;
    try {
      await work();
      isError = false;
    } finally {
      metrics?.claimsHandled(operation, isError, (clock.monotonic() - startedAt) / 1000);
    }
  }
}

function usesClaims({ spec, status }: Pod): boolean {
  return (spec.resourceClaims ?? []).length > 0 || status.extendedResourceClaimStatus !== undefined;
}

/** Returns the device without an undefined share. */
function deviceOf({ shareId, ...device }: PrepareDevice): PreparedDevice {
  return { ...device, ...(shareId !== undefined && { shareId }) };
}

function referenceOf({ namespace, uid, name }: ClaimInfo): ClaimReference {
  return { namespace, uid, name };
}
