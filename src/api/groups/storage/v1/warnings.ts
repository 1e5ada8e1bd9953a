// Warnings about objects of the storage group: deprecated node labels, and tokens in a place where
// they may be logged.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { nodeLabelWarning } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storage from './types.ts';

export function storageClassWarnings({
  allowedTopologies = [],
}: Immutable<storage.StorageClass>): string[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }, index) => {
    const at = field.path('allowedTopologies').index(index).child('matchLabelExpressions');
    return matchLabelExpressions.flatMap(({ key }, position) =>
      labelWarning(key, at.index(position).child('key')),
    );
  });
}

export function csiStorageCapacityWarnings({
  nodeTopology,
}: Immutable<storage.CSIStorageCapacity>): string[] {
  const at = field.path('nodeTopology');
  return [
    ...(nodeTopology?.matchExpressions ?? []).flatMap(({ key }, index) =>
      labelWarning(key, at.child('matchExpressions').index(index).child('key')),
    ),
    ...Object.keys(nodeTopology?.matchLabels ?? {}).flatMap((key) =>
      labelWarning(key, at.child('matchLabels').child(key)),
    ),
  ];
}

const TOKENS_IN_SECRETS =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, ' +
  'set to true to prevent possible logging of tokens in volume attributes';

/** Returns warnings. `old`: the driver before an update, whose warnings are not repeated. */
export function csiDriverWarnings(
  { spec }: Immutable<storage.CSIDriver>,
  old?: Immutable<storage.CSIDriver>,
): string[] {
  if ((spec.tokenRequests ?? []).length === 0 || spec.serviceAccountTokenInSecrets !== undefined)
    return [];
  return old !== undefined && semanticEqual(spec.tokenRequests, old.spec.tokenRequests)
    ? []
    : [TOKENS_IN_SECRETS];
}

function labelWarning(label: string, at: field.FieldPath): string[] {
  const message = nodeLabelWarning(label);
  return message === undefined ? [] : [`${at.toString()}: ${message}`];
}
