// Merges the groups and versions of this server with those of others, in the order of discovery.

import type { APIGroupDiscovery, APIVersionDiscovery } from '#api/groups/apidiscovery/v2/index.ts';
import { compareKubeVersions } from '#api/machinery/kube-version.ts';
import type { APIGroup } from '#api/machinery/meta/v1/index.ts';
import type { CatalogSnapshot, GroupIndex } from '../catalog/snapshot.ts';
import type { AggregatedGroups, Priority } from './aggregated-groups.ts';

interface Listed {
  readonly group: string;
  readonly version: string;
  readonly priority: Priority;
}

/** The aggregated groups of an apiserver without APIServices for other servers. */
export const NO_AGGREGATION: AggregatedGroups = {
  remote: [],
  registeredPriority: () => ({ group: 0, version: 0 }),
  localPriority: () => ({ group: 0, version: 0 }),
};

/**
 * Returns the groups of /apis, ordered by the highest priority of their versions, as APIServices
 * define it. An APIService of another server replaces the same group version of this one.
 */
export function listedGroups(
  snapshot: CatalogSnapshot,
  aggregated: AggregatedGroups,
): readonly APIGroup[] {
  const remote = new Set(aggregated.remote.map(({ group, version }) => `${group}/${version}`));
  const local = snapshot.published
    .flatMap(({ published }) => published)
    .flatMap(({ group, version }): Listed[] => {
      const priority = aggregated.registeredPriority(group, version);
      return priority === undefined || remote.has(`${group}/${version}`)
        ? []
        : [{ group, version, priority }];
    });
  return grouped([...local, ...aggregated.remote].filter(({ group }) => group !== ''));
}

/** Returns one group of /apis. Undefined: it has no APIService. */
export function listedGroup(
  index: GroupIndex | undefined,
  name: string,
  aggregated: AggregatedGroups,
): APIGroup | undefined {
  const remote = aggregated.remote.filter(({ group }) => group === name);
  const local = (index?.published ?? []).flatMap(({ group, version }): Listed[] => {
    const priority = aggregated.registeredPriority(group, version);
    return priority === undefined || remote.some((each) => each.version === version)
      ? []
      : [{ group, version, priority }];
  });
  return grouped([...local, ...remote])[0];
}

function grouped(listed: readonly Listed[]): readonly APIGroup[] {
  const nameOf = ({ group, version }: Listed): string => `${version}.${group}`;
  const sorted = listed.toSorted(
    (a, b) => b.priority.group - a.priority.group || compareText(nameOf(a), nameOf(b)),
  );
  const groups = new Map<string, Listed[]>();
  for (const each of sorted) {
    const present = groups.get(each.group);
    if (present === undefined) groups.set(each.group, [each]);
    else present.push(each);
  }
  return Array.from(groups, ([name, versions]) => {
    versions.sort(
      (a, b) =>
        b.priority.version - a.priority.version || compareKubeVersions(a.version, b.version),
    );
    const list = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions: list, preferredVersion: list[0]! };
  });
}

/** Returns the items of aggregated discovery. `local`: those of this server. */
export function mergedGroups(
  local: readonly APIGroupDiscovery[],
  aggregated: AggregatedGroups,
): APIGroupDiscovery[] {
  const groups = new Map<string, { readonly versions: APIVersionDiscovery[]; priority: number }>();
  const priorities = new Map<string, number>();
  const add = (group: string, entry: APIVersionDiscovery, priority: Priority): void => {
    const key = `${group}/${entry.version}`;
    priorities.set(key, priority.version);
    const present = groups.get(group);
    if (present === undefined) {
      groups.set(group, { versions: [entry], priority: priority.group });
      return;
    }
    present.priority = Math.max(present.priority, priority.group);
    present.versions.push(entry);
  };
  const remoteEntries = aggregated.remote.filter(({ entry }) => entry !== undefined);
  for (const { group, entry, priority } of remoteEntries)
    if (entry !== undefined) add(group, entry, priority);
  for (const { metadata, versions = [] } of local) {
    const group = metadata?.name ?? '';
    for (const entry of versions) {
      // The other server serves this group version, so its entry counts.
      if (!priorities.has(`${group}/${entry.version}`))
        add(group, entry, aggregated.localPriority(group, entry.version));
    }
  }
  const sorted = [...groups].toSorted(
    ([a, x], [b, y]) => y.priority - x.priority || compareText(a, b),
  );
  return sorted.map(([name, { versions }]) => ({
    metadata: (name === '' ? {} : { name }) as APIGroupDiscovery['metadata'],
    versions: versions.toSorted(
      (a, b) =>
        (priorities.get(`${name}/${b.version}`) ?? 0) -
          (priorities.get(`${name}/${a.version}`) ?? 0) ||
        compareKubeVersions(a.version, b.version),
    ),
  }));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
