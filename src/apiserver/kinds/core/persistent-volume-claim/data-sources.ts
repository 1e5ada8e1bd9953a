// The data source of a claim's new volume has two fields. The older one supports only claims and
// snapshots and drops anything else; the newer one supports all kinds. Both are kept equal for
// clients that use only one of them.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ClaimSpec = Immutable<core.PersistentVolumeClaimSpec>;

/**
 * Returns the spec without unsupported data: sources in other namespaces, and other kinds in the
 * older field.
 */
export function supportedDataSources(spec: ClaimSpec, old?: ClaimSpec): ClaimSpec {
  let supported = spec;
  if ((supported.dataSourceRef?.namespace ?? '') !== '' && old?.dataSourceRef === undefined) {
    const { dataSourceRef: _, ...rest } = supported;
    supported = rest;
  }
  const isKept =
    old?.dataSource !== undefined ||
    old?.dataSourceRef !== undefined ||
    supported.dataSourceRef !== undefined;
  if (isKept || supported.dataSource === undefined || isClaimOrSnapshot(supported.dataSource))
    return supported;
  const { dataSource: _, ...rest } = supported;
  return rest;
}

function isClaimOrSnapshot({ apiGroup, kind }: NonNullable<ClaimSpec['dataSource']>): boolean {
  const group = apiGroup ?? '';
  if (kind === 'PersistentVolumeClaim') return group === '';
  return kind === 'VolumeSnapshot' && group === 'snapshot.storage.k8s.io';
}

/** Returns the spec with a missing field filled in from the other. */
export function withBothDataSources(spec: ClaimSpec): ClaimSpec {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined && dataSourceRef === undefined)
    return { ...spec, dataSourceRef: dataSource };
  if (
    dataSource !== undefined ||
    dataSourceRef === undefined ||
    (dataSourceRef.namespace ?? '') !== ''
  )
    return spec;
  const { namespace: _, ...reference } = dataSourceRef;
  return { ...spec, dataSource: reference };
}
