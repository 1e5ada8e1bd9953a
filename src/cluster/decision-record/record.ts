// The decisions of a scheduler that runs apart, in an object: the scheduler writes them while an API
// server asks for them, because a console shows them. The API servers do not have to reach the
// scheduler, and each of them has the same decisions. The object is a Secret, because decisions name
// pods of all namespaces.

import type { Secret } from '#api/groups/core/v1/index.ts';
import type { Role, RoleBinding } from '#api/groups/rbac/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { Decision } from '#scheduler/decisions.ts';

export const RECORD_NAMESPACE = 'kube-system';
export const RECORD_NAME = 'coxswain-scheduler-decisions';
export const RECORD_TYPE = 'coxswain.dev/scheduler-decisions';

/** Another value each time that the decisions are wanted for `WANTED_MS` more. */
export const WANTED_ANNOTATION = 'coxswain.dev/decisions-wanted';
export const WANTED_MS = 30_000;

/** A Secret may have 1 MiB. */
const MAX_BYTES = 512 * 1024;
const MAX_MESSAGE = 1000;

const ROLE = 'coxswain:scheduler-decisions';

/** The scheduler may read and change this one object. */
export const recordRole: New<Role> = {
  metadata: { name: ROLE, namespace: RECORD_NAMESPACE },
  rules: [
    {
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: [RECORD_NAME],
      verbs: ['get', 'list', 'patch', 'watch'],
    },
  ],
};

export const recordRoleBinding: New<RoleBinding> = {
  metadata: { name: ROLE, namespace: RECORD_NAMESPACE },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: ROLE },
  subjects: [
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-scheduler' },
  ],
};

/** Returns the decisions as text, latest first: as many as an object may have. */
export function encodeDecisions(decisions: readonly Decision[]): string {
  const lines: string[] = [];
  let bytes = 2;
  for (const decision of decisions) {
    const line = JSON.stringify({ ...decision, message: decision.message.slice(0, MAX_MESSAGE) });
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_BYTES) break;
    lines.push(line);
  }
  return `[${lines.join(',')}]`;
}

/** Returns the decisions of a record. Empty: it has none, or another program has written them. */
export function decodeDecisions(record: Immutable<Secret>): readonly Decision[] {
  const value = jsonOf(record, 'decisions');
  return Array.isArray(value) && value.every(isPlainObject)
    ? (value as unknown as readonly Decision[])
    : [];
}

/** Returns the scheduler's configuration as its YAML reads. Undefined: it has none, or has not said. */
export const decodeConfiguration = (record: Immutable<Secret>): unknown =>
  jsonOf(record, 'configuration') ?? undefined;

function jsonOf({ data }: Immutable<Secret>, field: string): unknown {
  const encoded = ownValue(data, field);
  if (encoded === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
