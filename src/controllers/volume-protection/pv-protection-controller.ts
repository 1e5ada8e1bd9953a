// A volume that is deleted stays for as long as it is bound to a claim.

import { persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { PersistentVolume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isDeletionCandidate, lacksFinalizer, protect, PV_PROTECTION } from './finalizers.ts';

type ReadVolume = Immutable<PersistentVolume>;

export class PvProtectionController implements Controller {
  readonly name = 'persistentvolume-protection-controller';
  readonly #config: ControllerConfig;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #queue: RateLimitingQueue;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock, metrics: config.queueMetrics?.('pvprotection') });
    this.#volumes = config.informers.informerFor(persistentVolumes);
    const changed = (volume: ReadVolume): void => {
      if (lacksFinalizer(volume, PV_PROTECTION) || isDeletionCandidate(volume, PV_PROTECTION)) {
        this.#queue.add(objectKey(volume));
      }
    };
    this.#volumes.addEventHandler({ onAdd: changed, onUpdate: (_, volume) => changed(volume) });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#volumes.waitForSync(signal);
    await runWorkers(this.#queue, 5, (key, stop) => this.#reconcile(key, stop), signal, { logger: this.#config.logger });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const volume = this.#volumes.lister.getByKey(key);
    if (volume === undefined) return reconciled;
    // Certain enough: the write is refused if the volume has been bound since.
    const isUsed = (): Promise<boolean> => Promise.resolve(volume.status.phase === 'Bound');
    const { client } = this.#config;
    return await protect({ client, type: persistentVolumes, finalizer: PV_PROTECTION, isUsed }, volume, signal);
  }
}
