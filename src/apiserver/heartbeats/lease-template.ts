// The stored bytes of a node's Lease as a template: what a renewal changes in them, and where.
//
// There is a template only for a Lease that nothing but its kubelet has ever written, in the way in
// which kubelets write it: only then a patch with the three fields of a renewal changes the
// renewTime and the time in the managed fields, and nothing else.

import { type Lease, leases } from '#api/groups/coordination/v1/index.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import { deepEqual } from '#machinery/deep.ts';
import { formatMicroTime } from '#machinery/text/time.ts';
import { storagePrefix } from '../registry/storage-prefix.ts';
import {
  type HeartbeatKind,
  type HeartbeatTemplate,
  type HeartbeatWriter,
  MANAGED_TIME,
  placesOf,
  TIME_LENGTH,
} from './heartbeat-kind.ts';

const NAMESPACE = 'kube-node-lease';
const API_VERSION = apiVersionOf(leases);
const METADATA: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'ownerReferences',
  'managedFields',
]);
const RENEW_TIME = '"renewTime":"';
const MICRO_TIME_LENGTH = formatMicroTime(0).length;

/**
 * Returns where a renewal changes the stored bytes. Undefined if it might change anything else, or
 * if the times have another length than those that are written now.
 */
function leaseTemplate(value: Uint8Array, holder: HeartbeatWriter): HeartbeatTemplate | undefined {
  const lease = decodeFromStorage<Immutable<Lease>>(value, 1);
  if (!isRenewedOnly(lease, holder)) return undefined;
  const { renewTime } = lease.spec;
  const { time } = lease.metadata.managedFields![0]!;
  const renewPlaces = placesOf(value, RENEW_TIME, [renewTime], MICRO_TIME_LENGTH);
  const managedPlaces = placesOf(value, MANAGED_TIME, [time], TIME_LENGTH);
  return renewPlaces === undefined || managedPlaces === undefined
    ? undefined
    : { places: [...renewPlaces, ...managedPlaces], time: renewTime, managedTime: undefined };
}

export const leaseRenewals: HeartbeatKind = {
  type: leases,
  subresource: '',
  namespace: NAMESPACE,
  prefix: `${storagePrefix(leases)}${NAMESPACE}/`,
  path: `/apis/${leases.group}/${leases.version}/namespaces/${NAMESPACE}/${leases.resource}/`,
  contentType: 'application/merge-patch+json',
  format: formatMicroTime,
  template: leaseTemplate,
};

function isRenewedOnly(lease: Immutable<Lease>, holder: HeartbeatWriter): boolean {
  const { kind, apiVersion, metadata, spec, ...others } = lease;
  if (kind !== leases.kind || apiVersion !== API_VERSION || Object.keys(others).length > 0)
    return false;
  const fields = Object.keys(metadata);
  // A write of a new Lease moves the managed fields to the end.
  if (fields.at(-1) !== 'managedFields' || !fields.every((field) => METADATA.has(field)))
    return false;
  const { nodeName, leaseDurationSeconds } = holder;
  const { renewTime } = spec;
  if (!deepEqual(spec, { holderIdentity: nodeName, leaseDurationSeconds, renewTime })) return false;
  const [entry, ...otherEntries] = metadata.managedFields ?? [];
  if (entry === undefined || otherEntries.length > 0) return false;
  return deepEqual(entry, {
    manager: holder.manager,
    operation: 'Update',
    apiVersion: API_VERSION,
    time: entry.time,
    fieldsType: 'FieldsV1',
    fieldsV1: {
      ...ownedMetadata(metadata.ownerReferences ?? []),
      'f:spec': { 'f:holderIdentity': {}, 'f:leaseDurationSeconds': {}, 'f:renewTime': {} },
    },
  });
}

function ownedMetadata(owners: readonly { readonly uid: string }[]): object {
  if (owners.length === 0) return {};
  const items = owners.map(({ uid }) => [`k:${JSON.stringify({ uid })}`, {}]);
  return { 'f:metadata': { 'f:ownerReferences': { '.': {}, ...Object.fromEntries(items) } } };
}
