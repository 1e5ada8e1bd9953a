// The outcome of a run: what is in the cluster at its end, without what differs between equal runs.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';

/**
 * Returns the objects of some kinds, sorted and without what is passing. `namespace`: only those in it, which loses
 * its name.
 */
export async function outcomeOf(
  client: Client,
  types: readonly ResourceType[],
  namespace?: string,
): Promise<readonly unknown[]> {
  const outcome: string[] = [];
  for (const type of types) {
    const resource = client.resource(type as ResourceType<KubeObject>);
    const scope =
      namespace !== undefined && type.namespaced ? resource.namespace(namespace) : resource;
    const { items } = await scope.list();
    outcome.push(
      ...items.map((item) =>
        JSON.stringify({ kind: type.kind, ...(plain(item, '', namespace) as object) }),
      ),
    );
  }
  return outcome.sort().map((text) => JSON.parse(text) as unknown);
}

/** Fields that differ between runs: identities and times. */
const PASSING = new Set(['uid', 'resourceVersion', 'managedFields', 'generateName', 'apiVersion']);
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text);
const isUid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** Returns a value without what is passing. Generated names keep only what they begin with. */
function plain(value: unknown, key: string, namespace: string | undefined): unknown {
  if (typeof value === 'string') {
    if (isTime(value)) return 'TIME';
    if (isUid(value)) return 'UID';
    return value === namespace ? 'NAMESPACE' : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item, key, namespace));
    return key === 'conditions'
      ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : items;
  }
  const { generateName } = value as { generateName?: string };
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !PASSING.has(name))
      .map(([name, item]) => [
        name,
        name === 'name' && generateName !== undefined
          ? `${generateName}*`
          : plain(item, name, namespace),
      ])
      .sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)),
  );
}
