// Warnings about persistent volumes and their claims: deprecated fields and values. The messages of
// the Warning headers are upstream's (pkg/api/persistentvolume, pkg/api/persistentvolumeclaim).

import * as field from '#machinery/validation/field.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from './types.ts';
import { claimWarnings, nodeSelectorTerm } from './warnings.ts';

const SPEC = field.path('spec');
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const RECYCLE =
  'The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';

const DEPRECATED_SOURCES: readonly (readonly [
  source: keyof core.PersistentVolumeSource,
  path: string,
  message: string,
])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

export function persistentVolumeWarnings({
  metadata,
  spec,
}: Immutable<core.PersistentVolume>): string[] {
  const warnings = annotations(metadata.annotations);
  if (spec.persistentVolumeReclaimPolicy === 'Recycle') {
    warnings.push(`${SPEC.child('persistentVolumeReclaimPolicy').toString()}: ${RECYCLE}`);
  }
  const terms = SPEC.child('nodeAffinity', 'required', 'nodeSelectorTerms');
  (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).forEach((term, index) => {
    warnings.push(...nodeSelectorTerm(term, terms.index(index)));
  });
  for (const [source, path, message] of DEPRECATED_SOURCES) {
    if (spec[source] !== undefined) warnings.push(`${SPEC.child(path).toString()}: ${message}`);
  }
  return warnings;
}

export function persistentVolumeClaimWarnings({
  metadata,
  spec,
}: Immutable<core.PersistentVolumeClaim>): string[] {
  return [...annotations(metadata.annotations), ...claimWarnings(spec, SPEC)];
}

function annotations(map: Readonly<Record<string, string>> | undefined): string[] {
  if (map?.[CLASS_ANNOTATION] === undefined) return [];
  const path = field.path('metadata', 'annotations').key(CLASS_ANNOTATION);
  return [`${path.toString()}: deprecated since v1.8; use "storageClassName" attribute instead`];
}
