// What a new volume is to hold is said in two fields: the older one takes claims and snapshots only and forgets anything else,
// the newer one takes all. For those who know only one of them both say the same.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ClaimSpec = Immutable<core.PersistentVolumeClaimSpec>;

/** Without what is not supported: sources in other namespaces, and foreign kinds in the older field alone. */
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

/** The field that is missing is filled in from the other. */
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
