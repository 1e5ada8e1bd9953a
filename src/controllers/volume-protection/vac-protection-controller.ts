// A volume attributes class that is deleted stays for as long as a claim or a volume names it.

import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { volumeAttributesClasses } from '#api/groups/storage/v1/index.ts';
import type { VolumeAttributesClass } from '#api/groups/storage/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isDeletionCandidate, lacksFinalizer, protect, VAC_PROTECTION } from './finalizers.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;
type ReadClass = Immutable<VolumeAttributesClass>;

const BY_CLASS = 'volume-attributes-class';

export class VacProtectionController implements Controller {
  readonly name = 'volumeattributesclass-protection-controller';
  readonly #config: ControllerConfig;
  readonly #classes: SharedInformer<ReadClass>;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #queue: RateLimitingQueue;

  constructor(config: ControllerConfig) {
    const { informers } = config;
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock, metrics: config.queueMetrics?.('vacprotection') });
    this.#classes = informers.informerFor(volumeAttributesClasses);
    this.#claims = informers.informerFor(persistentVolumeClaims);
    this.#volumes = informers.informerFor(persistentVolumes);
    this.#claims.addIndexers({ [BY_CLASS]: classesOfClaim });
    this.#volumes.addIndexers({ [BY_CLASS]: classesOfVolume });
    const changed = (each: ReadClass): void => {
      if (lacksFinalizer(each, VAC_PROTECTION) || isDeletionCandidate(each, VAC_PROTECTION)) this.#queue.add(objectKey(each));
    };
    this.#classes.addEventHandler({ onAdd: changed, onUpdate: (_, each) => changed(each) });
    const wake = (names: readonly string[]): void => {
      for (const name of names) this.#queue.add(name);
    };
    this.#claims.addEventHandler({
      onUpdate: (before) => wake(classesOfClaim(before)),
      onDelete: (claim) => wake(classesOfClaim(claim)),
    });
    this.#volumes.addEventHandler({
      onUpdate: (before) => wake(classesOfVolume(before)),
      onDelete: (volume) => wake(classesOfVolume(volume)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#config;
    await Promise.all([this.#classes, this.#claims, this.#volumes].map((informer) => informer.waitForSync(signal)));
    await runWorkers(this.#queue, 1, (key, stop) => this.#reconcile(key, stop), signal, { logger });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const found = this.#classes.lister.getByKey(key);
    if (found === undefined) return reconciled;
    const { client } = this.#config;
    const isUsed = (stop: AbortSignal): Promise<boolean> => this.#isUsed(key, stop);
    return await protect({ client, type: volumeAttributesClasses, finalizer: VAC_PROTECTION, isUsed }, found, signal);
  }

  /** What refers to it may be newer than the cache: before the class is let go, the API is asked. */
  async #isUsed(name: string, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#config;
    if (this.#claims.lister.byIndex(BY_CLASS, name).length > 0 || this.#volumes.lister.byIndex(BY_CLASS, name).length > 0) {
      return true;
    }
    const claims = await client.resource(persistentVolumeClaims).list({ signal });
    if (claims.items.some((claim) => classesOfClaim(claim).includes(name))) return true;
    const volumes = await client.resource(persistentVolumes).list({ signal });
    return volumes.items.some((volume) => classesOfVolume(volume).includes(name));
  }
}

/** The one that it wants, the one that it has, and the one on the way to which it is. */
function classesOfClaim({ spec, status }: ReadClaim): readonly string[] {
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ''))] as readonly string[];
}

function classesOfVolume({ spec }: ReadVolume): readonly string[] {
  const name = spec.volumeAttributesClassName ?? '';
  return name === '' ? [] : [name];
}
