// Keeps a deleted volume attributes class as long as a claim or a volume names it.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from '#api/groups/storage/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { concernsProtection, protect, VAC_PROTECTION } from './finalizers.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;
type ReadClass = Immutable<VolumeAttributesClass>;

const BY_CLASS = 'volume-attributes-class';

export class VacProtectionController implements Controller {
  readonly name = 'volumeattributesclass-protection-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #classes: SharedInformer<ReadClass>;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'vacprotection',
      workers: 1,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#classes = builder.for(volumeAttributesClasses, {
      predicate: concernsProtection(VAC_PROTECTION),
    });
    // A class is released when the last claim or volume with its name is gone, or names another
    // class.
    this.#claims = builder.watches(persistentVolumeClaims, classesOfClaim, {
      indexers: { [BY_CLASS]: classesOfClaim },
      predicate: { add: false },
      maps: 'old',
    });
    this.#volumes = builder.watches(persistentVolumes, classesOfVolume, {
      indexers: { [BY_CLASS]: classesOfVolume },
      predicate: { add: false },
      maps: 'old',
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const found = this.#classes.lister.getByKey(key);
    if (found === undefined) return reconciled;
    const { client } = this.#config;
    const isUsed = (stop: AbortSignal): Promise<boolean> => this.#isUsed(key, stop);
    return await protect(
      { client, type: volumeAttributesClasses, finalizer: VAC_PROTECTION, isUsed },
      found,
      signal,
    );
  }

  /** References may be newer than the cache, so the API is read before the finalizer is removed. */
  async #isUsed(name: string, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#config;
    if (
      this.#claims.lister.byIndex(BY_CLASS, name).length > 0 ||
      this.#volumes.lister.byIndex(BY_CLASS, name).length > 0
    ) {
      return true;
    }
    const claims = await client.resource(persistentVolumeClaims).list({ signal });
    if (claims.items.some((claim) => classesOfClaim(claim).includes(name))) return true;
    const volumes = await client.resource(persistentVolumes).list({ signal });
    return volumes.items.some((volume) => classesOfVolume(volume).includes(name));
  }
}

/** Returns the classes that the claim names: its wanted, its current, and its target class. */
function classesOfClaim({ spec, status }: ReadClaim): readonly string[] {
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [
    ...new Set(names.filter((name) => name !== undefined && name !== '')),
  ] as readonly string[];
}

function classesOfVolume({ spec }: ReadVolume): readonly string[] {
  const name = spec.volumeAttributesClassName ?? '';
  return name === '' ? [] : [name];
}
