// The template generation of a daemon set: the number of versions of its template. It was a field
// once, and is now an annotation for old clients and pods. Only the server counts it.

import type * as apps from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { TEMPLATE_GENERATION } from '#api/groups/apps/v1/defaults.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { IntegerError, parseInt64 } from '#machinery/text/go-numbers.ts';
import { mergedMap } from '#machinery/collections/string-map.ts';

type DaemonSet = Immutable<apps.DaemonSet>;

/**
 * Returns the daemon set with the initial generation: 1, or the client's value. Throws BadRequest
 * if that is not a number.
 */
export function initialTemplateGeneration(daemonSet: DaemonSet): DaemonSet {
  return withGeneration(daemonSet, Math.max(1, generationOf(daemonSet)));
}

/**
 * Returns the daemon set with the stored generation, incremented if the template has changed. The
 * client's value is ignored.
 */
export function nextTemplateGeneration(daemonSet: DaemonSet, old: DaemonSet): DaemonSet {
  // The client's value is only validated.
  generationOf(daemonSet);
  const changed = !semanticEqual(daemonSet.spec.template, old.spec.template);
  return withGeneration(daemonSet, generationOf(old) + (changed ? 1 : 0));
}

/** Returns the metadata without the generation, which upstream has only in whole objects. */
export function metadataWithoutGeneration({ metadata }: DaemonSet): DaemonSet['metadata'] {
  if (metadata.annotations?.[TEMPLATE_GENERATION] === undefined) return metadata;
  const { annotations, ...rest } = metadata;
  const others = Object.entries(annotations).filter(([name]) => name !== TEMPLATE_GENERATION);
  if (others.length === 0) return rest;
  return { ...rest, annotations: Object.fromEntries(others) };
}

function generationOf({ metadata }: DaemonSet): number {
  const text = metadata.annotations?.[TEMPLATE_GENERATION];
  if (text === undefined) return 0;
  try {
    return parseInt64(text);
  } catch (error) {
    if (error instanceof IntegerError) throw apierrors.badRequest(error.message);
    throw error;
  }
}

function withGeneration(daemonSet: DaemonSet, generation: number): DaemonSet {
  const { metadata } = daemonSet;
  const annotations = mergedMap(metadata.annotations, {
    [TEMPLATE_GENERATION]: String(generation),
  });
  return { ...daemonSet, metadata: { ...metadata, annotations } };
}
