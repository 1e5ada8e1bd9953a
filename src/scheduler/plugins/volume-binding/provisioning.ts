// Decides whether a volume could be provisioned for a claim so that a node can use it.

import type { TopologySelectorTerm } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  csiDrivers,
  csiStorageCapacities,
  type CSIStorageCapacity,
} from '#api/groups/storage/v1/index.ts';
import { labelSelectorAsSelector, type Selector } from '#machinery/selectors/labels.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { Node } from '#scheduler/framework/objects.ts';
import type { PersistentVolumeClaim, StorageClass } from '../volumes/claims.ts';
import { sizeOf } from './matching.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

/** The provisioner of classes whose volumes are created by users. */
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';
const BY_CLASS = 'scheduler/storageClassName';
const byClass = {
  [BY_CLASS]: ({ storageClassName }: Immutable<CSIStorageCapacity>) => [storageClassName],
};

/** `impossible`: never for this node. `noSpace`: the driver's capacity there is too small. */
export type Provisioning = 'possible' | 'impossible' | 'noSpace';

export class Provisioner {
  readonly #drivers;
  readonly #capacities;

  constructor({ informers }: Handle) {
    this.#drivers = informers.informerFor(csiDrivers).lister;
    const capacities = informers.informerFor(csiStorageCapacities);
    capacities.addIndexers(byClass);
    this.#capacities = capacities.lister;
  }

  /** Returns a function for one claim and many nodes. */
  forClaim(claim: PersistentVolumeClaim, storageClass: StorageClass): (node: Node) => Provisioning {
    const { provisioner, allowedTopologies } = storageClass;
    if (!provisioner || provisioner === NO_PROVISIONER) return () => 'impossible';
    const hasSpace = this.#spaceFor(claim, storageClass);
    return (node) => {
      if (!isAllowed(node, allowedTopologies)) return 'impossible';
      return hasSpace(node) ? 'possible' : 'noSpace';
    };
  }

  /** Returns a function that checks capacity, only for drivers that publish it. */
  #spaceFor(
    claim: PersistentVolumeClaim,
    { metadata, provisioner }: StorageClass,
  ): (node: Node) => boolean {
    const size = sizeOf(claim);
    if (size === undefined || this.#drivers.get('', provisioner)?.spec.storageCapacity !== true)
      return () => true;
    const large: Selector[] = [];
    for (const capacity of this.#capacities.byIndex(BY_CLASS, metadata.name ?? '')) {
      // Without a topology no node can use it.
      if (capacity.nodeTopology === undefined || (largestVolume(capacity) ?? -1) < size) continue;
      large.push(labelSelectorAsSelector(capacity.nodeTopology));
    }
    return (node) => large.some((selector) => selector.matches(node.metadata.labels));
  }
}

/** Returns the size in bytes of the largest volume that can be created; undefined if unknown. */
export function largestVolume({
  capacity,
  maximumVolumeSize,
}: Immutable<CSIStorageCapacity>): number | undefined {
  const text = maximumVolumeSize ?? capacity;
  return text === undefined ? undefined : parseQuantity(text).value();
}

/** Reports whether one term matches; without terms or labels, all nodes match. */
function isAllowed(
  node: Node,
  terms: readonly Immutable<TopologySelectorTerm>[] | undefined,
): boolean {
  if (terms === undefined || terms.length === 0) return true;
  const labels = node.metadata.labels ?? {};
  return terms.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.length === 0
      ? false
      : matchLabelExpressions.every(({ key, values }) => {
          const value = ownValue(labels, key);
          return value !== undefined && values.includes(value);
        }),
  );
}
