// Events about pods, each in the name of the pod's scheduler.

import type { EventType, Recorder } from '#client/events/index.ts';
import type { Pod } from './framework/objects.ts';

/** The maximum length of an event's note. */
const MAX_NOTE_LENGTH = 1024;

export class PodEvents {
  readonly #recorders: ReadonlyMap<string, Recorder>;

  /** Creates the reporter. `recorders`: by profile. */
  constructor(recorders: ReadonlyMap<string, Recorder>) {
    this.#recorders = recorders;
  }

  /** Records an event about the pod. Does nothing for a pod of another scheduler. */
  report(pod: Pod, type: EventType, reason: string, message: string, action: string): void {
    const recorder = this.#recorders.get(pod.spec.schedulerName ?? '');
    recorder?.event(referenceTo(pod), type, reason, truncated(message), { action });
  }
}

/** Returns a reference with the kind, which pods from lists lack. */
function referenceTo({ metadata }: Pod) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion };
}

/** Returns the message, truncated to the maximum number of bytes. */
function truncated(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MAX_NOTE_LENGTH) return message;
  const suffix = ' ...';
  // A character that would be cut is left out.
  return (
    bytes
      .subarray(0, MAX_NOTE_LENGTH - suffix.length)
      .toString()
      .replace(/�$/, '') + suffix
  );
}
