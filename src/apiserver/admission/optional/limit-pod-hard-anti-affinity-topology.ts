// Rejects pods that keep other pods away from anything larger than a node: one pod could otherwise
// keep those of others out of a whole zone.

import * as apierrors from '#machinery/apierrors.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';

const HOSTNAME = 'kubernetes.io/hostname';

export class LimitPodHardAntiAffinityTopology implements AdmissionPlugin {
  readonly name = 'LimitPodHardAntiAffinityTopology';

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target);
  }

  validate({ object, resource }: AdmissionAttributes): void {
    const { metadata, spec } = object as ImmutablePod;
    const terms =
      spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const other = terms.find(({ topologyKey }) => topologyKey !== HOSTNAME);
    if (other === undefined) return;
    throw apierrors.forbidden(
      resource,
      metadata.name,
      `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey} ` +
        `but only key ${HOSTNAME} is allowed`,
    );
  }
}
