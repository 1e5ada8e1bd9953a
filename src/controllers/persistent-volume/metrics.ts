// Metrics of the binder, with upstream's names.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Counter, countSamples, type Instruments } from '#machinery/metrics/instruments.ts';
import { volumeMode } from './matching.ts';
import { classOfClaim, classOfVolume } from './storage-classes.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

export class VolumeMetrics {
  readonly #given: Counter;
  readonly #failed: Counter;

  constructor(
    instruments: Instruments,
    known: {
      readonly volumes: () => readonly ReadVolume[];
      readonly claims: () => readonly ReadClaim[];
    },
  ) {
    const gauge = (
      name: string,
      help: string,
      labels: readonly string[],
      keys: () => readonly (readonly string[])[],
    ): void =>
      instruments.gauge({ name: `pv_collector_${name}`, help, labels }, () => countSamples(keys()));
    gauge('total_pv_count', 'Persistent volumes.', ['plugin_name', 'volume_mode'], () =>
      known.volumes().map((volume) => [pluginOf(volume), volumeMode(volume)]),
    );
    const classes = (bound: boolean) => (): (readonly string[])[] =>
      known
        .volumes()
        .flatMap((volume) =>
          (volume.status.phase === 'Bound') === bound ? [[classOfVolume(volume)]] : [],
        );
    gauge('bound_pv_count', 'Persistent volumes that are bound.', ['storage_class'], classes(true));
    gauge(
      'unbound_pv_count',
      'Persistent volumes that are not bound.',
      ['storage_class'],
      classes(false),
    );
    const claims = (bound: boolean) => (): (readonly string[])[] =>
      known.claims().flatMap((claim) => {
        if ((claim.status.phase === 'Bound') !== bound) return [];
        return [
          [
            claim.metadata.namespace ?? '',
            classOfClaim(claim),
            claim.spec.volumeAttributesClassName ?? '',
          ],
        ];
      });
    const labels = ['namespace', 'storage_class', 'volume_attributes_class'];
    gauge('bound_pvc_count', 'Persistent volume claims that are bound.', labels, claims(true));
    gauge(
      'unbound_pvc_count',
      'Persistent volume claims that are not bound.',
      labels,
      claims(false),
    );
    const counter = (name: string, help: string): Counter =>
      instruments.counter({ name, help }).with();
    this.#given = counter(
      'retroactive_storageclass_total',
      'How often a claim without a class was to be given the default one.',
    );
    this.#failed = counter(
      'retroactive_storageclass_errors_total',
      'Claims that could not be given the default class.',
    );
  }

  classGiven(): void {
    this.#given.value++;
  }

  /** Counts a failed assignment of the default class, which counts as an attempt, too. */
  classFailed(): void {
    this.#given.value++;
    this.#failed.value++;
  }
}

/** Returns the plugin's full name; for a CSI volume it includes the driver. */
export function pluginOf({ spec }: ReadVolume): string {
  if (spec.csi !== undefined) return `kubernetes.io/csi:${spec.csi.driver}`;
  if (spec.hostPath !== undefined) return 'kubernetes.io/host-path';
  if (spec.local !== undefined) return 'kubernetes.io/local-volume';
  return spec.nfs === undefined ? 'N/A' : 'kubernetes.io/nfs';
}
