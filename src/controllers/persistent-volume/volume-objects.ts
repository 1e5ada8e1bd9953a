// Claims, volumes and storage classes, as far as they are known, and the writes of the first two.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { StorageClass } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import type { NewestObjects } from '../newest-objects.ts';
import { claimInPhase, volumeInPhase } from './binding.ts';
import { classOfClaim, waitsForConsumer } from './storage-classes.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadClass = Immutable<StorageClass>;

export interface VolumeObjectsConfig {
  readonly client: Client;
  readonly claims: NewestObjects<ReadClaim>;
  readonly volumes: NewestObjects<ReadVolume>;
  readonly classes: SharedInformer<ReadClass>;
}

export class VolumeObjects {
  readonly claims: NewestObjects<ReadClaim>;
  readonly volumes: NewestObjects<ReadVolume>;
  readonly classes: SharedInformer<ReadClass>;
  readonly #client: Client;

  constructor({ client, claims, volumes, classes }: VolumeObjectsConfig) {
    this.#client = client;
    this.claims = claims;
    this.volumes = volumes;
    this.classes = classes;
  }

  classOf(claim: ReadClaim): ReadClass | undefined {
    const name = classOfClaim(claim);
    return name === '' ? undefined : this.classes.lister.get('', name);
  }

  /** Reports whether the scheduler chooses the claim's volume. */
  isDelayed(claim: ReadClaim): boolean {
    return waitsForConsumer(this.classOf(claim));
  }

  /** Writes the claim, unless it is `before`. Returns it as it is stored. */
  async updateClaim(claim: ReadClaim, signal: AbortSignal, before?: ReadClaim): Promise<ReadClaim> {
    if (claim === before) return claim;
    const { namespace = '' } = claim.metadata;
    const updated = await this.#client
      .resource(persistentVolumeClaims)
      .namespace(namespace)
      .update(claim, { signal });
    this.claims.wrote(updated);
    return updated;
  }

  async setClaimPhase(
    claim: ReadClaim,
    phase: 'Pending' | 'Bound' | 'Lost',
    volume: ReadVolume | undefined,
    signal: AbortSignal,
  ): Promise<ReadClaim> {
    const wanted = claimInPhase(claim, phase, volume);
    if (wanted === claim) return claim;
    const { namespace = '' } = claim.metadata;
    const client = this.#client.resource(persistentVolumeClaims).namespace(namespace);
    const updated = await client.updateStatus(wanted, { signal });
    this.claims.wrote(updated);
    return updated;
  }

  /** Writes the volume, unless it is `before`. Returns it as it is stored. */
  async updateVolume(
    volume: ReadVolume,
    signal: AbortSignal,
    before: ReadVolume,
  ): Promise<ReadVolume> {
    if (volume === before) return volume;
    const updated = await this.#client.resource(persistentVolumes).update(volume, { signal });
    this.volumes.wrote(updated);
    return updated;
  }

  async setVolumePhase(
    volume: ReadVolume,
    phase: 'Available' | 'Bound' | 'Released' | 'Failed',
    signal: AbortSignal,
    message?: string,
  ): Promise<ReadVolume> {
    const wanted = volumeInPhase(volume, phase, message);
    if (wanted === volume) return volume;
    const updated = await this.#client.resource(persistentVolumes).updateStatus(wanted, { signal });
    this.volumes.wrote(updated);
    return updated;
  }
}
