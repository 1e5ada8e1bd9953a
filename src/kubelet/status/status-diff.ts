// Computes the smallest patch that changes the API's status of a pod to the kubelet's, without
// touching fields of other owners.

import { isDeepStrictEqual } from 'node:util';
import type { PodStatus } from '../types.ts';
import { DISRUPTION_TARGET, OWNED_CONDITIONS } from './conditions.ts';
import { RESIZE_CONDITIONS } from './resize-conditions.ts';

/** Fields of a pod's status that other components own, and the kubelet never writes. */
const FOREIGN_FIELDS: ReadonlySet<string> = new Set([
  'nominatedNodeName',
  'resize',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
]);

type Patch = Record<string, unknown>;

/**
 * Returns the `status` of a strategic merge patch from `from` to `to`; undefined if nothing
 * differs.
 */
export function statusPatch(from: PodStatus, to: PodStatus): Patch | undefined {
  const patch: Patch = {};
  const before = from as Readonly<Record<string, unknown>>;
  const after = to as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(after)) {
    if (FOREIGN_FIELDS.has(key) || isDeepStrictEqual(before[key], after[key])) continue;
    if (key === 'conditions') {
      const conditions = changedConditions(from, to);
      if (conditions.length > 0) patch['conditions'] = conditions;
    } else if (key === 'podIPs' || key === 'hostIPs')
      patch[key] = replaceByIP(before[key], after[key]);
    else patch[key] = after[key];
  }
  for (const key of Object.keys(before)) {
    // A list that is merged by key must be emptied item by item.
    if (FOREIGN_FIELDS.has(key) || key in after || key === 'conditions') continue;
    patch[key] = key === 'podIPs' || key === 'hostIPs' ? replaceByIP(before[key], []) : null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/**
 * Returns the changed conditions. They are merged by type and by field: only changed ones are
 * included, with removed fields as null, and only conditions that the kubelet owns.
 */
function changedConditions(from: PodStatus, to: PodStatus): unknown[] {
  const before = new Map((from.conditions ?? []).map((condition) => [condition.type, condition]));
  const types = new Set((to.conditions ?? []).map(({ type }) => type));
  const ended = RESIZE_CONDITIONS.filter((type) => before.has(type) && !types.has(type));
  const changed = (to.conditions ?? [])
    .filter(
      (condition) =>
        (OWNED_CONDITIONS.includes(condition.type) || condition.type === DISRUPTION_TARGET) &&
        !isDeepStrictEqual(before.get(condition.type), condition),
    )
    .map((condition) => {
      const gone = Object.keys(before.get(condition.type) ?? {}).filter(
        (key) => !(key in condition),
      );
      return { ...condition, ...Object.fromEntries(gone.map((key) => [key, null])) };
    });
  return [...changed, ...ended.map((type) => ({ $patch: 'delete', type }))];
}

function replaceByIP(before: unknown, after: unknown): unknown[] {
  const list = (value: unknown): readonly { readonly ip: string }[] =>
    Array.isArray(value) ? value : [];
  const kept = new Set(list(after).map((entry) => entry.ip));
  const gone = list(before).filter((entry) => !kept.has(entry.ip));
  return [...list(after), ...gone.map((entry) => ({ $patch: 'delete', ip: entry.ip }))];
}

/** Reports whether two statuses are equal in the kubelet's own fields. */
export function sameStatus(a: PodStatus, b: PodStatus): boolean {
  // The phase differs in most changes, so it is compared first.
  return a.phase === b.phase && statusPatch(a, b) === undefined;
}
