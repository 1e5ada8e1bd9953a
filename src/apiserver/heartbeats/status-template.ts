// The stored bytes of a Node as a template for reports of a status that has not changed: they are new
// times for the conditions whose times the kubelet owns, and a time in the managed fields.

import { type Node, nodes } from '#api/groups/core/v1/index.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { Immutable, ManagedFieldsEntry } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { formatTime } from '#machinery/text/time.ts';
import { storagePrefix } from '../registry/storage-prefix.ts';
import {
  type HeartbeatKind,
  type HeartbeatTemplate,
  type HeartbeatWriter,
  MANAGED_TIME,
  placesOf,
  TIME_LENGTH,
} from './heartbeat-kind.ts';

type Entry = Immutable<ManagedFieldsEntry>;

const HEARTBEAT_TIME = '"lastHeartbeatTime":"';

/** Returns where a report of the same status changes the stored bytes. Undefined: it might change more. */
function statusTemplate(
  value: Uint8Array,
  { manager }: HeartbeatWriter,
): HeartbeatTemplate | undefined {
  const { metadata, status } = decodeFromStorage<Immutable<Node>>(value, 1);
  const { managedFields = [] } = metadata;
  // A write of a new object moves the managed fields to the end.
  if (Object.keys(metadata).at(-1) !== 'managedFields') return undefined;
  const own = managedFields.at(-1);
  if (own === undefined || !isOfStatus(own, manager)) return undefined;
  const others = managedFields.slice(0, -1);
  // Entries are in order of time.
  if (others.some((entry) => isOfStatus(entry, manager) || !isUpTo(entry, own.time)))
    return undefined;
  const conditions = (status?.conditions ?? []).filter(
    ({ lastHeartbeatTime }) => lastHeartbeatTime !== undefined && lastHeartbeatTime !== null,
  );
  const times = conditions.map(({ lastHeartbeatTime }) => lastHeartbeatTime!);
  const allPlaces = placesOf(value, HEARTBEAT_TIME, times, TIME_LENGTH);
  const managedPlaces = placesOf(
    value,
    MANAGED_TIME,
    managedFields.flatMap(({ time = [] }) => time),
    TIME_LENGTH,
  );
  if (allPlaces === undefined || managedPlaces === undefined) return undefined;
  const reported = conditions.flatMap(({ type }, index) => (ownsTime(own, type) ? [index] : []));
  if (reported.length === 0) return undefined;
  // A new value takes the field from its other owners.
  if (reported.some((index) => others.some((entry) => ownsTime(entry, conditions[index]!.type))))
    return undefined;
  const [first, ...rest] = reported.map((index) => times[index]!);
  return {
    places: [...reported.map((index) => allPlaces[index]!), managedPlaces.at(-1)!],
    time: rest.every((time) => time === first) ? first : undefined,
    managedTime: own.time,
  };
}

export const statusReports: HeartbeatKind = {
  type: nodes,
  subresource: 'status',
  namespace: '',
  prefix: storagePrefix(nodes),
  path: `/api/${nodes.version}/${nodes.resource}/`,
  contentType: 'application/strategic-merge-patch+json',
  format: formatTime,
  template: statusTemplate,
};

function isOfStatus(entry: Entry, manager: string): boolean {
  return (
    entry.manager === manager &&
    entry.operation === 'Update' &&
    entry.apiVersion === nodes.version &&
    entry.subresource === 'status' &&
    entry.time !== undefined
  );
}

function isUpTo({ operation, time }: Entry, last: string | undefined): boolean {
  return operation === 'Apply' || time === undefined || (last !== undefined && time <= last);
}

/** Reports whether the entry has the time of the condition. */
function ownsTime({ fieldsV1 }: Entry, type: string): boolean {
  let fields: unknown = fieldsV1;
  for (const name of [
    'f:status',
    'f:conditions',
    `k:${JSON.stringify({ type })}`,
    'f:lastHeartbeatTime',
  ]) {
    if (!isPlainObject(fields)) return false;
    fields = ownValue(fields, name);
  }
  return fields !== undefined;
}
