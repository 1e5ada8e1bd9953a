// Publishes how much a CSI driver has left on its node, for each of its storage classes, so that the
// scheduler chooses no node without room. One object per class and node, measured every minute and
// after each volume.

import { persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  type StorageClass,
  storageClasses,
} from '#api/groups/storage/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { parseQuantity, newQuantity } from '#machinery/text/quantity.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller } from '../controller.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import { DriverNodes } from './driver-nodes.ts';

const NAMESPACE = 'kube-system';
const PERIOD_MS = 60_000;
const RETRY_MS = 2_000;
const DRIVER_LABEL = 'csi.storage.k8s.io/drivername';
const MANAGER_LABEL = 'csi.storage.k8s.io/managed-by';

export class CsiCapacity implements Controller {
  readonly name = 'csi-capacity';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig & { readonly nodeName: string };
  readonly #classes: SharedInformer<Immutable<StorageClass>>;
  readonly #capacities: SharedInformer<Immutable<CSIStorageCapacity>>;
  readonly #nodes: DriverNodes;

  constructor(config: CsiControllerConfig & { readonly nodeName: string }) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'csi_capacity',
      workers: 1,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#classes = builder.for(storageClasses);
    this.#capacities = builder.informerFor(csiStorageCapacities);
    builder.watches(persistentVolumes, ({ spec }) => spec.storageClassName, {
      predicate: { update: () => false },
    });
    this.#nodes = new DriverNodes(builder, config);
    this.run = builder.complete();
  }

  async #reconcile(className: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { client, driver, service, nodeName } = this.#config;
    const resource = client.resource(csiStorageCapacities).namespace(NAMESPACE);
    const name = `csisc-${nodeName}-${className}`;
    const present = this.#capacities.lister.get(NAMESPACE, name);
    const storageClass = this.#classes.lister.get('', className);
    if (storageClass?.provisioner !== driver) {
      if (present !== undefined) {
        const { uid } = present.metadata;
        await ignoreNotFound(resource.delete(name, { preconditions: { uid }, signal }));
      }
      return reconciled;
    }
    const segments = this.#nodes.segments(nodeName);
    // The driver is being registered.
    if (segments === undefined) return requeueAfter(RETRY_MS);
    const parameters = Object.fromEntries(
      Object.entries(storageClass.parameters ?? {}).filter(
        ([key]) => !key.startsWith('csi.storage.k8s.io/'),
      ),
    );
    const { availableCapacity } = await service.capacity({
      parameters,
      accessibleTopology: { segments },
    });
    const capacity = newQuantity(availableCapacity, 'BinarySI').toString();
    const fields = {
      nodeTopology: { matchLabels: segments },
      storageClassName: className,
      capacity,
    };
    try {
      if (present === undefined) {
        const labels = { [DRIVER_LABEL]: driver, [MANAGER_LABEL]: `csi-capacity-${nodeName}` };
        await resource.create({ metadata: { name, labels }, ...fields }, { signal });
      } else if (parseQuantity(present.capacity ?? '0').cmp(parseQuantity(capacity)) !== 0) {
        await resource.update({ ...present, ...fields }, { signal });
      }
    } catch (error) {
      if (!apierrors.isConflict(error) && !apierrors.isAlreadyExists(error)) throw error;
      return requeueAfter(RETRY_MS);
    }
    return requeueAfter(PERIOD_MS);
  }
}

async function ignoreNotFound(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!apierrors.isNotFound(error)) throw error;
  }
}
