// Queueing hints that several plugins share, and reading the objects of an event.

import type { EventObjects, QueueingHint } from '../framework/events.ts';
import type { Node, Pod } from '../framework/objects.ts';

/** The event is about the waiting pod itself. */
export const concernsPod: QueueingHint = (pod, { after }) =>
  (after as Pod | undefined)?.metadata.uid === pod.metadata.uid;

/**
 * For events of nodes: the node suits the pod now, and before it did not (or was not there).
 * `suits` is asked with the two versions of the node.
 */
export function nodeNowSuits(suits: (pod: Pod, node: Node) => boolean): QueueingHint {
  return (pod, objects) => {
    const { before, after } = nodesOf(objects);
    if (after === undefined || !suits(pod, after)) return false;
    return before === undefined || !suits(pod, before);
  };
}

export function nodesOf(objects: EventObjects): {
  readonly before: Node | undefined;
  readonly after: Node | undefined;
} {
  return { before: objects.before as Node | undefined, after: objects.after as Node | undefined };
}

export function podsOf(objects: EventObjects): {
  readonly before: Pod | undefined;
  readonly after: Pod | undefined;
} {
  return { before: objects.before as Pod | undefined, after: objects.after as Pod | undefined };
}
