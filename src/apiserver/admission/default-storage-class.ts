// Gives a claim without a storage class the default class, if there is one. If there are several,
// the newest.

import type { StorageClass } from '#api/groups/storage/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { classOfClaim, isClaimWrite, type ImmutableClaim } from './claims.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

const MARKS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

export class DefaultStorageClass implements AdmissionPlugin {
  readonly name = 'DefaultStorageClass';
  readonly #services: Pick<AdmissionServices, 'findAll'>;

  constructor(services: Pick<AdmissionServices, 'findAll'>) {
    this.#services = services;
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'CREATE' && isClaimWrite(target);
  }

  async admit({
    object,
  }: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    const claim = object as ImmutableClaim;
    if (classOfClaim(claim) !== undefined) return claim;
    const classes = await this.#services.findAll<Immutable<StorageClass>>(
      'storage.k8s.io',
      'storageclasses',
      '',
    );
    const [newest] = classes
      .filter(({ metadata }) => MARKS.some((mark) => metadata.annotations?.[mark] === 'true'))
      .sort(
        (a, b) =>
          order(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
          order(a.metadata.name, b.metadata.name),
      );
    if (newest === undefined) return claim;
    const changed: ImmutableClaim = {
      ...claim,
      spec: { ...claim.spec, storageClassName: newest.metadata.name },
    };
    return changed;
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
