// Queueing hints that several plugins use, and access to the objects of an event.

import type { EventObjects, QueueingHint } from '../framework/events.ts';
import type { Node, Pod } from '../framework/objects.ts';

/** Returns true if the event concerns the waiting pod itself. */
export const concernsPod: QueueingHint = (pod, { after }) =>
  (after as Pod | undefined)?.metadata.uid === pod.metadata.uid;

/**
 * Returns a hint for node events: the node suits the pod now, and did not before (or did not
 * exist). `suits`: called with both versions of the node.
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
