// Rejects an expansion of a claim unless the claim is bound and its storage class allows volume
// expansion.

import type { StorageClass } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { classOfClaim, isClaimWrite, type ImmutableClaim } from './claims.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

export class PersistentVolumeClaimResize implements AdmissionPlugin {
  readonly name = 'PersistentVolumeClaimResize';
  readonly #services: Pick<AdmissionServices, 'find'>;

  constructor(services: Pick<AdmissionServices, 'find'>) {
    this.#services = services;
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'UPDATE' && isClaimWrite(target);
  }

  async validate({ object, oldObject, resource, name }: AdmissionAttributes): Promise<void> {
    const claim = object as ImmutableClaim;
    const old = oldObject as ImmutableClaim;
    if (sizeOf(claim).cmp(sizeOf(old)) <= 0) return;
    if (old.status.phase !== 'Bound') {
      throw apierrors.forbidden(
        resource,
        name,
        'Only bound persistent volume claims can be expanded',
      );
    }
    if (await this.#mayGrow(claim, old)) return;
    const why =
      'only dynamically provisioned pvc can be resized and the storageclass that provisions ' +
      'the pvc must support resize';
    throw apierrors.forbidden(resource, name, why);
  }

  async #mayGrow(claim: ImmutableClaim, old: ImmutableClaim): Promise<boolean> {
    const className = classOfClaim(claim) ?? '';
    if (className === '' || className !== classOfClaim(old)) return false;
    const storageClass = await this.#services.find<Immutable<StorageClass>>(
      'storage.k8s.io',
      'storageclasses',
      '',
      className,
    );
    return storageClass?.allowVolumeExpansion === true;
  }
}

function sizeOf({ spec }: ImmutableClaim) {
  return parseQuantity(spec.resources.requests?.['storage'] ?? '0');
}
