// The form in which upstream validates a definition: its internal version. Its spec contains the
// fields common to all versions, and error messages have the paths of that form
// (spec.validation.openAPIV3Schema instead of spec.versions[0].schema.openAPIV3Schema).

import { semanticEqual } from '#machinery/deep.ts';
import type { Spec, Version } from './definition.ts';

/** The fields of a version that move to the spec if they are equal in all versions. */
export type CommonFields = Pick<
  Version,
  'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'
>;

const COMMON = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;

export interface InternalForm {
  /** The fields common to all versions. */
  readonly common: CommonFields;
  /** The versions without the common fields. */
  readonly versions: readonly Version[];
}

/** Returns the internal form of a spec. */
export function internalForm({ versions }: Spec): InternalForm {
  const [first, ...others] = versions;
  if (first === undefined) return { common: {}, versions };
  const moved = COMMON.filter((name) =>
    others.every((version) => semanticEqual(version[name], first[name])),
  );
  const common = Object.fromEntries(
    moved.flatMap((name) => (first[name] === undefined ? [] : [[name, first[name]]])),
  );
  const isMoved: ReadonlySet<string> = new Set(moved);
  const without = (version: Version): Version =>
    Object.fromEntries(
      Object.entries(version).filter(([name]) => !isMoved.has(name)),
    ) as unknown as Version;
  return { common, versions: versions.map(without) };
}
