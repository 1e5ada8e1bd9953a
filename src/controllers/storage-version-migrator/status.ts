// Pure functions for the status of a migration and the order of migrations.

import type { Condition, Immutable } from '#api/machinery/meta/v1/index.ts';
import type {
  MigrationConditionType,
  StorageVersionMigration,
} from '#api/groups/storagemigration/v1beta1/index.ts';
import { isTrue } from '#api/groups/storagemigration/v1beta1/validation.ts';

export type Migration = Immutable<StorageVersionMigration>;
type Status = Migration['status'];

export const isTerminal = ({ status }: Migration): boolean =>
  isTrue(status, 'Succeeded') || isTrue(status, 'Failed');
export const isRunning = ({ status }: Migration): boolean => isTrue(status, 'Running');

/** Returns 'group/resource'. */
export function resourceKey({ spec: { resource } }: Migration): string {
  return `${resource.group}/${resource.resource}`;
}

/**
 * Returns the migration of a resource that runs or has to begin: one at a time, in the order of
 * creation.
 */
export function turnOf(migrations: readonly Migration[]): Migration | undefined {
  const open = migrations.filter((migration) => !isTerminal(migration));
  return open.find(isRunning) ?? open.toSorted(byAge)[0];
}

function byAge(a: Migration, b: Migration): number {
  const [left, right] = [a, b].map(
    ({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`,
  ) as [string, string];
  return left < right ? -1 : 1;
}

/** Returns the status with an additional condition. `time`: now. */
export function withCondition(
  status: Status,
  type: MigrationConditionType,
  reason: string,
  message: string,
  time: string,
): Status {
  const conditions = status.conditions ?? [];
  if (conditions.some((condition) => condition.type === type)) return status;
  return {
    ...status,
    conditions: [
      ...conditions,
      { type, status: 'True', lastTransitionTime: time, reason, message },
    ],
  };
}

/** Returns the status of a finished migration. */
export function withoutRunning(status: Status, time: string): Status {
  const ended = (condition: Immutable<Condition>): Immutable<Condition> =>
    condition.type === 'Running' && condition.status === 'True'
      ? {
          ...condition,
          status: 'False',
          lastTransitionTime: time,
          reason: 'MigrationCompleted',
          message: 'Migration completed',
        }
      : condition;
  return { ...status, conditions: (status.conditions ?? []).map(ended) };
}

const WELL_FORMED = /^[1-9]\d*$/;

/** Returns the problem with a resourceVersion; undefined if there is none. */
export function versionProblem(version: string): string | undefined {
  return WELL_FORMED.test(version) ? undefined : `resource version is not well formed: ${version}`;
}

/** Compares two valid resourceVersions of any length. */
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}
