// Finds the owners that may adopt an orphan by one label that their selector requires, since a
// namespace may have thousands of owners.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { IndexFunction } from '#client/informers/store.ts';
import type { Selector } from '#machinery/selectors/labels.ts';

/** The index of owners by a label that their dependents must have. */
export const BY_REQUIRED_LABEL = 'requiredLabel';

/** One indexer for each function, since several controllers may have the same owners. */
const indexers = new WeakMap<object, IndexFunction<never>>();

/** Returns the function of the index `BY_REQUIRED_LABEL` for owners with these selectors. */
export function byRequiredLabel<Owner extends KubeObject>(
  selectorOf: (owner: Owner) => Selector,
): IndexFunction<Owner> {
  const known = indexers.get(selectorOf) as IndexFunction<Owner> | undefined;
  if (known !== undefined) return known;
  const indexer: IndexFunction<Owner> = (owner) => {
    const namespace = owner.metadata.namespace ?? '';
    const requirements = requirementsOf(owner, selectorOf);
    // A selector of nothing adopts nothing.
    if (requirements === undefined) return [];
    const required = requirements.find(
      ({ operator, values }) => EQUALITY.has(operator) && values.length <= MAX_VALUES,
    );
    return required === undefined
      ? [valueOf(namespace)]
      : required.values.map((value) => valueOf(namespace, required.key, value));
  };
  indexers.set(selectorOf, indexer);
  return indexer;
}

/** An invalid selector, which old objects may have, requires nothing: its reader gets the error. */
function requirementsOf<Owner>(
  owner: Owner,
  selectorOf: (owner: Owner) => Selector,
): ReturnType<Selector['requirements']> {
  try {
    return selectorOf(owner).requirements();
  } catch {
    return [];
  }
}

/** An owner is in the index once for each value, and users may write thousands. */
const MAX_VALUES = 16;
const EQUALITY: ReadonlySet<string> = new Set(['=', '==', 'in']);

/** Returns the values of the index that have all owners that may adopt the orphan. */
export function labelsOfOrphan({ metadata }: KubeObject): readonly string[] {
  const { namespace = '', labels = {} } = metadata;
  return [
    valueOf(namespace),
    ...Object.entries(labels).map(([key, value]) => valueOf(namespace, key, value)),
  ];
}

/** Without a key: owners whose selector requires no value. No part can contain a blank. */
function valueOf(namespace: string, key = '', value = ''): string {
  return `${namespace} ${key} ${value}`;
}
