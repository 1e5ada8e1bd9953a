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
import { formatMicroTime, formatTime } from '#machinery/text/time.ts';

/** The values that each renewal of a Lease repeats. */
export interface LeaseHolder {
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** The field manager of the renewals. */
  readonly manager: string;
}

/** A stored Lease whose renewals change nothing but two times. */
export interface LeaseTemplate {
  /** The offsets of the times: the renewTime, and that of the only entry in the managed fields. */
  readonly places: readonly number[];
  readonly renewTime: string;
}

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
const MANAGED_TIME = '"time":"';
const MICRO_TIME_LENGTH = formatMicroTime(0).length;
const TIME_LENGTH = formatTime(0).length;

/**
 * Returns where a renewal changes the stored bytes. Undefined if it might change anything else, or
 * if the times have another length than those that are written now.
 */
export function leaseTemplate(value: Uint8Array, holder: LeaseHolder): LeaseTemplate | undefined {
  const lease = decodeFromStorage<Immutable<Lease>>(value, 1);
  if (!isRenewedOnly(lease, holder)) return undefined;
  const { renewTime } = lease.spec;
  const { time } = lease.metadata.managedFields![0]!;
  const places = [
    placeOf(value, RENEW_TIME, renewTime, MICRO_TIME_LENGTH),
    placeOf(value, MANAGED_TIME, time, TIME_LENGTH),
  ];
  return renewTime !== undefined && places.every(isPlace) ? { places, renewTime } : undefined;
}

const isPlace = (place: number | undefined): place is number => place !== undefined;

/** The times of renewals that are made together. */
export interface RenewalTimes {
  readonly renewTime: string;
  /** The bytes for the places of a template. */
  readonly texts: readonly Uint8Array[];
}

/**
 * Returns the times of a renewal. `renewedMs`: the time that the kubelet says; `nowMs`: the time of the
 * write. Both in milliseconds since the epoch.
 */
export function renewalTimes(renewedMs: number, nowMs: number): RenewalTimes {
  const renewTime = formatMicroTime(renewedMs);
  return { renewTime, texts: [renewTime, formatTime(nowMs)].map((text) => Buffer.from(text)) };
}

function isRenewedOnly(lease: Immutable<Lease>, holder: LeaseHolder): boolean {
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

/**
 * Returns the offset of the text of a field. Undefined if the text has another length, or if there
 * are other fields with this name.
 */
function placeOf(
  value: Uint8Array,
  field: string,
  text: string | undefined,
  length: number,
): number | undefined {
  if (text?.length !== length) return undefined;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const at = bytes.indexOf(field);
  if (at < 0 || bytes.indexOf(field, at + field.length) >= 0) return undefined;
  const place = at + field.length;
  // An escaped text has other bytes than the decoded one.
  return bytes.toString('latin1', place, place + length) === text ? place : undefined;
}
