// The types of the decisions about a definition.

import type * as apiextensions from '#api/groups/apiextensions/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type Definition = Immutable<apiextensions.CustomResourceDefinition>;
export type Status = Definition['status'];
export type Names = Immutable<apiextensions.CustomResourceDefinitionNames>;

const NO_NAMES: Names = { plural: '', kind: '' };

/** Returns the accepted names; empty ones for a new definition. */
export function acceptedNamesOf({ status }: Definition): Names {
  return status.acceptedNames ?? NO_NAMES;
}
