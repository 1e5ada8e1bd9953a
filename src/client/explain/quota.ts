// Quotas: what is used of them, and the quota behind a rejection.

import type { ResourceQuota } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { tryParseQuantity } from '#machinery/text/quantity.ts';
import { type Cause, cause, type ObjectRef, refText } from './cause.ts';
import type { ObjectSet } from './object-set.ts';

/** Explains a quota by what is used of it. A quota that is used up is no problem until it rejects something. */
export function explainQuota(object: KubeObject): readonly Cause[] {
  const quota = object as Immutable<ResourceQuota>;
  const hard = Object.keys(quota.status?.hard ?? quota.spec?.hard ?? {});
  if (hard.length === 0) return [cause('ok', 'restricts nothing')];
  const exhausted = hard.filter((resource) => isUsedUp(quota, resource));
  const rest = hard.filter((resource) => !exhausted.includes(resource));
  return [
    ...exhausted.map((resource) =>
      cause('info', `${usageText(quota, resource)}: more is rejected`, { source: 'status' }),
    ),
    ...rest.map((resource) => cause('ok', usageText(quota, resource), { source: 'status' })),
  ];
}

/** Returns the state of the quota that a rejection names; nothing if the text names none, or it was not read. */
export function quotaBehind(text: string, namespace: string, objects: ObjectSet): readonly Cause[] {
  const [, name] = /exceeded quota: ([a-z0-9.-]+)/.exec(text) ?? [];
  if (name === undefined) return [];
  const ref: ObjectRef = { group: '', kind: 'ResourceQuota', namespace, name };
  const found = objects.lookup(ref);
  if (found.state !== 'found') return [];
  const quota = found.object as Immutable<ResourceQuota>;
  const named = Object.keys(quota.status?.hard ?? {}).filter((resource) =>
    text.includes(`${resource}=`),
  );
  if (named.length === 0) return [];
  const usage = named.map((resource) => usageText(quota, resource)).join(', ');
  return [cause('problem', `${refText(ref)}: ${usage}`, { object: ref, source: 'status' })];
}

const usageText = ({ status, spec }: Immutable<ResourceQuota>, resource: string): string =>
  `${ownValue(status?.used, resource) ?? '0'} of ` +
  `${ownValue(status?.hard ?? spec?.hard, resource)} ${resource} are used`;

function isUsedUp({ status }: Immutable<ResourceQuota>, resource: string): boolean {
  const used = tryParseQuantity(ownValue(status?.used, resource) ?? '0')?.toNumber() ?? 0;
  const hard = tryParseQuantity(ownValue(status?.hard, resource) ?? '')?.toNumber();
  return hard !== undefined && used >= hard;
}
