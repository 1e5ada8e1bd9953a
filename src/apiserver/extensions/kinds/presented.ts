// Adapts kinds to the state of their definition, which determines what clients see. The stores of
// the kinds stay the same, and so do open watches.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { ServingState } from '../description.ts';

const VERBS_OF_TERMINATING = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** Returns the kinds to install for a definition in a state. */
export function presented(
  kinds: readonly Kind[],
  { served, established, terminating }: ServingState,
): readonly Kind[] {
  if (!served) return [];
  if (established && !terminating) return kinds;
  return kinds.map((kind) => ({
    ...kind,
    ...(!established && kind.visibility !== 'internal' && { visibility: 'unlisted' }),
    ...(terminating && { discovery: { ...kind.discovery, verbs: VERBS_OF_TERMINATING } }),
  }));
}
