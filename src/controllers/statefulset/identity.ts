// The identity of a StatefulSet's pod: its ordinal, name, host name and claims, which outlive the
// pod.

import type { StatefulSet } from '#api/groups/apps/v1/index.ts';
import type {
  PersistentVolumeClaim,
  Pod,
  PodTemplateSpec,
  Volume,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { newControllerRef } from '../controller-ref.ts';
import { REVISION_HASH } from '../history/index.ts';

export type ReadStatefulSet = Immutable<StatefulSet>;
export type ReadPod = Immutable<Pod>;
type NamedClaim = New<PersistentVolumeClaim> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};
type NamedPod = New<Pod> & { readonly metadata: { readonly name: string } };

export const STATEFUL_SET = { apiVersion: 'apps/v1', kind: 'StatefulSet' } as const;
const POD_NAME = 'statefulset.kubernetes.io/pod-name';
const POD_INDEX = 'apps.kubernetes.io/pod-index';

export const replicasOf = ({ spec }: ReadStatefulSet): number => spec.replicas ?? 1;
export const firstOrdinal = ({ spec }: ReadStatefulSet): number => spec.ordinals?.start ?? 0;
export const podName = ({ metadata }: ReadStatefulSet, ordinal: number): string =>
  `${metadata.name}-${ordinal}`;

export function isOrdinalWanted(set: ReadStatefulSet, ordinal: number): boolean {
  return ordinal >= firstOrdinal(set) && ordinal < firstOrdinal(set) + replicasOf(set);
}

/** Returns the pod's ordinal; undefined if its name is not a name of the set's pods. */
export function ordinalOf(set: ReadStatefulSet, { metadata }: ReadPod): number | undefined {
  const match = /^(.*)-(\d{1,10})$/.exec(metadata.name);
  if (match === null || match[1] !== set.metadata.name) return undefined;
  const ordinal = Number(match[2]);
  return ordinal < 2 ** 31 ? ordinal : undefined;
}

/** Returns the name of the pod's revision; undefined if it has no label for it. */
export function podRevision({ metadata }: ReadPod): string | undefined {
  return metadata.labels?.[REVISION_HASH];
}

export function newPod(
  set: ReadStatefulSet,
  ordinal: number,
  template: Immutable<PodTemplateSpec>,
  revision: string,
): NamedPod {
  const name = podName(set, ordinal);
  const { annotations, finalizers } = template.metadata;
  return {
    metadata: {
      name,
      namespace: set.metadata.namespace,
      labels: {
        ...template.metadata.labels,
        ...identityLabels(set, ordinal),
        [REVISION_HASH]: revision,
      },
      ...(annotations !== undefined && { annotations }),
      ...(finalizers !== undefined && { finalizers }),
      ownerReferences: [newControllerRef(set.metadata, STATEFUL_SET)],
    },
    spec: {
      ...template.spec,
      hostname: name,
      ...(set.spec.serviceName !== '' && { subdomain: set.spec.serviceName }),
      volumes: volumesOf(set, ordinal, template.spec.volumes),
    },
  };
}

function identityLabels(set: ReadStatefulSet, ordinal: number): Readonly<Record<string, string>> {
  return { [POD_NAME]: podName(set, ordinal), [POD_INDEX]: String(ordinal) };
}

/**
 * Returns the pod's volumes: one for each claim template, which replaces a volume with the same
 * name.
 */
function volumesOf(
  set: ReadStatefulSet,
  ordinal: number,
  volumes: readonly Immutable<Volume>[] = [],
): Immutable<Volume>[] {
  const claims = claimsOf(set, ordinal);
  return [
    ...claims.map(({ template, claim }) => ({
      name: template,
      persistentVolumeClaim: { claimName: claim.metadata.name },
    })),
    ...volumes.filter(({ name }) => !claims.some(({ template }) => template === name)),
  ];
}

export interface ClaimOfPod {
  /** The name of the claim template, which is the name of the pod's volume. */
  readonly template: string;
  readonly claim: NamedClaim;
}

export function claimsOf(set: ReadStatefulSet, ordinal: number): readonly ClaimOfPod[] {
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata, spec }) => ({
    template: metadata.name,
    claim: {
      metadata: {
        name: `${metadata.name}-${podName(set, ordinal)}`,
        namespace: set.metadata.namespace ?? '',
        labels: { ...metadata.labels, ...set.spec.selector.matchLabels },
        ...(metadata.annotations !== undefined && { annotations: metadata.annotations }),
        ...(metadata.finalizers !== undefined && { finalizers: metadata.finalizers }),
      },
      spec,
    },
  }));
}

/**
 * Returns the pod with its missing labels; undefined if it has all. A pod's name and volumes cannot
 * change.
 */
export function withIdentity(
  set: ReadStatefulSet,
  ordinal: number,
  pod: ReadPod,
): ReadPod | undefined {
  const wanted = Object.entries(identityLabels(set, ordinal));
  if (wanted.every(([name, value]) => pod.metadata.labels?.[name] === value)) return undefined;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, ...Object.fromEntries(wanted) },
    },
  };
}
