// What Kubernetes has to say of a new pod: errors and warnings. Nearly all pods are made from templates, hundreds from each, and
// nothing is wrong with any: a pod that is like one that was found spotless is not looked through again.

import { validatePod } from '#api/groups/core/v1/validation/index.ts';
import { podWarnings } from '#api/groups/core/v1/warnings.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { Pod } from './pod.ts';

export interface PodReview {
  readonly errors: FieldErrorList;
  readonly warnings: readonly string[];
}

/** The texts (see textOf) of pods that were found spotless lately. */
const spotless = new LruCache<string, true>({ capacity: 64 });
/** In characters. Larger ones are not kept. */
const MAX_TEXT = 16_384;
/** A volume with a name of its own in each pod: the token that the ServiceAccount plugin mounts. */
const TOKEN_VOLUME = /^kube-api-access-[a-z0-9]{5}$/;

let latest: { readonly pod: Pod; readonly review: PodReview } | undefined;

/** Asked for the errors first, then for the warnings of the same pod. */
export function reviewPod(pod: Pod): PodReview {
  if (latest?.pod === pod) return latest.review;
  const text = textOf(pod);
  const review = text !== undefined && spotless.get(text) === true ? { errors: [], warnings: [] } : lookThrough(pod);
  const isCached = text !== undefined && text.length <= MAX_TEXT;
  if (isCached && review.errors.length === 0 && review.warnings.length === 0) spotless.set(text, true);
  latest = { pod, review };
  return review;
}

function lookThrough(pod: Pod): PodReview {
  const errors = validatePod(pod);
  let warnings: readonly string[] | undefined;
  return {
    errors,
    // Warnings of a large pod are computed in a later turn of the event loop; those of an invalid pod never.
    get warnings() {
      warnings ??= podWarnings(pod);
      return warnings;
    },
  };
}

/**
 * All of a pod that its review depends on. Two pods of one text differ at most in the name of the token's volume, wherever it
 * stands. Undefined for a pod whose own name matters, too: names of its volumes' claims are made of it.
 */
function textOf({ metadata, spec }: Pod): string | undefined {
  const { volumes = [] } = spec;
  if (volumes.some(({ ephemeral }) => ephemeral !== undefined)) return undefined;
  const text = JSON.stringify([metadata.annotations, spec]);
  const token = volumes.findLast(({ name }) => TOKEN_VOLUME.test(name));
  // JSON has no such character, so nothing else reads like it.
  return token === undefined ? text : text.replaceAll(token.name, '\0');
}
