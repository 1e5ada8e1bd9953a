// Names of classes of which one may be the default.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type Annotated = { readonly metadata: Immutable<core.Pod>['metadata'] };

/** Returns the name, marked if the class is the default. */
export function markedName({ metadata }: Annotated, ...annotations: readonly string[]): string {
  const isDefault = annotations.some((annotation) => metadata.annotations?.[annotation] === 'true');
  return isDefault ? `${metadata.name} (default)` : metadata.name;
}
