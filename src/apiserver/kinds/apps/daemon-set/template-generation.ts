// The template generation of a daemon set: the number of versions of its template. It was a field
// once, and is now an annotation for old clients and pods. Only the server counts it.

import type * as apps from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { TEMPLATE_GENERATION } from '#api/groups/apps/v1/defaults.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
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

function generationOf({ metadata }: DaemonSet): number {
  const text = metadata.annotations?.[TEMPLATE_GENERATION];
  if (text === undefined) return 0;
  const generation = /^[+-]?[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(generation)) return generation;
  const problem = Number.isNaN(generation) ? 'invalid syntax' : 'value out of range';
  throw apierrors.badRequest(`strconv.ParseInt: parsing ${quote(text)}: ${problem}`);
}

function withGeneration(daemonSet: DaemonSet, generation: number): DaemonSet {
  const { metadata } = daemonSet;
  const annotations = mergedMap(metadata.annotations, {
    [TEMPLATE_GENERATION]: String(generation),
  });
  return { ...daemonSet, metadata: { ...metadata, annotations } };
}
