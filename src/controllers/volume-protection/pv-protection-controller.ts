// Keeps a deleted volume as long as it is bound to a claim.

import { type PersistentVolume, persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { concernsProtection, protect, PV_PROTECTION } from './finalizers.ts';

type ReadVolume = Immutable<PersistentVolume>;

export class PvProtectionController implements Controller {
  readonly name = 'persistentvolume-protection-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #volumes: SharedInformer<ReadVolume>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'pvprotection',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#volumes = builder.for(persistentVolumes, {
      predicate: concernsProtection(PV_PROTECTION),
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const volume = this.#volumes.lister.getByKey(key);
    if (volume === undefined) return reconciled;
    // The cache is good enough: the write fails if the volume was bound meanwhile.
    const isUsed = (): Promise<boolean> => Promise.resolve(volume.status.phase === 'Bound');
    const { client } = this.#config;
    return await protect(
      { client, type: persistentVolumes, finalizer: PV_PROTECTION, isUsed },
      volume,
      signal,
    );
  }
}
