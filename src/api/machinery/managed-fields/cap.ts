// Limits the number of updaters. Otherwise many clients that each update an object once would make
// it grow without end: beyond the limit, the oldest updaters become one.

import { managerId, seconds, type Managers } from './managers.ts';
import { compareText } from './path-element.ts';

const MAX_UPDATERS = 10;
const OLD_UPDATES_MANAGER = 'ancient-changes';

/**
 * Merges the oldest updaters. Appliers are not counted and stay. Only updaters of the same version
 * are merged.
 */
export function capUpdaters(managers: Managers, max: number = MAX_UPDATERS): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  if (updaters.length <= max) return managers;
  updaters.sort(([idA, a], [idB, b]) => seconds(a) - seconds(b) || compareText(idA, idB));

  const result = new Map(managers);
  const firstOfVersion = new Map<string, string>();
  let count = updaters.length;
  for (const [id, updater] of updaters) {
    if (count <= max) break;
    const { apiVersion } = updater;
    const first = firstOfVersion.get(apiVersion);
    if (first === undefined) {
      firstOfVersion.set(apiVersion, id);
      continue;
    }
    const bucket = {
      manager: OLD_UPDATES_MANAGER,
      operation: 'Update',
      apiVersion,
      subresource: '',
    } as const;
    const bucketId = managerId(bucket);
    const gathered = result.get(bucketId) ?? result.get(first);
    if (gathered === undefined) throw new Error(`there are no changes of ${first} to gather`);
    if (!result.has(bucketId)) result.delete(first);
    result.delete(id);
    // The merged entry has the time of the latest change.
    result.set(bucketId, {
      ...bucket,
      time: updater.time,
      fields: updater.fields.union(gathered.fields),
    });
    count--;
  }
  return result;
}
