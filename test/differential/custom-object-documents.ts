// Compares the entries of a custom resource in discovery and OpenAPI, without descriptions, which
// are our own.

type Json = Readonly<Record<string, unknown>>;

/** Returns the entry of a group in aggregated discovery. */
export function discoveredGroup(document: unknown, group: string): unknown {
  const { items = [] } = document as {
    readonly items?: readonly { readonly metadata: { readonly name?: string } }[];
  };
  return items.find(({ metadata }) => metadata.name === group)?.['versions' as never];
}

/** Returns paths, operations and the definitions of the group's own types, of OpenAPI v2 or v3. */
export function publishedParts(document: unknown, group: string): unknown {
  const {
    paths = {},
    definitions,
    components,
  } = document as {
    readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly definitions?: Json;
    readonly components?: { readonly schemas?: Json };
  };
  const prefix = `${group.split('.').toReversed().join('.')}.`;
  const own = Object.entries(definitions ?? components?.schemas ?? {}).filter(([name]) =>
    name.startsWith(prefix),
  );
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(`/apis/${group}/`))
    .map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).flatMap(([method, value]) => operationOf(method, value)),
      ),
    ]);
  return {
    operations: Object.fromEntries(operations),
    definitions: withoutForeignDescriptions(Object.fromEntries(own)),
  };
}

function operationOf(method: string, value: unknown): [string, unknown][] {
  // Upstream lists the parameters of a path once, beside its methods.
  if (method === 'parameters') return [];
  const {
    operationId,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
  } = value as Json;
  return [[method, { operationId, action, gvk }]];
}

/**
 * Removes the descriptions of apiVersion, kind and metadata, which do not come from the definition.
 */
function withoutForeignDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutForeignDescriptions);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const isOfEveryKind =
      ['apiVersion', 'kind', 'metadata'].includes(key) && typeof item === 'object' && item !== null;
    return [key, isOfEveryKind ? { ...item, description: '' } : withoutForeignDescriptions(item)];
  });
  return Object.fromEntries(entries);
}
