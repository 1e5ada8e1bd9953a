// Decides which of its requested names a definition gets. Names are unique in a group: plural,
// singular and short names among each other, kinds and list kinds among each other. The first
// definition gets the name; a later one gets it when the first one no longer uses it.

import type { NewCondition } from '#api/groups/apiextensions/v1/conditions.ts';
import { deepEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { joinMessages } from '#machinery/validation/field.ts';
import { acceptedNamesOf, type Definition, type Names } from './definition.ts';
import type { TakenNames } from './group-names.ts';

export interface NamesDecision {
  readonly acceptedNames: Names;
  readonly condition: NewCondition;
}

/**
 * Returns the accepted names of the definition, and the condition NamesAccepted. If several names
 * conflict, the message has the last one.
 */
export function decideNames(definition: Definition, taken: TakenNames): NamesDecision {
  const requested = definition.spec.names;
  const accepted = acceptedNamesOf(definition);
  const { categories: _, ...names } = accepted;
  const decided: { -readonly [K in keyof Names]: Names[K] } = names;
  let condition: NewCondition = {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  };
  const conflict = (reason: string, message: string): void => {
    condition = { type: 'NamesAccepted', status: 'False', reason, message };
  };
  const decide = (
    field: 'plural' | 'singular' | 'kind' | 'listKind',
    reason: string,
    isTaken: (name: string) => boolean,
  ): void => {
    const name = requested[field] ?? '';
    if (name !== (accepted[field] ?? '') && isTaken(name)) conflict(reason, inUse(name));
    else decided[field] = name;
  };

  decide('plural', 'PluralConflict', (name) => taken.hasResource(name));
  decide('singular', 'SingularConflict', (name) => taken.hasResource(name));
  const { shortNames } = requested;
  if (!deepEqual(shortNames, accepted.shortNames)) {
    const own = new Set(accepted.shortNames);
    const conflicts = new Set(
      (shortNames ?? []).filter((name) => !own.has(name) && taken.hasResource(name)).map(inUse),
    );
    if (conflicts.size > 0) conflict('ShortNamesConflict', joinMessages(conflicts));
    else if (shortNames === undefined) delete decided.shortNames;
    else decided.shortNames = shortNames;
  }
  decide('kind', 'KindConflict', (name) => taken.hasKind(name));
  decide('listKind', 'ListKindConflict', (name) => taken.hasKind(name));
  const { categories } = requested;
  return {
    acceptedNames: { ...decided, ...(categories !== undefined && { categories }) },
    condition,
  };
}

function inUse(name: string): string {
  return `${quote(name)} is already in use`;
}
